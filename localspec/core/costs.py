"""What a target pass over n rows and a drafted token cost, learned while decoding.

Every cost is kept as a logarithm: the machine's speed, common to all, plus a level of its own. A
busy machine moves the first, a wrong calibration the second. Knows seconds that others measured;
has no clock, and knows nothing of acceptance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log, sqrt
from statistics import median

from localspec.core.theory import MAX_GAMMA

SPEED_DRIFT = 2e-4
LEVEL_DRIFT = 2e-5
SEED_VARIANCE = 0.12**2
FIRST_NOISE = 0.1**2
FIRST_VARIANCE = 0.3**2
TILE = 4
BELIEVED = 3
NOISE_BOUNDS = (0.03**2, 0.4**2)
GUESSED_RATIO = 0.3
CATCH_UP_RATIO = 0.2
SHORT_LAG = 4


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


@dataclass
class _Level:
    """The logarithm of one cost at the machine's usual speed, with its variance."""

    value: float
    variance: float
    seen: bool = False
    visited: int = 0
    surprises: int = 0


def guessed_cost(rows: int) -> float:
    """Guess v(n) before anything was measured: between a processor's and a GPU's curve."""
    return float(1.0 + 0.4 * (rows - 1) ** 0.8)


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


class CostModel:
    """Costs in units of a one-row pass at the same context, and that pass in seconds.

    A scalar Kalman filter per cost with a bounded innovation: a spike moves little, the second
    surprise of the same sign a lot.
    """

    def __init__(self, seed: CostSeed = NO_SEED, *, max_rows: int = MAX_GAMMA + 1) -> None:
        self.max_rows = max_rows
        self.passes = 0
        self._speed = _Level(0.0, 0.2**2, seen=bool(seed.passes))
        self._rows: dict[int, _Level] = {}
        self._slopes: dict[int, float] = {}
        self._slope = 0.0
        self._drafts: dict[str, _Level] = {}
        self._catch_up: dict[str, _Level] = {}
        self._noise = FIRST_NOISE
        self._surprises = 0
        self._table: list[float] | None = None
        self._doubts: list[float] | None = None
        self._plant(seed)

    def _plant(self, seed: CostSeed) -> None:
        """Take a calibration in: a level and a slope with context for every count of rows."""
        by_rows: dict[int, list[CostPoint]] = {}
        for point in seed.passes:
            by_rows.setdefault(point.rows, []).append(point)
        fits = {rows: _fit(points) for rows, points in by_rows.items() if rows <= self.max_rows}
        self._slopes = {rows: slope for rows, (_, slope) in fits.items() if slope is not None}
        self._slope = median(self._slopes.values()) if self._slopes else 0.0
        for rows, (base, _) in fits.items():
            self._rows[rows] = _Level(log(base), SEED_VARIANCE, seen=True)
        for name, seconds in seed.drafts.items():
            self._drafts[name] = _Level(log(max(seconds, 1e-7)), SEED_VARIANCE, seen=True)

    def knows(self, rows: int) -> bool:
        """Say whether a pass over `rows` rows was ever measured."""
        return rows in self._rows

    def table(self, context: int) -> list[float]:
        """Give v(1), v(2), ... at this context; index 0 is one row. Borrowed: do not change."""
        if self._table is None:
            levels = self._rows
            base = levels[1].value if 1 in levels else self._missing_base()
            known = {rows: exp(level.value - base) for rows, level in levels.items()}
            self._table = filled({**known, 1: 1.0}, self.max_rows)
        if not self._slopes:
            return self._table
        slopes, shared = self._slopes, self._slope
        one = 1.0 + slopes.get(1, shared) * context
        return [
            cost * (1.0 + slopes.get(rows, shared) * context) / one
            for rows, cost in enumerate(self._table, 1)
        ]

    def doubts(self) -> list[float]:
        """Give the relative uncertainty of v(1), v(2), ...

        That of rows never seen is a guess; kernels take rows in tiles of four, so a multiple of
        four may be cheaper than its neighbours tell.
        """
        if self._doubts is None or self.passes % 8 == 0:
            seen = sorted(self._rows) or [1]
            self._doubts = [self._doubt(rows, seen) for rows in range(1, self.max_rows + 1)]
        return self._doubts

    def _doubt(self, rows: int, seen: Sequence[int]) -> float:
        level = self._rows.get(rows)
        if level is None:
            doubt = 0.15 + 0.08 * min(abs(rows - other) for other in seen)
            return min(1.5 * doubt if rows % TILE == 0 else doubt, 0.45)
        return sqrt(level.variance + LEVEL_DRIFT * (self.passes - level.visited))

    def one_row_s(self, context: int) -> float | None:
        """Give T(1) at this context in seconds; None before any pass was measured."""
        if not self._speed.seen:
            return None
        base = self._rows[1].value if 1 in self._rows else self._missing_base()
        return exp(self._speed.value + base) * (1.0 + self._slopes.get(1, self._slope) * context)

    def draft_ratio(self, name: str) -> float:
        """Give the seconds of one draft pass (or call) in one-row passes."""
        level = self._drafts.get(name)
        if level is None:
            return GUESSED_RATIO
        base = self._rows[1].value if 1 in self._rows else self._missing_base()
        return exp(level.value - base)

    def catch_up_ratio(self, name: str) -> float:
        """Give the cost of each id the drafter still has to read, in one-row passes."""
        level = self._catch_up.get(name)
        if level is None:
            return CATCH_UP_RATIO * self.draft_ratio(name)
        base = self._rows[1].value if 1 in self._rows else self._missing_base()
        return exp(level.value - base)

    def saw_pass(self, rows: int, context: int, seconds: float) -> None:
        """Learn from one target pass."""
        if seconds <= 0 or rows > self.max_rows:
            return
        self.passes += 1
        slope = 1.0 + self._slopes.get(rows, self._slope) * context
        value = log(seconds / slope)
        if not self._speed.seen:
            self._speed.seen = True
            self._rows[rows] = _Level(value, FIRST_VARIANCE, seen=True)
        elif rows not in self._rows:
            self._rows[rows] = _Level(value - self._speed.value, 2 * self._noise, seen=True)
            self._rows[rows].visited = self.passes
            self._doubts = None
        else:
            self._learn(self._rows[rows], value)
        self._table = None

    def saw_draft(self, name: str, passes: int, seconds: float, *, lag: int = 0) -> None:
        """Learn from `passes` draft passes in `seconds`, `lag` ids of history to read first.

        A long lag teaches what reading costs, a short one what a pass costs.
        """
        if seconds <= 0 or not self._speed.seen or passes <= 0:
            return
        one = self.one_row_s(0) or seconds
        if lag > SHORT_LAG and name in self._drafts:
            left = seconds - passes * self.draft_ratio(name) * one
            self._note(self._catch_up, name, max(left / lag, 1e-7))
            return
        reading = max(lag - 1, 0) * self.catch_up_ratio(name) * one if lag > SHORT_LAG else 0.0
        self._note(self._drafts, name, max(seconds - reading, seconds / 4) / passes)

    def _note(self, levels: dict[str, _Level], name: str, seconds: float) -> None:
        value = log(max(seconds, 1e-7))
        if name in levels:
            self._learn(levels[name], value)
            return
        levels[name] = _Level(value - self._speed.value, 2 * self._noise, seen=True)
        levels[name].visited = self.passes

    def _learn(self, level: _Level, value: float) -> None:
        """Share a surprise between the machine's speed and this cost, by how unsure each is."""
        speed = self._speed
        speed.variance += SPEED_DRIFT
        level.variance += LEVEL_DRIFT * (self.passes - level.visited)
        level.visited = self.passes
        innovation = value - speed.value - level.value
        innovation = self._bounded(level, innovation)
        spread = speed.variance + level.variance + self._noise
        speed_gain, level_gain = speed.variance / spread, level.variance / spread
        speed.value += speed_gain * innovation
        level.value += level_gain * innovation
        surplus = innovation * innovation - speed.variance - level.variance
        low, high = NOISE_BOUNDS
        self._noise = min(max(self._noise + 0.05 * (surplus - self._noise), low), high)
        speed.variance *= 1.0 - speed_gain
        level.variance *= 1.0 - level_gain

    def _bounded(self, level: _Level, innovation: float) -> float:
        """Bound a surprise to two deviations; believe the third one in a row of the same sign.

        Three of this cost: it changed. Three of any: the machine's speed did.
        """
        bound = 2.0 * sqrt(self._speed.variance + level.variance + self._noise)
        if abs(innovation) <= bound:
            level.surprises = self._surprises = 0
            return innovation
        sign = 1 if innovation > 0 else -1
        level.surprises = _streak(level.surprises, sign)
        self._surprises = _streak(self._surprises, sign)
        doubled = innovation * innovation
        if abs(level.surprises) >= BELIEVED:
            level.variance += 0.5 * doubled
        if abs(self._surprises) >= BELIEVED:
            self._speed.variance += 0.5 * doubled
        sure = BELIEVED in (abs(level.surprises), abs(self._surprises))
        return innovation if sure else sign * bound

    def _missing_base(self) -> float:
        """Give the level of one row when only others were seen, from the guessed curve."""
        if not self._rows:
            return 0.0
        rows, level = min(self._rows.items())
        return level.value - log(guessed_cost(rows))

    def seed(self, context: int) -> CostSeed:
        """Give what is known now as a calibration for the next time."""
        speed = self._speed.value
        passes = []
        for rows, level in sorted(self._rows.items()):
            slope = self._slopes.get(rows, self._slope)
            for at in {0, context} if slope else {context}:
                passes.append(CostPoint(rows, at, exp(speed + level.value) * (1.0 + slope * at)))
        drafts = {name: exp(speed + level.value) for name, level in self._drafts.items()}
        return CostSeed(tuple(passes), drafts)


def _streak(streak: int, sign: int) -> int:
    """Count surprises of one sign in a row; the sign of the count is theirs."""
    return min(max(streak, 0) + 1, BELIEVED) if sign > 0 else max(min(streak, 0) - 1, -BELIEVED)


def _fit(points: Sequence[CostPoint]) -> tuple[float, float | None]:
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
