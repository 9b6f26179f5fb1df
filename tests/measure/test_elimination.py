"""Backward elimination: the cheapest part goes first, swaps repair what greed spoilt."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from localspec.measure.elimination import Rules, eliminate, swapped

SIZES = dict.fromkeys("abcdef", 10)


class Additive:
    """What is left when each part costs a fixed share, and some pairs cost more together."""

    def __init__(self, costs: dict[str, float], together: dict[str, float] | None = None) -> None:
        self.costs, self.together, self.asked = costs, together or {}, 0

    def __call__(self, parts: frozenset[str]) -> float:
        self.asked += 1
        extra = sum(cost for pair, cost in self.together.items() if set(pair) <= parts)
        return 1 - sum(self.costs[part] for part in parts) - extra


def test_parts_go_in_the_order_of_what_a_byte_of_them_costs() -> None:
    score = Additive(dict(zip("abcdef", (0.2, 0.01, 0.3, 0.05, 0.1, 0.15), strict=True)))
    sizes = SIZES | {"a": 100}
    cuts = eliminate(Rules(sizes, score, floor=0.0))
    order = [min(after - before) for before, after in itertools.pairwise(
        [frozenset(), *(cut.parts for cut in cuts)])]  # fmt: skip
    assert order == list("badefc")
    assert [cut.saved_bytes for cut in cuts] == [10, 110, 120, 130, 140, 150]


def test_most_steps_take_few_scores() -> None:
    score = Additive(dict(zip("abcdef", np.arange(1, 7) / 100, strict=True)))
    eliminate(Rules(SIZES, score, floor=0.0))
    assert score.asked <= 6 + 6  # once each alone, once each when it goes


def test_the_search_ends_at_the_floor_and_when_there_is_no_time() -> None:
    score = Additive(dict.fromkeys("abcdef", 0.2))
    cuts = eliminate(Rules(SIZES, score, floor=0.5))
    assert [round(cut.score, 1) for cut in cuts] == [0.8, 0.6]
    assert eliminate(Rules(SIZES, score, enough=lambda: True)) == []


def test_out_of_time_midway_keeps_the_steps_before() -> None:
    score = Additive(dict.fromkeys("abcdef", 0.1))
    cuts = eliminate(Rules(SIZES, score, floor=0.0, enough=lambda: score.asked >= 8))
    assert len(cuts) == 2


def test_a_swap_repairs_what_greed_spoilt() -> None:
    """`a` is the cheapest alone, and the dearest beside the others."""
    costs = dict(zip("abcdef", (0.01, 0.02, 0.03, 0.3, 0.3, 0.3), strict=True))
    score = Additive(costs, {"ab": 0.2, "ac": 0.2})
    rules = Rules(SIZES, score, floor=0.0)
    greedy = rules.cut(frozenset("ab"))
    better = swapped(rules, greedy)
    assert better.parts == frozenset("bc")
    assert better.score == pytest.approx(0.95)


def test_a_swap_never_saves_less() -> None:
    score = Additive({"a": 0.5, "b": 0.1})
    rules = Rules({"a": 10, "b": 9}, score)
    assert swapped(rules, rules.cut(frozenset("a"))).parts == frozenset("a")


@given(some.lists(some.floats(0.001, 0.15), min_size=6, max_size=6), some.integers(1, 6))
def test_with_independent_costs_of_equal_parts_greed_is_the_best_there_is(
    values: list[float], count: int
) -> None:
    costs = dict(zip("abcdef", values, strict=True))
    cuts = eliminate(Rules(SIZES, Additive(costs), floor=-1.0))
    best = 1 - sum(sorted(values)[:count])
    assert cuts[count - 1].score == pytest.approx(best)
