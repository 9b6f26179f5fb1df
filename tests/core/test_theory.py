"""The papers' formulas against numbers worked out by hand."""

import pytest

from localspec.core.theory import (
    best,
    break_even_alpha,
    curve,
    expected_tokens,
    interpolated,
    speedup,
    tokens_per_pass,
)

STAIRCASE = interpolated([1.0, 1.65, 2.37, 1.58, 2.33, 3.03])


@pytest.mark.parametrize(("gamma", "expected"), [(2, 1.8), (4, 2.0), (12, 1.5)])
def test_the_articles_speedups_are_met(gamma: int, expected: float) -> None:
    assert round(speedup(0.7, gamma, 0.1), 1) == expected


def test_the_articles_best_gamma_is_four() -> None:
    assert best(curve(0.7, 0.1)).gamma == 4


def test_the_articles_losing_example_is_met() -> None:
    assert round(speedup(0.3, 4, 0.5), 2) == 0.48
    assert round(tokens_per_pass(0.3, 4), 2) == 1.43
    assert best(curve(0.3, 0.5)).gamma == 0


@pytest.mark.parametrize("gamma", range(6))
def test_tokens_per_pass_is_the_sum_of_the_survivals(gamma: int) -> None:
    for alpha in (0.0, 0.3, 0.8, 1.0):
        survival = [alpha**place for place in range(1, gamma + 1)]
        assert tokens_per_pass(alpha, gamma) == pytest.approx(expected_tokens(survival))


def test_a_measured_cost_is_looked_up_and_goes_on_by_its_last_slope() -> None:
    assert [STAIRCASE(rows) for rows in (1, 4, 6)] == [1.0, 1.58, 3.03]
    assert STAIRCASE(8) == pytest.approx(3.03 + 2 * 0.7)
    assert interpolated([2.0])(5) == 2.0


@pytest.mark.parametrize("costs", [[1.0, 1.6, 2.4, 1.6], [1.0, 0.9, 0.8], [1.0, 2.0, 1.0]])
def test_a_staircase_that_ends_with_a_step_down_never_makes_passes_free(costs) -> None:
    cost = interpolated(costs)
    assert [cost(rows) for rows in (1, 2, 3)] == costs[:3]
    beyond = [cost(rows) for rows in range(len(costs), 20)]
    assert beyond == sorted(beyond)
    assert all(point.speedup > 0 for point in curve(0.7, 0.1, verify=cost))


def test_a_cost_curve_without_costs_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="no verify costs"):
        interpolated([])


def test_a_staircase_moves_the_best_gamma_to_its_step() -> None:
    assert best(curve(0.8, 0.1, verify=STAIRCASE)).gamma == 3
    assert speedup(0.8, 3, 0.1, verify=STAIRCASE) == pytest.approx(2.952 / (0.3 + 1.58))


def test_costs_need_not_be_given_in_one_row_passes() -> None:
    doubled = interpolated([2.0, 3.3, 4.74, 3.16])
    assert speedup(0.8, 3, 0.1, verify=doubled) == pytest.approx(
        speedup(0.8, 3, 0.1, verify=STAIRCASE)
    )


@pytest.mark.parametrize("cost_ratio", [0.05, 0.3, 0.9])
def test_with_free_verification_a_draft_pays_iff_alpha_exceeds_c(cost_ratio: float) -> None:
    assert break_even_alpha(cost_ratio) == pytest.approx(cost_ratio, abs=1e-6)


def test_break_even_at_gamma_one_is_c_plus_the_cost_of_the_second_row() -> None:
    costs = interpolated([1.0, 1.4])
    assert break_even_alpha(0.2, verify=costs, max_gamma=1) == pytest.approx(0.2 + 1.4 - 1)


def test_a_draft_that_can_never_pay_has_no_break_even() -> None:
    assert break_even_alpha(0.9, verify=interpolated([1.0, 2.0])) is None


def test_the_curve_starts_at_plain_decoding() -> None:
    first, *rest = curve(0.5, 0.1, max_gamma=3)
    assert (first.gamma, first.tokens_per_pass, first.speedup) == (0, 1.0, 1.0)
    assert [point.gamma for point in rest] == [1, 2, 3]
