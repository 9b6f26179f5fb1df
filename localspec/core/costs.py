"""What a target pass over n rows and a drafted token cost, learned while decoding.

Every cost is kept as a logarithm: the machine's speed, common to all, plus a level of its own. A
busy machine moves the first, a wrong calibration the second. Knows seconds that others measured;
has no clock, and knows nothing of acceptance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from localspec.core.cost_curve import (
    NO_SEED,
    TILE,
    CostPoint,
    CostSeed,
    Growth,
    filled,
    fitted,
    guessed_cost,
)
from localspec.core.theory import MAX_GAMMA

SPEED_DRIFT = 4e-6
LEVEL_DRIFT = 2e-5
SEED_VARIANCE = 0.12**2
FIRST_NOISE = 0.15**2
FIRST_VARIANCE = 0.3**2
BELIEVED = 3
CALL_GAIN = 0.1
REBUILD = 16
CONTEXT_STEP = 32
MOVED = 0.002
DRIFT_MEMORY = 1 / 8
DRIFTED = 1.1
NOISE_BOUNDS = (0.03**2, 0.4**2)
GUESSED_RATIO = 0.3
CATCH_UP_RATIO = 0.12
SHORT_LAG = 4


def _possible(cost: float, rows: int) -> float:
    """Keep v(n) between one pass of one row and n of them; beyond, something was mismeasured."""
    return min(max(cost, 1.0), float(rows))


@dataclass(slots=True)
class _Level:
    """The logarithm of one cost at the machine's usual speed, with its variance."""

    value: float
    variance: float
    seen: bool = False
    visited: int = 0
    surprises: int = 0
    least: float = 0.0


