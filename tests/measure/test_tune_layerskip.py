"""Layer skipping in a tune without an engine: what a time allows, and what is said."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from localspec.core.statistics import Estimate
from localspec.core.theory import CurvePoint
from localspec.engine.quantise import COPY, Recipe
from localspec.engine.skipping import whole
from localspec.measure.costs import CostPoint, Costs, Survey
from localspec.measure.layerskip import Point, Search
from localspec.measure.predict import Overheads, Predicted
from localspec.measure.replay import Transcript
from localspec.measure.screen import Stored
from localspec.measure.tune import layerskip
from localspec.measure.tune.candidates import Arrangement, Deadline, Ground, Guesser, Layout
from localspec.measure.tune.layerskip import layerskip_guessers, verdict
from localspec.measure.tune.result import Tried
from localspec.measure.verdict import Word
from localspec.runtime.layerskip import Choice
from localspec.runtime.settings import PairFiles

TARGET = Path("target.gguf")
BLOCKS = 10
ROW_S = 0.01
ROWS = 30


def _point(blocks: tuple[int, ...], speedup: float, kind: str | None = "q4_0") -> Point:
    choice = Choice(whole(blocks), kind, "searched")
    return Point(choice, 0.6, 100, 0.7, CurvePoint(2, 1.9, speedup))


@dataclass
class Script:
    """An engine that finds what it is told to, and takes the time it is told to take."""

    found: list[Point]
    search_s: float = 0.0
    now: float = 0.0
    asked: list[Search] = field(default_factory=list)
    written: list[Layout] = field(default_factory=list)
    missing: tuple[Recipe, ...] = ()
    notes: list[str] = field(default_factory=list)

    def scored(self, _bench: object, asked: Search) -> list[Point]:
        self.asked.append(asked)
        self.now += self.search_s
        return self.found[:1] if asked.enough() else self.found

    def file_of(self, layout: Layout) -> Path | None:
        self.written.append(layout)
        return None if layout.recipe in self.missing else Path("made.gguf")

    def guesser(self, _ground: Ground, _path: Path, layout: Layout, drafter: str) -> Guesser:
        return Guesser(drafter, layout, _draft(0.7), (), 0.6)

    def ground(self, left_s: float, answers: int = 6) -> Ground:
        tokens = np.arange(ROWS - 10, dtype=np.int32)
        told = Transcript("code", np.arange(10, dtype=np.int32), tokens, np.ones(len(tokens)))
        settings = SimpleNamespace(files=PairFiles(TARGET))
        return Ground(
            SimpleNamespace(settings=settings),  # type: ignore[arg-type]
            COSTS,
            Stored((told,) * answers, Overheads(0.0, 0.0)),
            Survey(np.arange(64, dtype=np.int32)),
            0.0,
            Deadline(left_s, lambda: self.now),
            lambda _text: None,
            self.notes.append,
            self.file_of,
        )


def _draft(one: float) -> tuple[CostPoint, ...]:
    return tuple(CostPoint(n, 64, n * one, 0.0) for n in (1, 4))


COSTS = Costs(tuple(CostPoint(n, 64, 1.0 if n == 1 else 16 * ROW_S, 0.0) for n in (1, 16)))
SCORE_S = ROWS * ROW_S  # of one answer
SEARCH_S = layerskip.SCORES * BLOCKS * SCORE_S / layerskip.SHARE  # that one answer needs in all


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    script = Script([_point((5,), 0.9), _point((5,), 0.8, None), _point((5, 6), 0.7)])
    header = SimpleNamespace(number=lambda _key: BLOCKS, weight_bytes=77)
    monkeypatch.setattr(layerskip, "refusal", lambda _target: "")
    monkeypatch.setattr(layerskip, "read_header", lambda _path: header)
    monkeypatch.setattr(layerskip, "scored", script.scored)
    monkeypatch.setattr(layerskip, "guesser_of_file", script.guesser)
    return script


def test_the_likeliest_drafts_that_differ_in_what_they_leave_out_are_made(script: Script) -> None:
    found = list(layerskip_guessers(script.ground(1e6)))
    assert [each.recipe for each in script.written] == [
        Recipe("q4_0", True, prune_layers=(5,)),
        Recipe("q4_0", True, prune_layers=(5, 6)),
    ]
    assert [each.drafter for each in found] == ["layerskip", "layerskip"]
    assert [each.layout.bytes for each in found if each.layout] == [77, 77]
    assert not script.notes
    assert not script.asked[0].halves
    assert script.asked[0].read == layerskip.READ


def test_a_draft_as_it_is_stored_keeps_its_tensors(script: Script) -> None:
    script.found = [_point((5,), 0.9, None)]
    [guesser] = layerskip_guessers(script.ground(1e6))
    assert guesser.layout is not None
    assert guesser.layout.recipe == Recipe(COPY, prune_layers=(5,))
    assert guesser.layout.name == "as it is without 1 block"


@pytest.mark.parametrize(("times", "answers"), [(1.5, 1), (2.5, 2), (4.5, 4), (99.0, 4)])
def test_a_score_reads_as_many_answers_as_the_time_allows(
    script: Script, times: float, answers: int
) -> None:
    list(layerskip_guessers(script.ground(times * SEARCH_S)))
    assert [each.answers for each in script.asked] == [answers]


def test_without_time_for_one_answer_nothing_is_searched_and_that_is_said(script: Script) -> None:
    assert list(layerskip_guessers(script.ground(0.5 * SEARCH_S))) == []
    assert not script.asked
    assert "a longer --max-time lets it" in script.notes[0]


def test_a_search_that_its_time_stopped_says_so_and_gives_what_it_found(script: Script) -> None:
    script.search_s = 0.8 * 3 * SEARCH_S
    found = list(layerskip_guessers(script.ground(3 * SEARCH_S)))
    assert len(found) == 1
    assert "stopped by its time" in script.notes[0]


def test_a_draft_that_cannot_be_written_makes_no_guesser(script: Script) -> None:
    script.missing = (Recipe("q4_0", True, prune_layers=(5,)),)
    [guesser] = layerskip_guessers(script.ground(1e6))
    assert guesser.layout is not None
    assert guesser.layout.recipe == Recipe("q4_0", True, prune_layers=(5, 6))


def test_a_target_that_cannot_be_pruned_is_not_searched(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F21: which checkpoint does not suit it is told."""
    monkeypatch.setattr(layerskip, "refusal", lambda _target: "it has 2 blocks")
    assert list(layerskip_guessers(script.ground(1e6))) == []
    assert script.notes == ["layer skipping: no draft can be made of target.gguf: it has 2 blocks"]
    assert not script.asked


