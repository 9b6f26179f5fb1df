"""The best length and the stop rule, against brute force on jagged curves."""

import pytest

from localspec.core.stopping import NOTHING, DraftCost, StopRule, best_length, of_length
from tests.core.policy.policy_worlds import GPU, QWEN_OFFICIAL, QWEN_PURE, SMOL_PURE, STEEP

CURVES = pytest.mark.parametrize("curve", [GPU, QWEN_OFFICIAL, QWEN_PURE, SMOL_PURE, STEEP])
ALPHAS = pytest.mark.parametrize("alpha", [0.0, 0.3, 0.6, 0.8, 0.95, 1.0])


@CURVES
@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("token", [0.0, 0.1, 0.5])
def test_the_best_length_is_that_of_a_search(curve, alpha: float, token: float) -> None:
    draft = DraftCost(call=0.01, token=token)
    found = best_length((alpha,), curve, draft, 15)
    best = max(of_length(g, (alpha,), curve, draft).rate for g in range(1, 16))
    assert found.rate == pytest.approx(best, rel=1e-3)


@CURVES
@ALPHAS
def test_at_its_own_price_the_stop_rule_drafts_the_best_length(curve, alpha: float) -> None:
    """With free drafts and even text the rule and the best fixed length are the same."""
    best = best_length((alpha,), curve, DraftCost(), 15)
    price = max(best.rate, 1.0)
    rule = StopRule(curve, price * (1 - 1e-9), 0.0, 15)
    alive, drafted = 1.0, 0
    while drafted < 15 and rule.worth(drafted, alive * alpha, alpha, otherwise=1 - price):
        alive *= alpha
        drafted += 1
    expected = of_length(drafted, (alpha,), curve, DraftCost()) if drafted else NOTHING
    assert expected.rate == pytest.approx(price, rel=1e-6)


def test_it_looks_over_the_step_of_a_staircase() -> None:
    """Three rows cost more than four: the second token is worth drawing only with the third."""
    rule = StopRule(QWEN_PURE, 1.5, 0.0, 15)
    short = StopRule(QWEN_PURE, 1.5, 0.0, 2)
    assert rule.worth(1, 0.8, 0.9, otherwise=-0.5)
    assert not short.worth(1, 0.8, 0.9, otherwise=-0.5)


def test_nothing_is_drafted_past_the_cap() -> None:
    rule = StopRule(GPU, 1.0, 0.0, 4)
    assert not rule.worth(4, 1.0, 1.0, otherwise=0.0)


def test_a_better_drafter_in_turn_raises_what_the_first_must_promise() -> None:
    rule = StopRule(GPU, 2.0, 0.0, 15)
    assert rule.worth(0, 0.5, 0.3, otherwise=-1.0)
    assert not rule.worth(0, 0.5, 0.3, otherwise=1.0)


@CURVES
@ALPHAS
def test_the_surplus_is_above_nothing_exactly_where_going_on_is_worth_it(
    curve, alpha: float
) -> None:
    rule = StopRule(curve, 1.3, 0.05, 15)
    for index in range(1, 14):
        surplus = rule.surplus(index, alpha**index, alpha, enough=9.0)
        assert (surplus > 0) == rule.worth(index, alpha**index, alpha, otherwise=0.0)
