"""The search over layouts, guessers and gammas: known costs and answers, no engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from localspec.core.statistics import Estimate
from localspec.engine.quantise import Recipe
from localspec.measure.costs import CostPoint, Costs, Survey
from localspec.measure.predict import Overheads
from localspec.measure.replay import Chances, Transcript
from localspec.measure.screen import Stored
from localspec.measure.tune.candidates import (
    Arrangement,
    Deadline,
    Ground,
    Guesser,
    Layout,
    OutOfTime,
    TargetCosts,
)
from localspec.measure.tune.layout_costs import applied
from localspec.measure.tune.quality import Quality
from localspec.measure.tune.result import Tried, Tuned, sentence
from localspec.measure.tune.search import FINALISTS, ranked, search, worth_trying
from localspec.measure.verdict import Word

FILE = Path("model.gguf")
GIVEN = Layout(FILE, bytes=100, bits=4.8)
FLAT = Layout(FILE, Recipe("q4_0", pure=True), bytes=90, bits=4.5)
RICH = Layout(FILE, Recipe("iq4_nl", pure=True), bytes=91, bits=4.6)


def _curve(one: float, slope: float) -> tuple[CostPoint, ...]:
    """Give T(n) = one (1 + slope (n - 1))."""
    return tuple(CostPoint(n, 64, one * (1 + slope * (n - 1)), 0.0) for n in range(1, 17))


def _ground(answers: int = 3, tokens: int = 40) -> Ground:
    told = tuple(
        Transcript("code", np.arange(9, dtype=np.int32), np.arange(tokens, dtype=np.int32),
                   np.ones(tokens))
        for _ in range(answers)
    )  # fmt: skip
    runtime = SimpleNamespace(loaded=SimpleNamespace(target=SimpleNamespace(max_rows=17)))
    return Ground(
        runtime,  # type: ignore[arg-type]
        Costs(_curve(1.0, 0.8)),
        Stored(told, Overheads(0.0, 0.0)),
        Survey(np.arange(64, dtype=np.int32)),
        0.0,
        Deadline(10.0, lambda: 0.0),
        lambda _text: None,
        lambda _text: None,
    )


def _guesser(ground: Ground, chance: float, seconds: float, layout: Layout | None = GIVEN):
    told = tuple(
        Chances(np.full(len(each.tokens), chance), np.arange(len(each.tokens) - 1, -1, -1), 9)
        for each in ground.stored.transcripts
    )
    costs = tuple(CostPoint(n, 64, n * seconds, 0.0) for n in (1, 4))
    return Guesser("model", layout, costs, told, chance)


def _targets() -> list[TargetCosts]:
    return [
        TargetCosts(GIVEN, _curve(1.0, 0.8)),
        TargetCosts(FLAT, _curve(0.9, 0.1)),
        TargetCosts(RICH, _curve(0.9, 0.1)),
    ]


def test_a_flat_layout_makes_a_draft_pay_that_did_not() -> None:
    ground = _ground()
    found = search(ground, _targets(), [_guesser(ground, 0.9, 0.1)])
    given = next(each for each in found if each.target == GIVEN and each.guesser)
    assert given.predicted.speedup.value < 1
    assert found[0].guesser is not None
    assert found[0].target in (FLAT, RICH)
    assert found[0].predicted.speedup.value > 2


def test_the_prediction_is_the_formula_for_a_constant_acceptance_rate() -> None:
    """S = E[N] T(1) / (D(γ) + T(γ+1)) over the given T(1), in the middle of a long answer."""
    ground = _ground(tokens=400)
    found = search(ground, _targets()[:2], [_guesser(ground, 0.8, 0.1)])
    best = next(each for each in found if each.target == FLAT and each.guesser)
    tokens = (1 - 0.8 ** (best.gamma + 1)) / 0.2
    expected = tokens / (0.1 * best.gamma + 0.9 * (1 + 0.1 * best.gamma))
    assert best.predicted.speedup.value == pytest.approx(expected, rel=0.02)
    assert best.predicted.tokens_per_pass == pytest.approx(tokens, rel=0.02)


def test_without_answers_alike_the_layout_alone_is_its_one_row_pass() -> None:
    found = search(_ground(), _targets(), [])
    alone = {each.target: each.predicted.speedup.value for each in found}
    assert alone[GIVEN] == pytest.approx(1.0)
    assert alone[FLAT] == pytest.approx(1 / 0.9)


def test_of_equals_the_one_that_keeps_more_bits_comes_first() -> None:
    ground = _ground()
    found = search(ground, _targets(), [_guesser(ground, 0.9, 0.1)])
    assert [each.target for each in found[:2]] == [RICH, FLAT]


def test_ranking_is_by_speed_where_it_can_be_told_apart() -> None:
    def at(value: float, layout: Layout) -> Arrangement:
        base = search(_ground(), _targets(), [])[0]
        speed = replace(base.predicted, speedup=Estimate(value, value, value))
        return replace(base, target=layout, predicted=speed)

    ordered = ranked([at(1.2, RICH), at(1.5, FLAT), at(1.0, GIVEN)])
    assert [each.target for each in ordered] == [FLAT, RICH, GIVEN]


def test_finalists_are_not_alike_and_not_the_baseline() -> None:
    ground = _ground()
    slow = _guesser(ground, 0.9, 0.1, replace(GIVEN, bytes=50))
    found = search(ground, _targets(), [slow, _guesser(ground, 0.9, 0.12)])
    chosen: list[Arrangement] = []
    for each in found:
        if worth_trying(each, chosen) and len(chosen) < FINALISTS:
            chosen.append(each)
    assert len({(each.target, each.drafter) for each in chosen}) == len(chosen) == FINALISTS
    assert not any(each.guesser is None and each.target == GIVEN for each in chosen)


def test_ratios_are_put_on_a_measured_curve_between_the_rows_sampled() -> None:
    points = applied(_curve(1.0, 0.0), {1: 0.5, 3: 1.5, 16: 1.5})
    assert [point.median_s for point in points[:4]] == pytest.approx([0.5, 1.0, 1.5, 1.5])


def test_a_deadline_gives_a_share_and_ends() -> None:
    now = [0.0]
    deadline = Deadline(10.0, lambda: now[0])
    half = deadline.share(0.5)
    assert half.left_s == 5.0
    now[0] = 6.0
    assert half.left_s == 0.0
    deadline.check(3.0)
    with pytest.raises(OutOfTime):
        deadline.check(4.5)


@dataclass(frozen=True)
class _Speed:
    value: float
    layout: Layout = FLAT
    drafted: bool = False
    word: Word = Word.PAYS
    too_far: bool = False


def _tuned(speeds: Sequence[_Speed]) -> Tuned:
    ground = _ground()
    found = search(ground, _targets(), [_guesser(ground, 0.9, 0.1)])
    exact = Estimate(0.2, 0.1, 0.3)
    tried = []
    for speed in speeds:
        fitting = (
            e for e in found if e.target == speed.layout and bool(e.guesser) == speed.drafted
        )
        interval = Estimate(speed.value, speed.value - 0.05, speed.value + 0.05)
        lost = Quality(100, exact, exact, exact, exact)
        tried.append(
            Tried(next(fitting), None, 10.0, speed.value, interval, speed.word, lost, speed.too_far)
        )
    return Tuned(10.0, tuple(tried))


def test_the_verdict_says_what_the_layout_gives_and_what_the_draft_adds() -> None:
    said = sentence(_tuned([_Speed(1.5, drafted=True), _Speed(1.25)]))
    assert "target Q4_0, model as given γ" in said
    assert "1.50 times" in said
    assert "layout alone 1.25, the draft 1.20 on top" in said


def test_the_verdict_names_a_layout_without_a_draft() -> None:
    tuned = _tuned([_Speed(1.3), _Speed(1.1, drafted=True)])
    assert sentence(tuned) == (
        "target Q4_0, no draft: 1.30 times the given files' plain speed (95 %: 1.25-1.35); "
        "the layout alone; no draft"
    )


@pytest.mark.parametrize(
    ("speeds", "words"),
    [
        ([], "nothing was measured"),
        ([_Speed(1.02, word=Word.UNCLEAR)], "not surely more than 1.05"),
        ([_Speed(1.5, word=Word.NOISY)], "too busy to say"),
        ([_Speed(1.5, word=Word.FEW)], "too little text"),
        ([_Speed(1.5, too_far=True)], "than --max-kl allows"),
    ],
)
def test_a_no_says_why(speeds: Sequence[_Speed], words: str) -> None:
    """F21: what does not pay is left as it is, in words."""
    tuned = _tuned(speeds)
    assert tuned.best is None
    assert words in sentence(tuned)


def test_an_arrangement_that_loses_too_much_is_not_chosen_before_one_that_does_not() -> None:
    tuned = _tuned([_Speed(1.5, too_far=True), _Speed(1.3, layout=RICH)])
    assert tuned.best is not None
    assert tuned.best.arrangement.target == RICH