class CostModel:
    """Costs in units of a one-row pass at the same context, and that pass in seconds.

    A scalar Kalman filter per cost with a bounded innovation: a spike moves little, the second
    surprise of the same sign a lot.
    """

    def __init__(self, seed: CostSeed = NO_SEED, *, max_rows: int = MAX_GAMMA + 1) -> None:
        self.max_rows = max_rows
        self.passes = 0
        self._speed = _Level(0.0, 0.2**2 if seed.passes else 1e-4, seen=bool(seed.passes))
        self._drift = 0.0
        self._surprised: list[_Level] = []
        self._rows: dict[int, _Level] = {}
        self._growth = Growth()
        self._drafts: dict[str, _Level] = {}
        self._catch_up: dict[str, _Level] = {}
        self._noise = FIRST_NOISE
        self._table: list[float] | None = None
        self._table_base = 0.0
        self._stretched: list[float] | None = None
        self._stretched_at = -1
        self._doubts: list[float] | None = None
        self._doubts_at = 0
        self._plant(seed)

    def _plant(self, seed: CostSeed) -> None:
        """Take a calibration in: a level and a slope with context for every count of rows.

        No pass is cheaper than that of one row. Where one seems to be, the machine was busy, and
        all of it is in doubt.
        """
        by_rows: dict[int, list[CostPoint]] = {}
        for point in seed.passes:
            by_rows.setdefault(point.rows, []).append(point)
        fits = {rows: fitted(points) for rows, points in by_rows.items() if rows <= self.max_rows}
        slopes = {rows: slope for rows, (_, slope) in fits.items() if slope is not None}
        self._growth = Growth(slopes)
        least = min((base for base, _ in fits.values()), default=1.0)
        excess = log(fits[1][0] / least) if 1 in fits else 0.0
        variance = SEED_VARIANCE + excess * excess
        for rows, (base, _) in fits.items():
            self._rows[rows] = _Level(log(least if rows == 1 else base), variance, seen=True)
        for name, seconds in seed.drafts.items():
            self._drafts[name] = _Level(log(max(seconds, 1e-7)), variance, seen=True)

    @property
    def measured(self) -> int:
        """Give for how many counts of rows a pass was ever measured."""
        return len(self._rows)

    def table(self, context: int) -> list[float]:
        """Give v(1), v(2), ... at this context; index 0 is one row. Borrowed: do not change."""
        if self._table is None:
            self._stretched = None
            levels = self._rows
            base = self._table_base = levels[1].value if 1 in levels else self._missing_base()
            known = {rows: exp(level.value - base) for rows, level in levels.items()}
            table = filled({**known, 1: 1.0}, self.max_rows)
            self._table = [_possible(cost, rows) for rows, cost in enumerate(table, 1)]
        if not self._growth:
            return self._table
        step = context // CONTEXT_STEP
        if self._stretched is None or step != self._stretched_at:
            growth = self._growth.over_one_row(step * CONTEXT_STEP, self.max_rows)
            self._stretched = [c * more for c, more in zip(self._table, growth, strict=True)]
            self._stretched_at = step
        return self._stretched

    def doubts(self) -> list[float]:
        """Give the relative uncertainty of v(1), v(2), ...

        That of rows never seen is a guess; kernels take rows in tiles of four, so a multiple of
        four may be cheaper than its neighbours tell.
        """
        if self._doubts is None or self.passes >= self._doubts_at + REBUILD:
            self._doubts_at = self.passes
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
        return exp(self._speed.value + base) * self._growth.of(1, context)

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
        value = log(seconds / self._growth.of(rows, context))
        if not self._speed.seen:
            self._speed.seen = True
            self._rows[rows] = _Level(value, FIRST_VARIANCE, seen=True)
        elif rows not in self._rows:
            self._rows[rows] = _Level(value - self._speed.value, 2 * self._noise, seen=True)
            self._rows[rows].visited = self.passes
            self._doubts = None
        else:
            self._learn(self._rows[rows], value)
            self._retouch(rows)
            return
        self._table = None

    def _retouch(self, rows: int) -> None:
        """Bring the table up to date in one place; now and then, or when T(1) moved, anew."""
        base = self._rows.get(1)
        moved = base is None or abs(base.value - self._table_base) > MOVED
        if self._table is None or base is None or moved or self.passes % REBUILD == 0:
            self._table = None
        elif rows > 1:
            cost = _possible(exp(self._rows[rows].value - base.value), rows)
            self._table[rows - 1] = cost
            if self._stretched is not None:
                growth = self._growth.over_one_row(self._stretched_at * CONTEXT_STEP, self.max_rows)
                self._stretched[rows - 1] = cost * growth[rows - 1]

    def saw_call(self, name: str, seconds: float) -> None:
        """Learn what a call of a drafter that runs no model took: no sign of the engine's speed."""
        if seconds > 0 and self._speed.seen:
            value = log(seconds) - self._speed.value
            level = self._drafts.setdefault(name, _Level(value, self._noise, seen=True))
            level.value += CALL_GAIN * min(max(value - level.value, -1.0), 1.0)

    def saw_draft(self, name: str, passes: int, seconds: float, *, lag: int = 0) -> None:
        """Learn from `passes` draft passes in `seconds`, `lag` ids of history to read first.

        A long lag teaches what reading costs, a short one what a pass costs.
        """
        if seconds <= 0 or not self._speed.seen or passes <= 0:
            return
        levels, each = self._drafts, seconds / passes
        if lag > SHORT_LAG:
            one = self.one_row_s(0) or seconds
            levels = self._catch_up
            each = max(seconds - passes * self.draft_ratio(name) * one, 0.02 * seconds) / lag
        value = log(max(each, 1e-7))
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
        innovation = self._bounded(level, value - speed.value - level.value)
        spread = speed.variance + level.variance + self._noise
        self._drift += DRIFT_MEMORY * (innovation / sqrt(spread) - self._drift)
        if abs(self._drift) > DRIFTED:
            speed.variance += self._drift**2 * spread
            self._drift = 0.0
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
        """Bound a surprise to two deviations, but believe the least of three in a row.

        When it came from several costs, or from plain passes, the machine's speed changed.
        """
        bound = 2.0 * sqrt(self._speed.variance + level.variance + self._noise)
        if abs(innovation) <= bound:
            level.surprises = 0
            self._surprised.clear()
            return innovation
        sign = 1 if innovation > 0 else -1
        if level.surprises * sign <= 0:
            level.surprises, level.least = 0, innovation
        level.surprises += sign
        level.least = min(level.least, innovation, key=abs)
        if self._surprised and self._surprised[-1].surprises * sign < 0:
            self._surprised.clear()
        self._surprised.append(level)
        if abs(level.surprises) < BELIEVED:
            return sign * bound
        several = any(other is not level for other in self._surprised)
        changed = self._speed if several or level is self._rows.get(1) else level
        changed.variance += level.least**2
        level.surprises = 0
        self._surprised.clear()
        return level.least

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
            for at in {0, context} if self._growth.slope(rows) else {context}:
                seconds = exp(speed + level.value) * self._growth.of(rows, at)
                passes.append(CostPoint(rows, at, seconds))
        drafts = {name: exp(speed + level.value) for name, level in self._drafts.items()}
        return CostSeed(tuple(passes), drafts)
