"""Costs learned from seconds: noise, spikes, slow machines, wrong calibrations."""

from math import exp
from random import Random

import pytest

from localspec.core.cost_curve import CostPoint, CostSeed, filled
from localspec.core.costs import CostModel
from tests.core.policy.policy_worlds import QWEN_PURE, STEEP


def seed_of(curve, scale: float = 1.0) -> CostSeed:
    points = [CostPoint(n, c, curve[n - 1] * 0.02 * scale) for n in range(1, 17) for c in (0, 1000)]
    return CostSeed(tuple(points))


def feed(costs: CostModel, curve, rows, *, slow: float = 1.0, noise: float = 0.0) -> None:
    random = Random(5)
    for n in rows:
        spike = 4.0 if noise and random.random() < 0.02 else 1.0
        seconds = 0.02 * slow * curve[n - 1] * exp(random.gauss(0, noise)) * spike
        costs.saw_pass(n, 100, seconds)


def test_the_median_holds_against_noise_and_spikes() -> None:
    costs = CostModel()
    feed(costs, QWEN_PURE, [1, 4, 2, 4] * 60, noise=0.15)
    assert costs.table(100)[3] == pytest.approx(1.58, rel=0.08)
    assert costs.one_row_s(100) == pytest.approx(0.02, rel=0.08)


def test_a_single_spike_moves_a_known_cost_by_less_than_a_tenth() -> None:
    costs = CostModel()
    feed(costs, QWEN_PURE, [1, 4] * 20)
    costs.saw_pass(4, 100, 10 * 0.02 * 1.58)
    assert costs.table(100)[3] == pytest.approx(1.58, rel=0.1)


def test_a_machine_that_becomes_slow_keeps_its_curve() -> None:
    costs = CostModel(seed_of(QWEN_PURE))
    feed(costs, QWEN_PURE, [4, 4, 4, 1] * 10)
    feed(costs, QWEN_PURE, [4, 4, 4, 1] * 10, slow=2.4)
    assert costs.one_row_s(100) == pytest.approx(0.048, rel=0.1)
    assert costs.table(100)[1] == pytest.approx(1.65, rel=0.1)
    assert costs.table(100)[3] == pytest.approx(1.58, rel=0.1)


@pytest.mark.parametrize("scale", [0.3, 0.6, 1.5, 2.0])
def test_a_wrong_calibration_of_one_cost_is_unlearned_in_fifty_passes(scale: float) -> None:
    wrong = tuple(
        CostPoint(n, 0, 0.02 * QWEN_PURE[n - 1] * (scale if n == 4 else 1)) for n in range(1, 9)
    )
    costs = CostModel(CostSeed(wrong))
    feed(costs, QWEN_PURE, [4, 4, 4, 2, 1] * 10, noise=0.1)
    assert costs.table(0)[3] == pytest.approx(1.58, rel=0.12)


def test_costs_grow_with_context_as_calibrated() -> None:
    points = [CostPoint(n, c, 0.02 * n * (1 + c / 1000)) for n in (1, 2) for c in (0, 1000)]
    costs = CostModel(CostSeed(tuple(points)))
    assert costs.one_row_s(500) == pytest.approx(0.03)


def test_rows_never_measured_lie_between_their_neighbours() -> None:
    assert filled({1: 1.0, 5: 3.0}, 5) == [1.0, 1.5, 2.0, 2.5, 3.0]


def test_beyond_the_last_measured_rows_a_flat_curve_stays_flat_and_a_steep_one_steep() -> None:
    assert filled({1: 1.0, 4: 1.01}, 16)[-1] < 1.1
    assert filled({1: 1.0, 4: STEEP[3]}, 16)[-1] > 6


def test_rows_in_tiles_of_four_are_the_most_doubtful_before_they_were_seen() -> None:
    costs = CostModel()
    feed(costs, QWEN_PURE, [1, 2] * 5)
    doubts = costs.doubts()
    assert doubts[3] > doubts[2] > doubts[1]
    assert doubts[3] > doubts[4]


def test_what_was_learned_makes_the_next_calibration() -> None:
    costs = CostModel()
    feed(costs, QWEN_PURE, [1, 2, 3, 4] * 10)
    costs.saw_draft("model", 3, 0.03)
    again = CostModel(costs.seed(100))
    assert again.table(100)[:4] == pytest.approx(costs.table(100)[:4])
    assert again.draft_ratio("model") == pytest.approx(costs.draft_ratio("model"))


def test_a_long_lag_teaches_what_reading_costs_and_not_what_a_pass_costs() -> None:
    costs = CostModel()
    feed(costs, QWEN_PURE, [1] * 10)
    for _ in range(10):
        costs.saw_draft("model", 3, 0.03)
    for _ in range(20):
        costs.saw_draft("model", 3, 0.03 + 100 * 0.001, lag=100)
    assert costs.draft_ratio("model") == pytest.approx(0.5, rel=0.1)
    assert costs.catch_up_ratio("model") == pytest.approx(0.05, rel=0.2)


def test_seconds_of_zero_teach_nothing() -> None:
    costs = CostModel()
    costs.saw_pass(1, 0, 0.0)
    costs.saw_draft("model", 1, 0.0)
    costs.saw_call("lookup", 0.0)
    assert costs.one_row_s(0) is None


def test_no_pass_is_taken_to_be_cheaper_than_that_of_one_row() -> None:
    """A busy machine was calibrated: one row .73 s, four rows .29 s."""
    seen = {1: 0.73, 2: 1.0, 3: 1.14, 4: 0.29, 5: 0.43, 8: 1.04}
    costs = CostModel(CostSeed(tuple(CostPoint(n, 32, s) for n, s in seen.items())))
    assert min(costs.table(32)) >= 1.0
    assert all(cost <= rows for rows, cost in enumerate(costs.table(32), 1))
    feed(costs, QWEN_PURE, [1, 4, 4, 4, 2] * 6, slow=6.0, noise=0.1)
    assert costs.table(100)[3] == pytest.approx(1.58, rel=0.15)
    assert costs.table(100)[1] == pytest.approx(1.65, rel=0.2)
