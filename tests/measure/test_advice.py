"""What a bench advises: only what would make the arm faster than it is."""

from itertools import repeat

from localspec.core.events import Origin, Step
from localspec.measure.advice import account_of, helps
from localspec.measure.costs import CostPoint, Costs

PLAIN_S = 1.0


def _advice(two_rows_s: float) -> list[str]:
    costs = Costs(tuple(CostPoint(n, 0, 1 + (two_rows_s - 1) * (n - 1), 0.0) for n in (1, 2, 16)))
    step = Step(
        (1, 2), (Origin.DRAFT, Origin.TARGET), 5, "lookup", drafted=1, judged=1, accepted=1,
        verify_s=two_rows_s,
    )  # fmt: skip
    plain = Step((1,), (Origin.TARGET,), 5, verify_s=PLAIN_S)
    account = account_of(list(repeat(step, 8)), list(repeat(plain, 8)), costs)
    return list(helps(account, (), costs))


def test_a_layout_with_cheaper_rows_is_advised_where_rows_are_dear() -> None:
    assert any("another quantisation" in line for line in _advice(1.9))


def test_no_layout_is_advised_whose_rows_would_cost_as_much_as_now() -> None:
    assert not any("another quantisation" in line for line in _advice(1.4))
