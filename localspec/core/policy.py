"""How much to draft, with whom, and when to spend a pass on measuring plain decoding.

The seam between the loop and any policy. Knows counters and seconds that a `Step` carries; has no
clock of its own.
"""

from dataclasses import dataclass, field
from typing import Protocol

from localspec.core.distribution import Distribution
from localspec.core.events import Step

BASELINE_EVERY = 32
"""Passes for each plain one: they cost at most 1 - 1/S of a pass in 32, 2 % at S = 3."""
IN_A_ROW = 2


@dataclass(frozen=True)
class Plan:
    """What to do in the next round: ask `order` in turn for at most `limit` tokens.

    `limits`, when given, holds one limit for each name of `order`, none above `limit`.
    """

    limit: int = 0
    order: tuple[str, ...] = ()
    limits: tuple[int, ...] = field(default=(), kw_only=True)
    baseline: bool = False


class Policy(Protocol):
    """Choose before each round, and learn after it."""

    def plan(self, position: int, room: int) -> Plan:
        """Choose for a history of `position` ids; no more than `room` may be drafted."""
        ...

    def keep_going(self, index: int, law: Distribution) -> bool:
        """Say whether to draw drafted token number `index` (from 0), whose law is known."""
        ...

    def worth_looking(self, index: int) -> bool:
        """Say whether to pay a draft pass for the law of drafted token number `index`."""
        ...

    def observe(self, step: Step) -> None:
        """Learn from the round."""
        ...


@dataclass
class BaselineSchedule:
    """When plain passes are due: two at the start, then two every 64 passes.

    Two in a row, as a pass after one of another width is no measure of plain decoding: the engine
    makes its graph anew. Rounds that happened to be plain count and put the next ones off.
    """

    every: int = 2 * BASELINE_EVERY
    _since: int = field(default=-1, init=False)
    _plain: int = field(default=0, init=False)

    def due(self) -> bool:
        """Say whether this round should be plain."""
        return self._since < 0 or self._since >= self.every

    def observe(self, step: Step) -> None:
        """Count the round."""
        self._plain = self._plain + 1 if step.drafted == 0 else 0
        if self._plain >= IN_A_ROW:
            self._since = 0
        elif self._since >= 0:
            self._since += 1


class FixedPolicy:
    """Always `gamma` tokens from the drafters in the given order; now and then a plain pass."""

    def __init__(
        self, gamma: int, order: tuple[str, ...], *, schedule: BaselineSchedule | None = None
    ) -> None:
        self.gamma = gamma
        self.order = order
        self._schedule = schedule

    def plan(self, position: int, room: int) -> Plan:
        """Ask for gamma tokens, or for none when a baseline pass is due."""
        del position
        if not self.order:
            return Plan()
        if self._schedule and self._schedule.due():
            return Plan(baseline=True)
        return Plan(min(self.gamma, room), self.order)

    def keep_going(self, index: int, law: Distribution) -> bool:
        """Never stop before gamma."""
        return True

    def worth_looking(self, index: int) -> bool:
        """Always pay up to gamma."""
        return True

    def observe(self, step: Step) -> None:
        """Keep the schedule of plain passes."""
        if self._schedule:
            self._schedule.observe(step)
