"""Costs measured again while a bench runs: when, how often, and what they count."""

import pytest

from localspec.measure.bench import run_bench
from localspec.measure.costs import Costs
from tests.measure.scripted import (
    DRAFT_S,
    Machine,
    ScriptedRunner,
    design,
    known_costs,
    tools,
)


def test_costs_are_measured_again_after_every_run_and_all_count() -> None:
    """F04: on a machine that drifts, no moment is the whole truth."""
    machine, asked = Machine(), []

    def dearer_drafts() -> Costs:
        asked.append(machine.clock())
        return known_costs(draft_s=4 * DRAFT_S)

    runner = ScriptedRunner(machine, {"code": [0.8]})
    told = tools(machine, costs_again=dearer_drafts, early_stop=False)
    result = run_bench(design(), runner, told)
    assert len(set(asked)) == len(asked) == result.design.runs > 1
    assert asked[-1] == machine.clock()
    mean = (1 + 4 * len(asked)) / (1 + len(asked)) * DRAFT_S
    assert (result.costs or known_costs()).draft_s("model", 1, 64) == pytest.approx(mean)


@pytest.mark.parametrize("end", ["time", "interrupted"])
def test_a_bench_that_ends_early_does_not_wait_for_costs(end: str) -> None:
    machine = Machine()
    at = 5 if end == "interrupted" else None
    runner = ScriptedRunner(machine, {"code": [0.8]}, interrupt_at=at)
    asked: list[None] = []
    limits = {"max_s": 3.0} if end == "time" else {}
    told = tools(machine, costs_again=lambda: asked.append(None), early_stop=False, **limits)
    result = run_bench(design(), runner, told)
    assert (result.stopped, asked) == (end, [])
    assert result.costs == known_costs()


def test_costs_that_take_long_beside_a_run_are_measured_at_the_ends_only() -> None:
    machine, asked = Machine(), []

    def slow() -> Costs:
        asked.append(machine.clock())
        machine.spend(1e6)
        return known_costs()

    runner = ScriptedRunner(machine, {"code": [0.8]})
    result = run_bench(design(runs=4), runner, tools(machine, costs_again=slow, early_stop=False))
    assert result.complete
    assert len(asked) == 2
