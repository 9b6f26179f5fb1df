"""The order of a bench, its ends, and what it keeps."""

from dataclasses import replace

import numpy as np
import pytest

from localspec.measure.arms import Arm, Design, arms_of
from localspec.measure.bench import Progress, run_bench
from localspec.measure.findings import findings_of
from localspec.measure.loops import loop_start
from localspec.measure.result import BenchResult
from localspec.measure.sample import LOOPED, take
from localspec.measure.verdict import Word
from tests.core.fakes import FakeClock
from tests.measure.scripted import (
    DRAFT_S,
    Interference,
    Machine,
    ScriptedRunner,
    design,
    known_costs,
    prompts,
    tools,
    true_speedup,
)

A, B = Arm(("model",), 3), Arm(("lookup",), 7)


def _bench(alpha: float = 0.8, **changes: object) -> BenchResult:
    machine = Machine(noise=0.01)
    return run_bench(
        design(**changes),  # type: ignore[arg-type]
        ScriptedRunner(machine, {"code": [alpha], "story": [alpha]}),
        tools(machine, early_stop=False),
    )


def test_arms_take_turns_in_an_order_that_turns_around() -> None:
    blocks = list(design(arms=(A, B)).run(0))
    labels = [[slot.arm.label for slot in block] for block in blocks]
    assert labels == [["plain", "model γ3", "lookup γ7"], ["lookup γ7", "model γ3", "plain"]]


def test_no_prompt_comes_twice_while_there_are_enough() -> None:
    """E04: a drafter must not remember what it is asked."""
    whole = design(runs=3, count=6)
    seen = [block[0].prompt.name for run in range(3) for block in whole.run(run)]
    assert sorted(seen) == [str(i) for i in range(6)]


def test_prompts_that_come_again_have_another_seed_and_count_as_one() -> None:
    result = _bench(runs=3, count=2)
    seeds = {sample.slot.seed for sample in result.samples if sample.arm.plain}
    assert len(seeds) == 6
    assert len(result.pairings(A, "code")) == 2


def test_every_temperature_has_its_own_baseline() -> None:
    arms = arms_of(["model", "auto"], [1, 2], [0.0, 0.7])
    assert [arm.label for arm in arms] == ["model γ1", "model γ2", "auto"] * 2
    plain = Design(design().kinds, arms).plain_arms
    assert [arm.temperature for arm in plain] == [0.0, 0.7]


def test_the_measured_speedup_is_the_true_one_without_noise() -> None:
    machine = Machine()
    alphas = [0.8] * 6
    runner = ScriptedRunner(machine, {"code": alphas}, tokens=4000)
    found = run_bench(design(runs=3), runner, tools(machine)).speedup(A, "code")
    assert found is not None
    assert found[0] == pytest.approx(true_speedup(alphas, 3, 4000, DRAFT_S), rel=0.02)


def test_the_predicted_speedup_is_the_true_one_within_2_percent() -> None:
    machine = Machine(noise=0.02)
    runner = ScriptedRunner(machine, {"code": [0.8]}, tokens=2000)
    result = run_bench(design(), runner, tools(machine))
    found = findings_of(result).kinds[0].arms[0]
    assert found.predicted == pytest.approx(true_speedup([0.8], 3, 2000, DRAFT_S), rel=0.02)


def test_costs_and_acceptance_of_a_report_recommend_a_shorter_draft() -> None:
    """F10: .813 accepted is just too little at gamma 5, where 1 or 2 pays; F04, F14."""
    costs = known_costs()
    rising = tuple(replace(p, median_s=0.020 * (1 + 0.17 * (p.rows - 1))) for p in costs.target)
    machine = Machine()
    runner = ScriptedRunner(machine, {"code": [0.813]}, tokens=400)
    result = run_bench(design(arms=(Arm(("model",), 5),)), runner, tools(machine))
    slow = {"model": tuple(replace(p, median_s=p.rows * 0.0105) for p in costs.drafts["model"])}
    account = findings_of(_recosted(result, replace(costs, target=rising, drafts=slow)))
    found = account.kinds[0].arms[0].account
    assert found is not None
    assert found.best_gamma in (1, 2)
    assert found.break_even is not None
    assert found.break_even > 0.813
    assert any(help.startswith(f"γ {found.best_gamma}") for help in account.kinds[0].helps)