def _tried(value: float, drafter: str = "layerskip", **changes: object) -> Tried:
    layout = Layout(TARGET, Recipe("q4_0", True, prune_layers=(5,)))
    guesser = Guesser(drafter, layout, _draft(0.7), (), 0.6)
    speed = Predicted(2, 1.9, Estimate(value, value, value))
    given = Layout(TARGET)
    return replace(Tried(Arrangement(given, guesser, 2, speed)), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        (_tried(0.7), "is expected to be 0.70 times as fast: it does not pay here"),
        (_tried(1.3), "is expected to be 1.30 times as fast: it may pay"),
        (
            _tried(1.3, speedup=0.8, word=Word.SLOWER),
            "0.80 times as fast, measured: it does not",
        ),
        (_tried(1.3, speedup=1.2, word=Word.PAYS), "is 1.20 times as fast, measured: it pays"),
    ],
)
def test_the_verdict_has_numbers_and_says_whether_they_were_measured(
    tried: Tried, said: str
) -> None:
    """F21: a no is a result."""
    words = verdict([tried, _tried(5.0, drafter="model")], COSTS)
    assert words is not None
    assert words.startswith(
        "layer skipping: the target Q4_0 without 1 block as a draft costs 0.70 of a pass a token, "
        "and 60% of its guesses would stand; target as given, layerskip Q4_0 without 1 block γ2"
    )
    assert said in words


def test_the_verdict_goes_by_what_was_measured_and_by_the_given_target() -> None:
    other = _tried(2.0)
    elsewhere = replace(other.arrangement, target=Layout(TARGET, Recipe("q8_0", pure=True)))
    found = [_tried(1.2), replace(other, arrangement=elsewhere), _tried(0.4, speedup=0.6)]
    assert "0.60 times" in str(verdict(found, COSTS))
    assert "1.20 times" in str(verdict(found[:2], COSTS))


def test_without_a_draft_of_the_target_there_is_no_verdict() -> None:
    assert verdict([_tried(1.2, drafter="model")], COSTS) is None
