"""Drafters that fail, drafters in a row, and answers that are closed or interrupted."""

from dataclasses import replace

import pytest

from localspec.core.events import Step
from localspec.core.generate import generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from tests.core.fakes import (
    FailingDrafter,
    MarkovDrafter,
    MarkovSequence,
    ScriptedDrafter,
    ids,
    random_markov,
)
from tests.core.loop import run, speculate

TARGET, DRAFT = random_markov(8, 5), random_markov(8, 6)
GREEDY = SamplingParams(temperature=0)
WARM = SamplingParams(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0)
OPTIONS = GenerateOptions(max_tokens=24, sampling=GREEDY, usable=8)
PROMPT = (1, 2, 3)
RULES = pytest.mark.parametrize("rule", list(RuleName))
PLAIN = run(MarkovSequence(TARGET), PROMPT, OPTIONS).tokens


@pytest.mark.parametrize("every", [1, 2, 3, 4, 7])
def test_a_failing_drafter_is_left_out_with_one_notice(every: int) -> None:
    """G06: the answer goes on plainly, and equals the plain one."""
    drafter = FailingDrafter(MarkovDrafter(DRAFT), every)
    written = run(MarkovSequence(TARGET), PROMPT, OPTIONS, speculate([drafter], gamma=2))
    assert written.tokens == PLAIN
    assert written.notices == ["drafter model is off: decode failed"]
    assert written.tally.steps[-1].drafted == 0
    assert drafter.calls == every


def test_the_next_drafter_takes_over_from_a_failed_one() -> None:
    second = ScriptedDrafter(lambda history, limit: [2] * limit)
    drafters = [FailingDrafter(MarkovDrafter(DRAFT), 2), second]
    written = run(MarkovSequence(TARGET), PROMPT, OPTIONS, speculate(drafters))
    assert written.tokens == PLAIN
    assert {step.drafter for step in written.tally.steps} == {"script", ""}


def test_a_mistake_of_ours_in_a_drafter_is_not_hidden() -> None:
    def broken(history: list[int], limit: int) -> list[int]:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        run(MarkovSequence(TARGET), PROMPT, OPTIONS, speculate([ScriptedDrafter(broken)]))


def test_the_first_drafter_with_a_guess_is_heard() -> None:
    silent = ScriptedDrafter(lambda history, limit: [], name="silent")
    loud = ScriptedDrafter(lambda history, limit: [3], name="loud")
    written = run(MarkovSequence(TARGET), PROMPT, OPTIONS, speculate([silent, loud]))
    assert {step.drafter for step in written.tally.steps if step.drafted} == {"loud"}
    assert by_plan_alone([silent, loud]) == {""}


def by_plan_alone(drafters) -> set[str]:
    """Name the drafters heard under a plan that knows none of them."""
    policy = FixedPolicy(4, ("unknown",))
    written = run(MarkovSequence(TARGET), PROMPT, OPTIONS, speculate(drafters, policy=policy))
    return {step.drafter for step in written.tally.steps}


@RULES
@pytest.mark.parametrize("closed_after", range(1, 9))
def test_closing_at_any_point_then_going_on_equals_a_fresh_run(
    rule: RuleName, closed_after: int
) -> None:
    """K01: both caches are repaired by the next answer's first pass."""
    options = replace(OPTIONS, rule=rule, sampling=WARM, seed=3)
    target, speculation = MarkovSequence(TARGET), speculate([MarkovDrafter(DRAFT)])
    events = generate(target, ids(*PROMPT), options, speculation=speculation)
    seen = [event for event, _ in zip(events, range(closed_after), strict=False)]
    events.close()
    said = [t for event in seen if isinstance(event, Step) for t in event.tokens]
    following = (*PROMPT, *said, 7, 7)
    fresh = speculate([MarkovDrafter(DRAFT)])
    assert (
        run(target, following, options, speculation).tokens
        == run(MarkovSequence(TARGET), following, options, fresh).tokens
    )


@pytest.mark.parametrize("broken_pass", range(1, 6))
def test_an_interrupt_inside_a_pass_leaves_nothing_to_repair_by_hand(broken_pass: int) -> None:
    """K01, K04: Ctrl-C while the engine works, in prefill too."""
    passes = iter(range(1, 1000))

    def interrupt(_tokens: int) -> None:
        if next(passes) == broken_pass:
            raise KeyboardInterrupt

    target = MarkovSequence(TARGET, on_pass=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(target, PROMPT, OPTIONS, speculate([MarkovDrafter(DRAFT)]))
    again = run(target, PROMPT, OPTIONS, speculate([MarkovDrafter(DRAFT)]))
    assert again.tokens == PLAIN
