"""Chances of acceptance: from Beta(1, 1), by place, by law and match, and after a change."""

from random import Random

import numpy as np
import pytest

from localspec.core.distribution import Distribution, point
from localspec.core.survival import Survival


def law(top: float) -> Distribution:
    return Distribution(np.array([0, 1]), np.array([top, 1 - top]))


def teach(survival: Survival, alpha: float, rounds: int, seed: int = 0) -> None:
    random = Random(seed)
    for _ in range(rounds):
        survival.begin()
        labels: list[float] = []
        for place in range(4):
            survival.drawn(survival.look(place, point(0), 0))
            labels.append(float(random.random() < alpha))
            if not labels[-1]:
                break
        survival.learn(tuple(labels))


def test_it_starts_even() -> None:
    survival = Survival()
    assert survival.chances == [0.5] * 4
    survival.learn((1.0,))
    assert survival.mean == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.7, 0.95, 1.0])
def test_it_finds_the_acceptance_rate(alpha: float) -> None:
    survival = Survival()
    teach(survival, alpha, 150)
    assert survival.mean == pytest.approx(alpha, abs=0.06)


@pytest.mark.parametrize(("before", "after"), [(0.95, 0.1), (0.1, 0.95)])
def test_a_change_of_kind_is_followed_within_a_few_passes(before: float, after: float) -> None:
    survival = Survival()
    teach(survival, before, 100)
    teach(survival, after, 6, seed=1)
    assert abs(survival.mean - after) < 0.25
    assert survival.changes >= 1


@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.8, 0.9])
def test_luck_is_not_taken_for_a_change(alpha: float) -> None:
    survival = Survival()
    teach(survival, alpha, 1000)
    assert survival.changes <= 4


@pytest.mark.parametrize("alpha", [0.1, 0.95])
def test_a_new_answer_may_be_another_kind_of_text(alpha: float) -> None:
    """What an edit has shown of copies is little reason to draft sixteen in a story."""
    survival = Survival()
    teach(survival, alpha, 60)
    before = survival.mean
    survival.renew()
    assert abs(survival.mean - 0.5) < abs(before - 0.5)
    assert (survival.mean > 0.5) is (alpha > 0.5)
    teach(survival, 1 - alpha, 12, seed=1)
    assert survival.mean == pytest.approx(1 - alpha, abs=0.25)


def test_answers_in_which_nothing_was_judged_change_nothing() -> None:
    survival = Survival()
    teach(survival, 0.1, 60)
    survival.renew()
    once = survival.mean, list(survival.chances)
    for _ in range(20):
        survival.renew()
    assert (survival.mean, survival.chances) == once
    assert survival.habit.count > 50


def test_a_sure_law_is_worth_more_than_a_flat_one_where_that_holds() -> None:
    survival, random = Survival(), Random(0)
    for _ in range(300):
        top = random.choice([0.55, 0.95])
        survival.begin()
        survival.look(0, law(top), 0)
        survival.learn((float(random.random() < (0.9 if top > 0.9 else 0.3)),))
    survival.begin()
    assert survival.look(0, law(0.95), 0) == pytest.approx(0.9, abs=0.1)
    assert survival.look(0, law(0.55), 0) == pytest.approx(0.3, abs=0.1)


def test_a_long_match_is_worth_more_than_a_short_one_where_that_holds() -> None:
    survival, random = Survival(), Random(0)
    for _ in range(300):
        match = random.choice([3, 30])
        survival.begin()
        survival.look(0, point(0), match)
        survival.learn((float(random.random() < (0.95 if match == 30 else 0.3)),))
    survival.begin()
    assert survival.look(0, point(0), 30) > 0.8
    assert survival.look(0, point(0), 3) < 0.5


def test_a_law_that_says_nothing_changes_nothing() -> None:
    survival, random = Survival(), Random(0)
    for _ in range(400):
        survival.begin()
        survival.look(0, law(random.choice([0.55, 0.95])), 0)
        survival.learn((float(random.random() < 0.6),))
    survival.begin()
    chances = [survival.look(0, law(top), 0) for top in (0.55, 0.95)]
    assert chances == pytest.approx([survival.chances[0]] * 2, abs=0.12)


def test_the_margin_of_a_greedy_law_is_worth_what_it_turns_out_to_be() -> None:
    survival, random = Survival(), Random(0)
    for _ in range(300):
        margin = random.choice([0.5, 6.0])
        survival.begin()
        survival.look(0, point(0, margin), 0)
        survival.learn((float(random.random() < (0.95 if margin > 5 else 0.4)),))
    survival.begin()
    assert survival.look(0, point(0, 6.0), 0) > 0.85
    assert survival.look(0, point(0, 0.5), 0) < 0.55
    low, high = sorted(survival.outlooks(0))
    assert low < 0.6
    assert high > 0.8
