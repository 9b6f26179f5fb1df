"""Intervals, verdicts and noise on a scripted pair whose speed-up is known exactly.

Every simulation is seeded, so none of these can flake.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from localspec.core.statistics import Estimate
from localspec.measure import noise
from localspec.measure.arms import Arm
from localspec.measure.bench import run_bench
from localspec.measure.findings import findings_of
from localspec.measure.intervals import Pairing, ratio, speedup_interval, student_quantile
from localspec.measure.verdict import Quiet, Word, judge, settled
from tests.measure.scripted import (
    DRAFT_S,
    Interference,
    Machine,
    ScriptedRunner,
    design,
    tools,
    true_speedup,
)

BENCHES = 300


def _alphas(mean: float, spread: float, seed: int, count: int = 6) -> list[float]:
    rng = np.random.default_rng(seed)
    return [float(value) for value in np.clip(rng.normal(mean, spread, count), 0.05, 0.98)]


@pytest.mark.parametrize("freedom", [1, 2, 5, 17, 100])
def test_students_quantile_is_scipys(freedom: int) -> None:
    assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-6)


def test_the_ratio_is_that_of_totals_and_its_interval_is_around_it() -> None:
    pairs = [Pairing(1.0, 10, 0.5, 10), Pairing(3.0, 20, 2.0, 20), Pairing(2.0, 20, 1.0, 25)]
    expected = (6 / 50) / (3.5 / 55)
    found = speedup_interval(pairs)
    assert ratio(pairs) == pytest.approx(expected)
    assert found is not None
    assert found.value == pytest.approx(expected)
    assert found.low < expected < found.high


def test_one_prompt_gives_no_interval() -> None:
    assert speedup_interval([Pairing(1.0, 10, 0.5, 10)]) is None


@pytest.mark.slow
@pytest.mark.parametrize("early_stop", [True, False])
def test_the_interval_covers_the_true_speedup_in_90_to_99_percent(early_stop: bool) -> None:
    true = true_speedup(_alphas(0.75, 0.1, 12345, 1500), 3, 48, DRAFT_S)
    covered = 0
    for seed in range(BENCHES):
        machine = Machine(noise=0.05, seed=seed)
        runner = ScriptedRunner(machine, {"code": _alphas(0.75, 0.1, seed)}, wobble=0.02)
        result = run_bench(design(), runner, tools(machine, early_stop=early_stop))
        measured = result.speedup(result.design.arms[0], "code")
        assert measured is not None
        assert measured[1] is not None
        covered += measured[1].low <= true <= measured[1].high
    assert 0.90 <= covered / BENCHES <= 0.99


def test_the_same_arm_twice_is_never_said_to_differ() -> None:
    words: Counter[Word] = Counter()
    covered = 0
    for seed in range(30):
        machine = Machine(noise=0.05, seed=seed)
        runner = ScriptedRunner(machine, {"code": [0.7]}, same=True, wobble=0.02)
        result = run_bench(design(), runner, tools(machine))
        found = findings_of(result).kinds[0]
        words[found.word] += 1
        interval = found.arms[0].interval
        assert interval is not None
        covered += interval.low <= 1.0 <= interval.high
    assert covered >= 27
    assert words.keys() <= {Word.UNCLEAR, Word.NOISY}


@pytest.mark.parametrize("alpha", [0.9, 0.3])
@pytest.mark.parametrize("visible", [True, False], ids=["seen", "unseen"])
@pytest.mark.parametrize(("factor", "lasts_s"), [(1.5, 2.0), (3.0, 3.0), (2.0, 6.0)])
def test_a_burst_of_interference_never_changes_a_verdict_to_another(
    alpha: float, visible: bool, factor: float, lasts_s: float
) -> None:
    right = Word.PAYS if alpha > 0.5 else Word.SLOWER
    words: Counter[Word] = Counter()
    for seed in range(24):
        begin = float(np.random.default_rng(seed).uniform(0, 12))
        burst = Interference(begin, begin + lasts_s, factor, visible)
        machine = Machine(noise=0.03, seed=seed, interference=[burst])
        runner = ScriptedRunner(machine, {"code": _alphas(alpha, 0.03, seed)}, wobble=0.02)
        words[findings_of(run_bench(design(), runner, tools(machine))).kinds[0].word] += 1
    assert words.keys() <= {right, Word.NOISY}
    assert words[right] > 0


def test_answers_that_other_programs_disturbed_are_repeated_and_it_is_said() -> None:
    machine = Machine(interference=[Interference(1.0, 6.0, 2.0)])
    runner = ScriptedRunner(machine, {"code": [0.9]})
    result = run_bench(design(), runner, tools(machine))
    assert result.replaced
    assert "other programs used up to 50%" in result.warnings[0]
    assert all((sample.others or 0) <= noise.OTHERS_LIMIT for sample in result.samples)


def test_a_machine_that_slows_down_all_along_is_too_noisy_and_says_so() -> None:
    machine = Machine(drift_per_s=0.02)
    result = run_bench(design(), ScriptedRunner(machine, {"code": [0.9]}), tools(machine))
    found = findings_of(result)
    assert any("a plain pass changed by" in warning for warning in result.warnings)
    assert found.kinds[0].word is Word.NOISY
    assert "a plain pass changed by" in found.kinds[0].reason
    assert found.sentence == "too noisy to say for code."


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.06, 1.2, Word.PAYS),
        (1.05, 1.2, Word.UNCLEAR),
        (0.8, 0.94, Word.SLOWER),
        (0.8, 0.95, Word.UNCLEAR),
        (0.9, 1.2, Word.UNCLEAR),
    ],
)
def test_the_verdict_follows_the_ends_of_the_interval(low: float, high: float, word: Word) -> None:
    assert judge(Estimate((low + high) / 2, low, high), Quiet()) is word


def test_a_wide_interval_on_a_restless_machine_is_noise_and_a_narrow_one_is_not() -> None:
    restless = Quiet(spread=0.15)
    assert judge(Estimate(1.0, 0.8, 1.3), restless) is Word.NOISY
    assert judge(Estimate(1.0, 0.97, 1.03), restless) is Word.UNCLEAR
    assert judge(Estimate(1.5, 1.4, 1.6), restless) is Word.PAYS
    assert judge(Estimate(1.5, 1.4, 1.6), replace(restless, affected=0.5)) is Word.NOISY


def test_a_word_is_settled_only_when_well_away_from_both_limits() -> None:
    assert settled(Estimate(1.3, 1.2, 1.4))
    assert not settled(Estimate(1.2, 1.06, 1.34))
    assert settled(Estimate(1.0, 0.98, 1.02))
    assert not settled(None)


def test_the_modified_z_score_finds_slow_answers_only() -> None:
    even = [1.0, 1.01, 0.99, 1.02, 1.0, 0.98]
    assert noise.outliers([*even, 1.6]) == [6]
    assert noise.outliers([*even, 0.5]) == []
    assert noise.outliers([1.0] * 6 + [1.05]) == []
    assert noise.outliers([1.0, 5.0, 1.0]) == []


def test_others_are_what_was_used_and_was_not_ours() -> None:
    before, after = noise.Reading(10.0, 4.0, 0.0), noise.Reading(11.0, 4.6, 1.0)
    assert noise.others_share(before, after, 2) == pytest.approx(0.2)
    assert noise.others_share(before, replace(after, wall_s=0.01), 2) is None


def test_two_kinds_of_text_get_two_verdicts_and_both_are_in_the_sentence() -> None:
    """D12, F01: a text that the draft knows well and one that it does not."""
    machine = Machine(noise=0.02)
    runner = ScriptedRunner(machine, {"code": [0.93], "story": [0.2]})
    result = run_bench(design(("code", "story")), runner, tools(machine))
    found = findings_of(result)
    assert [kind.word for kind in found.kinds] == [Word.PAYS, Word.SLOWER]
    assert found.kinds[0].use is not None
    assert found.kinds[0].use.arm == Arm(("model",), 3)
    assert found.kinds[1].use is None
    assert found.sentence.startswith("worth it for code: ")
    assert found.sentence.endswith("Slower, leave it off for story.")