def _recosted(result: BenchResult, costs: object) -> BenchResult:
    """Give a bench with the seconds that other costs would have made of its rounds."""

    def again(sample):  # type: ignore[no-untyped-def]
        steps = tuple(
            replace(
                step,
                draft_s=costs.draft_s("model", step.drafted, step.position),  # type: ignore[attr-defined]
                verify_s=costs.pass_s(step.drafted + 1, step.position),  # type: ignore[attr-defined]
            )
            for step in sample.steps
        )
        return replace(sample, steps=steps)

    samples = tuple(again(sample) for sample in result.samples)
    return replace(result, samples=samples, costs=costs)  # type: ignore[arg-type]


def test_a_drafter_on_a_slow_chip_is_told_to_stay_off() -> None:
    """F15: placement is measured, never assumed."""
    machine = Machine()
    runner = ScriptedRunner(machine, {"code": [0.9]}, draft_s=0.05)
    found = findings_of(run_bench(design(), runner, tools(machine))).kinds[0]
    assert found.word is Word.SLOWER
    assert "off: --plain" in found.helps
    assert any("a draft at half the cost" in help for help in found.helps) == (
        (found.arms[0].account.free_draft or 0) > 1.05  # type: ignore[union-attr]
    )


def test_the_reason_gives_shares_waste_and_break_even() -> None:
    """F04: the arithmetic behind 'it got slower'."""
    found = findings_of(_bench(0.5)).kinds[0]
    assert "accepted 5" in found.reason or "accepted 4" in found.reason
    assert "it pays from" in found.reason
    assert "thrown away" in found.reason
    account = found.arms[0].account
    assert account is not None
    assert account.draft + account.verify + account.other == pytest.approx(1.0)


@pytest.mark.parametrize("moment", range(0, 14, 3))
def test_an_interruption_at_any_moment_keeps_what_there_is(moment: int) -> None:
    machine = Machine()
    saved: list[BenchResult] = []
    runner = ScriptedRunner(machine, {"code": [0.8]}, interrupt_at=moment)
    result = run_bench(design(), runner, tools(machine, saved=saved.append, early_stop=False))
    assert result.stopped == "interrupted"
    assert not result.complete
    assert saved[-1] == result
    assert len(result.samples) == max(moment - 2, 0)  # two answers warmed up
    assert findings_of(result).sentence


@pytest.mark.parametrize("second", [1, 2])
def test_an_interrupted_repeat_keeps_what_was_measured_before_it(second: int) -> None:
    machine = Machine(interference=(Interference(0.0, 1e9, 2.0),))
    warmed, first = 2, 1
    runner = ScriptedRunner(machine, {"code": [0.8]}, interrupt_at=warmed + first + second - 1)
    result = run_bench(design(), runner, tools(machine, early_stop=False))
    assert result.stopped == "interrupted"
    assert [sample.attempts for sample in result.samples] == [second]
    assert len(result.replaced) == second - 1


def test_a_time_limit_during_a_repeat_keeps_what_was_measured_before_it() -> None:
    machine = Machine(interference=(Interference(0.0, 1e9, 2.0),))
    runner = ScriptedRunner(machine, {"code": [0.8]})
    limited = tools(machine, max_s=1.0, warmup=0, early_stop=False)  # the first takes 2 s
    result = run_bench(design(), runner, limited)
    assert result.stopped == "time"
    assert [sample.attempts for sample in result.samples] == [1]


def test_the_time_limit_ends_a_bench_between_two_answers() -> None:
    machine = Machine()
    runner = ScriptedRunner(machine, {"code": [0.8]})
    result = run_bench(design(), runner, tools(machine, max_s=6.0, early_stop=False))
    assert result.stopped == "time"
    assert not result.complete
    assert 0 < len(result.samples) < design().answers


