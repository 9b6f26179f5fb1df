"""The papers' formulas, and the same with a measured cost of verifying.

Knows numbers only. Symbols: alpha, gamma, c, v(n), tau and S as in the package's glossary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_GAMMA = 16

VerifyCost = Callable[[int], float]
"""Give the cost of a pass over n rows, in one-row passes."""


def tokens_per_pass(alpha: float, gamma: int) -> float:
    """Give the expected tokens a target pass writes: (1 - alpha^(gamma+1)) / (1 - alpha).

    Source: Leviathan et al. 2022, equation 1.
    """
    return gamma + 1.0 if alpha >= 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)


def expected_tokens(survival: Sequence[float]) -> float:
    """Give the expected tokens of a pass from the chance that each drafted place survives."""
    return 1.0 + sum(survival)


def free_verification(rows: int) -> float:
    """Take a pass over any number of rows to cost as much as one, as the papers do."""
    del rows
    return 1.0


def interpolated(costs: Sequence[float]) -> VerifyCost:
    """Make v(n) from v(1), v(2), ...; beyond the last, its slope goes on.

    Where the last step went down, the average slope goes on instead: costs of 1, 1.6, 2.4, 1.6 are
    a staircase, and a pass over ever more rows does not become free.

    Raises: ValueError for an empty list.
    """
    if not costs:
        raise ValueError("no verify costs given")
    known = list(costs)
    steps = len(known) - 1
    average = (known[-1] - known[0]) / steps if steps else 0.0
    last = known[-1] - known[-2] if steps else 0.0
    slope = last if last >= 0 else max(average, 0.0)

    def cost(rows: int) -> float:
        if rows <= len(known):
            return known[rows - 1]
        return known[-1] + slope * (rows - len(known))

    return cost


def speedup(
    alpha: float, gamma: int, cost_ratio: float, *, verify: VerifyCost = free_verification
) -> float:
    """Give tokens per pass over the cost of a round, in one-row passes.

    Source: Leviathan et al. 2022, theorem 3.8, where verify is 1 for any number of rows.
    """
    return tokens_per_pass(alpha, gamma) / (gamma * cost_ratio + verify(gamma + 1) / verify(1))


@dataclass(frozen=True)
class CurvePoint:
    """What a fixed gamma is expected to give."""

    gamma: int
    tokens_per_pass: float
    speedup: float


def curve(
    alpha: float,
    cost_ratio: float,
    *,
    verify: VerifyCost = free_verification,
    max_gamma: int = MAX_GAMMA,
) -> tuple[CurvePoint, ...]:
    """Give the expectation for every gamma from 0 (plain decoding) on."""
    return tuple(
        CurvePoint(
            gamma,
            tokens_per_pass(alpha, gamma),
            speedup(alpha, gamma, cost_ratio, verify=verify) if gamma else 1.0,
        )
        for gamma in range(max_gamma + 1)
    )


def best(points: Sequence[CurvePoint]) -> CurvePoint:
    """Give the fastest point; the smallest gamma among equals."""
    return max(points, key=lambda point: (point.speedup, -point.gamma))


def break_even_alpha(
    cost_ratio: float, *, verify: VerifyCost = free_verification, max_gamma: int = MAX_GAMMA
) -> float | None:
    """Give the smallest alpha at which some gamma pays; None if even alpha 1 does not."""

    def pays(alpha: float) -> bool:
        return best(curve(alpha, cost_ratio, verify=verify, max_gamma=max_gamma)).gamma > 0

    if not pays(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high
