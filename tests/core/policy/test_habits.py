"""What is known of a drafter from before, and what a first answer then costs."""

import pytest

from localspec.core.adaptive import AdaptivePolicy
from localspec.core.costs import CostModel
from localspec.core.habits import Habit, merged
from localspec.core.survival import Survival
from tests.core.policy.policy_worlds import (
    GPU,
    QWEN_PURE,
    Simulation,
    Text,
    World,
    always,
    best_fixed,
    simulate,
)
from tests.core.policy.test_adaptive_speed import HOPELESS, lookup, model


def knowing(world: World, habits: dict[str, Habit]) -> AdaptivePolicy:
    fresh = world.policy(calibrated=True)
    facts = [it.facts for it in fresh._standings.values()]
    return AdaptivePolicy(facts, costs=CostModel(world.seed()), habits=habits)


def test_counts_add_up_and_old_labels_give_way() -> None:
    old = {"model": Habit(0.5, 400.0), "lookup": Habit(0.2, 10.0)}
    both = merged(old, {"model": Habit(1.0, 400.0)})
    assert both["model"] == Habit(0.75, 400.0)
    assert both["lookup"] == old["lookup"]
    assert merged({}, {"model": Habit(0.3, 7.0)}) == {"model": Habit(0.3, 7.0)}


def test_a_habit_weighs_as_much_as_a_few_labels() -> None:
    assert Habit(0.9, 10_000.0).weight < 8
    assert Habit(0.9, 4.0).weight == 0.5
    survival = Survival(Habit(0.9, 400.0))
    assert survival.chances[0] == pytest.approx(0.9)
    for _ in range(6):
        survival.learn((0.0,))
    assert survival.mean < 0.5


def test_a_run_leaves_a_habit() -> None:
    world = World(GPU, 0.02, (model(0.002, 0.8),))
    policy = world.policy(calibrated=True)
    simulate(world, policy, tokens=500, seed=0)
    assert policy.habits["model"].mean == pytest.approx(0.8, abs=0.06)
    assert policy.habits["model"].count > 100


@pytest.mark.parametrize("name", HOPELESS)
def test_a_draft_known_to_be_hopeless_costs_a_first_answer_three_percent_at_most(name: str) -> None:
    world = HOPELESS[name]
    habits = {it.name: Habit(0.0, 200.0) for it in world.drafters}
    plain = simulate(world, always("", 0), tokens=60, seed=0).rate
    assert simulate(world, knowing(world, habits), tokens=60, seed=0).rate >= 0.97 * plain


def test_a_draft_known_to_be_good_drafts_from_its_second_pass_on() -> None:
    world = World(QWEN_PURE, 0.0239, (model(0.004, 0.9),))
    run = simulate(world, knowing(world, {"model": Habit(0.9, 300.0)}), tokens=60, seed=0)
    best, _, _ = best_fixed(world, tokens=60, seed=0)
    assert run.gammas[1] >= 3
    assert run.rate >= 0.85 * best


def test_a_wrong_habit_is_unlearned() -> None:
    world = World(GPU, 0.02, (model(0.002, 0.9),))
    wrong = simulate(world, knowing(world, {"model": Habit(0.0, 400.0)}), tokens=1000, seed=0)
    best, _, _ = best_fixed(world, tokens=1000, seed=0)
    assert wrong.rate >= 0.94 * best


def test_short_answers_one_after_another_lose_less_and_less_on_a_hopeless_draft() -> None:
    """Each answer is looked at anew, but not for as much as the first."""
    world = HOPELESS["135M pure, both wrong"]
    plain = simulate(world, always("", 0), tokens=60, seed=0).rate
    policy = world.policy(calibrated=True)
    text = Text(world, 700, 0)
    rates = []
    for number in range(10):
        run = Simulation(text, policy, number, start=64 + 1000 * number).finish(60)
        rates.append(run.rate / plain)
    assert rates[0] >= 0.95
    assert sum(rates[1:]) / 9 >= 0.98


def test_a_lookup_with_a_good_habit_is_used_at_its_first_match() -> None:
    world = World(QWEN_PURE, 0.0239, (lookup(0.9),))
    run = simulate(world, knowing(world, {"lookup": Habit(0.9, 300.0)}), tokens=60, seed=0)
    assert run.gammas[1] >= 3