def test_a_settled_verdict_ends_a_bench_early() -> None:
    machine = Machine(noise=0.01)
    runner = ScriptedRunner(machine, {"code": [0.97]})
    result = run_bench(design(runs=6, count=12), runner, tools(machine))
    assert result.stopped == "settled"
    assert result.complete
    assert len(result.samples) == 2 * 2 * 2


def test_results_are_saved_after_each_run_and_progress_is_told() -> None:
    machine = Machine()
    saved: list[BenchResult] = []
    told: list[Progress] = []
    runner = ScriptedRunner(machine, {"code": [0.8]})
    whole = tools(machine, saved=saved.append, progress=told.append, early_stop=False)
    run_bench(design(), runner, whole)
    assert [len(result.samples) for result in saved] == [4, 8, 12, 12]
    assert [each.done for each in told] == list(range(12))
    assert told[0].left_s is None
    assert told[-1].left_s is not None
    assert told[-1].best == A


def test_texts_are_compared_at_temperature_0_and_the_first_difference_is_named() -> None:
    """B02, B08: position and gap of the first difference, for every drafter."""
    machine = Machine()
    runner = ScriptedRunner(machine, {"code": [0.8]}, wrong={(B.label, 2): 17})
    result = run_bench(design(arms=(A, B)), runner, tools(machine, early_stop=False))
    assert result.identical(A) == replace(result.identical(A), same=6, of=6)  # type: ignore[type-var]
    found = result.identical(B)
    assert found is not None
    assert (found.same, found.of) == (5, 6)
    assert (found.differences[0].prompt, found.differences[0].position) == (2, 17)
    assert found.differences[0].gap == 0.25


def test_texts_above_temperature_0_are_compared_only_when_coupled() -> None:
    warm = (Arm(("model",), 3, 0.7),)
    machine = Machine()
    runner = ScriptedRunner(machine, {"code": [0.8]}, wrong={("model γ3", 0): 5})
    free = run_bench(design(arms=warm), runner, tools(machine))
    coupled = run_bench(replace(design(arms=warm), coupled=True), runner, tools(machine))
    assert free.identical(warm[0]) is None
    found = coupled.identical(warm[0])
    assert found is not None
    assert len(found.differences) == 1


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [
        (list(range(40)), None),
        ([1, 2, 3, *[7] * 12], 4),
        ([1, 2, 3, *[7] * 11], None),
        ([5, 6, *[1, 2, 3, 4] * 3], 6),
        ([5, 6, *[1, 2, 3, 4] * 2], None),
        ([9, *range(20), *range(20), *range(20)], 21),
    ],
)
def test_a_loop_is_cut_after_its_first_round(tokens: list[int], kept: int | None) -> None:
    assert loop_start(tokens) == kept


def test_an_answer_that_loops_is_cut_counted_and_said() -> None:
    slot = next(design().run(0))[0]
    runner = ScriptedRunner(Machine(), {"code": [0.0]}, tokens=60)
    runner._id = lambda slot, place: place if place < 10 else 99  # type: ignore[method-assign]
    sample = take(slot, runner.answer(slot))
    assert sample.finish == LOOPED
    assert sample.tokens == (*range(10), 99)
    assert sample.loop_tokens == 11


def test_a_fake_clock_that_stands_still_harms_nothing() -> None:
    clock = FakeClock()
    machine = Machine()
    machine.clock = clock  # type: ignore[method-assign]
    result = run_bench(design(), ScriptedRunner(machine, {"code": [0.8]}), tools(machine))
    assert result.complete


def test_kinds_keep_their_prompts_apart() -> None:
    kind = prompts("code", 3)
    assert len({prompt.ids.tobytes() for prompt in kind.prompts}) == 3
    assert np.unique([len(prompt.ids) for prompt in kind.prompts]).tolist() == [20]
