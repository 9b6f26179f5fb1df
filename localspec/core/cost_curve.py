"""Points of a cost curve, and what lies between and beyond them.

Knows numbers only. Does not know how they were measured or what becomes of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

TILE = 4
TILE_SAVES = 0.75


@dataclass(frozen=True)
class CostPoint:
    """One measured pass: `seconds` for `rows` rows at `context` tokens of history."""

    rows: int
    context: int
    seconds: float


@dataclass(frozen=True)
class CostSeed:
    """A calibration. Units: seconds; `drafts` gives those of one drafted token by drafter."""

    passes: tuple[CostPoint, ...] = ()
    drafts: Mapping[str, float] = field(default_factory=dict)


NO_SEED = CostSeed()


def guessed_cost(rows: int) -> float:
    """Guess v(n) before anything was measured: between a processor's and a GPU's curve.

    Kernels take rows in tiles of four, so a multiple of four is guessed to be the cheaper.
    """
    smooth = 0.4 * (rows - 1) ** 0.8
    return float(1.0 + (TILE_SAVES * smooth if rows % TILE == 0 else smooth))


def filled(known: Mapping[int, float], max_rows: int) -> list[float]:
    """Make v(1), v(2), ... from some of them: straight between two, the guess's slope beyond."""
    points = sorted(known.items())
    costs: list[float] = []
    at = 0
    for rows in range(1, max_rows + 1):
        while at + 1 < len(points) and points[at + 1][0] <= rows:
            at += 1
        left, cost = points[at]
        if left == rows or rows < left:
            costs.append(cost)
        elif at + 1 < len(points):
            right, after = points[at + 1]
            costs.append(cost + (after - cost) * (rows - left) / (right - left))
        else:
            costs.append(_beyond(left, cost, rows))
    return costs


def _beyond(last: int, cost: float, rows: int) -> float:
    """Go on from the last known v with the guessed slope, scaled by how steep it was so far."""
    guess = guessed_cost(last) - 1.0
    steepness = min(max((cost - 1.0) / guess, 0.0), 3.0) if last > 1 else 1.0
    return cost + steepness * (guessed_cost(rows) - guessed_cost(last))


def fitted(points: Sequence[CostPoint]) -> tuple[float, float | None]:
    """Fit seconds = base * (1 + slope * context); no slope from a single context."""
    by_context: dict[int, list[float]] = {}
    for point in points:
        by_context.setdefault(point.context, []).append(point.seconds)
    (near, near_s), *rest = sorted((c, median(s)) for c, s in by_context.items())
    if not rest:
        return near_s, None
    far, far_s = rest[-1]
    rise = max((far_s - near_s) / (far - near), 0.0)
    base = max(near_s - rise * near, 0.2 * near_s)
    return base, rise / base


class Growth:
    """How passes grow with the context: by 1 + slope * context, a slope for each count of rows.

    Counts of rows without a slope of their own go by the middle one.
    """

    def __init__(self, slopes: Mapping[int, float] | None = None) -> None:
        self._slopes = slopes or {}
        self._shared = median(self._slopes.values()) if self._slopes else 0.0
        self._last: tuple[int, int, list[float]] = (-1, 0, [])

    def __bool__(self) -> bool:
        return bool(self._slopes)

    def slope(self, rows: int) -> float:
        """Give the growth of a pass over `rows` rows with each token of context."""
        return self._slopes.get(rows, self._shared)

    def of(self, rows: int, context: int) -> float:
        """Give how much longer a pass takes at a context than without one."""
        return 1.0 + self.slope(rows) * context

    def over_one_row(self, context: int, max_rows: int) -> list[float]:
        """Give how much more than one row each count of rows, from one on, has grown.

        Borrowed: do not change. What was asked for last is kept.
        """
        if self._last[:2] != (context, max_rows):
            one = self.of(1, context)
            grown = [self.of(rows, context) / one for rows in range(1, max_rows + 1)]
            self._last = (context, max_rows, grown)
        return self._last[2]
