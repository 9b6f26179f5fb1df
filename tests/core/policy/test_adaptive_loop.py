"""The adaptive policy inside `generate`: the target's law to the last digit, and its reasons."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from localspec.core.adaptive import AdaptivePolicy, PolicyOptions
from localspec.core.cost_curve import CostPoint, CostSeed
from localspec.core.costs import CostModel
from localspec.core.distribution import Distribution, point
from localspec.core.events import Origin, Step
from localspec.core.habits import Habit
from localspec.core.options import GenerateOptions
from localspec.core.policy import Plan
from localspec.core.rules import judge_block, judge_tokens
from localspec.core.standing import DrafterFacts
from tests.core.cases import EXACT, SMALL_CASES, Case, Writing, writing_error
from tests.core.fakes import MarkovDrafter, MarkovSequence, random_markov
from tests.core.loop import run, speculate

FLAT = CostSeed(tuple(CostPoint(n, 0, 0.01 + 0.001 * n) for n in range(1, 18)), {"model": 0.0005})


def eager(name: str) -> AdaptivePolicy:
    return AdaptivePolicy([DrafterFacts(name, asks=True)], costs=CostModel(FLAT))


@dataclass
class Timed:
    """Give the steps seconds that a fake clock would not, so that there is something to learn."""

    inner: AdaptivePolicy
    drafted: list[int] = field(default_factory=list)

    def plan(self, position: int, room: int) -> Plan:
        return self.inner.plan(position, room)

    def keep_going(self, index: int, law: Distribution) -> bool:
        return self.inner.keep_going(index, law)

    def worth_looking(self, index: int) -> bool:
        return self.inner.worth_looking(index)

    def observe(self, step: Step) -> None:
        self.drafted.append(step.drafted)
        seconds = 0.01 + 0.001 * (step.drafted + 1)
        self.inner.observe(replace(step, draft_s=0.0005 * (step.drafted + 1), verify_s=seconds))


@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
@pytest.mark.parametrize("case", SMALL_CASES, ids=str)
def test_the_adaptive_policy_keeps_the_targets_law(rule, case: Case) -> None:
    """It learns within the text and stops by what it saw: every branch is enumerated."""
    writing = Writing(3, rule, policy=lambda gamma, name: Timed(eager(name)))
    assert writing_error(case, writing) < EXACT


def test_it_drafts_a_good_model_and_says_what_it_chose() -> None:
    source = random_markov(5, 1, sharpness=4.0)
    drafter = MarkovDrafter(source)
    policy = Timed(eager("model"))
    done = run(
        MarkovSequence(source),
        [1, 2],
        GenerateOptions(max_tokens=400),
        speculate([drafter], policy=policy),
    )
    assert len(done.tokens) == 400
    assert max(policy.drafted) > 3
    assert policy.inner.chosen.drafter == "model"
    assert policy.inner.chosen.gamma > 0
    assert policy.inner.reason().startswith("a draft token costs")


def test_without_drafters_every_pass_is_plain() -> None:
    policy = AdaptivePolicy([])
    assert policy.plan(10, 100) == Plan()
    assert policy.reason() == "there is no drafter"


def test_no_room_means_a_plain_pass() -> None:
    assert eager("model").plan(10, 0).limit == 0


@pytest.mark.parametrize("first", [0, 1])
def test_no_plan_exceeds_the_room_though_what_a_drafter_is_worth_was_worked_out_before(
    first: int,
) -> None:
    policy = AdaptivePolicy([DrafterFacts("model")], costs=CostModel(FLAT))
    longest, position = 0, 100
    for number in range(40):
        room = 10 if (number + first) % 2 else 1
        plan = policy.plan(position, room)
        longest = max(longest, plan.limit)
        assert max((plan.limit, *plan.limits)) <= room
        drafted = plan.limit
        if drafted:
            policy.keep_going(0, point(0))
        judged = (1.0,) * drafted
        ids = (0,) * (drafted + 1)
        seconds = 0.01 + 0.001 * drafted
        names = plan.order[0] if drafted else ""
        counts = {"drafted": drafted, "judged": drafted, "accepted": drafted}
        policy.observe(Step(ids, (), position, names, verify_s=seconds, overlaps=judged, **counts))
        position += drafted + 1
    assert longest > 1


def test_a_drafter_that_never_answers_costs_nothing_but_calls() -> None:
    policy = Timed(eager("absent"))
    source = random_markov(5, 1)
    done = run(
        MarkovSequence(source), [1], GenerateOptions(max_tokens=50), speculate([], policy=policy)
    )
    assert done.tally.passes == 50


def test_a_users_chain_is_asked_in_the_users_order() -> None:
    facts = [DrafterFacts("model"), DrafterFacts("lookup", True, lambda: 5.0)]
    policy = AdaptivePolicy(facts, costs=CostModel(FLAT), options=PolicyOptions(fixed_order=True))
    policy.observe(plain(policy, 10))
    assert policy.plan(11, 100).order == ("model", "lookup")


def plain(policy: AdaptivePolicy, position: int) -> Step:
    policy.plan(position, 100)
    return Step((0,), (), position, verify_s=0.011, baseline=True)


def test_a_limit_for_each_drafter_of_the_order() -> None:
    facts = [DrafterFacts("model"), DrafterFacts("lookup", True, lambda: 5.0)]
    policy = AdaptivePolicy(facts, costs=CostModel(FLAT))
    policy.observe(plain(policy, 10))
    plan = policy.plan(11, 100)
    assert plan.order == ("lookup", "model")
    assert plan.limits[0] > plan.limits[1] > 0


def test_the_account_is_in_seconds_per_drafted_token() -> None:
    policy = eager("model")
    policy.observe(plain(policy, 10))
    policy.plan(11, 100)
    choice = policy.chosen
    assert choice.costs_s is not None
    assert choice.saves_s is not None
    assert 0.0005 < choice.costs_s < 0.01 * np.ceil(choice.gamma)
    assert 0 < choice.saves_s < 0.012


def test_a_copy_that_was_not_submitted_is_judged_by_what_was_written() -> None:
    """F08: copies that were wrong are found to be right again without a single probe."""
    policy = AdaptivePolicy(
        [DrafterFacts("lookup", True, lambda: 5.0)],
        costs=CostModel(FLAT),
        habits={"lookup": Habit(0.0, 400.0)},
    )
    policy.observe(plain(policy, 10))
    answers = []
    for position in range(11, 17):
        plan = policy.plan(position, 100)
        assert plan.order == ("lookup",)
        answers.append(policy.keep_going(0, point(7)))
        policy.observe(Step((7,), (Origin.TARGET,), position, verify_s=0.011, draft_s=1e-5))
    assert answers[0] is False
    assert answers[-1] is True
