"""Rounds in which nobody would be chosen anew: all are parked but copies, which match or do not.

With a small model the thinking of a round is worth a hundredth of a pass; resting takes it up only
when the next probe could be due. A copy is asked all the same, and judged by what is known of it
now. Knows a plan and counts of rounds. Does not know what was planned or why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from localspec.core.policy import Plan
from localspec.core.standing import Standing

NO_PLAN = Plan()
SHORTEST = 4
LONGEST = 16


@dataclass
class Rest:
    """A plan that holds for `left` rounds more, and the plain rounds not yet told to anybody."""

    plan: Plan = NO_PLAN
    order: tuple[Standing, ...] = ()
    left: int = 0
    resting: bool = False
    owed: int = 0

    def begin(self, plan: Plan, order: tuple[Standing, ...], standings: Sequence[Standing]) -> None:
        """Let a plan hold until a wait is over; a probe that is due waits for its price."""
        waits = [it.backoff.wait - it.backoff.waited for it in standings if not it.facts.match]
        soonest = min((wait for wait in waits if wait > 0), default=LONGEST)
        if any(it.active for it in standings):
            soonest = SHORTEST
        self.plan, self.order = plan, order
        self.left = min(max(soonest, SHORTEST), LONGEST) - 1

    def take(self, cap: int) -> Plan | None:
        """Give the plan for a round that may draft up to `cap`; None if one must be made."""
        self.resting = self.left > 0 < cap
        self.left -= 1
        if not self.resting:
            return None
        if cap >= self.plan.limit:
            return self.plan
        limits = tuple(min(limit, cap) for limit in self.plan.limits)
        return replace(self.plan, limit=cap, limits=limits)

    def doze(self, *, changed: bool) -> bool:
        """Hear how a round went; say if it is one to be told of later."""
        if changed or not self.resting:
            return False
        self.owed += 1
        return True

    def wake(self, standings: Sequence[Standing], *, changed: bool) -> int:
        """Tell the drafters of the rounds that passed, and give their number.

        Everything is decided anew if anything has changed.
        """
        self.resting = False
        if changed:
            self.left = 0
        owed, self.owed = self.owed, 0
        if owed:
            for standing in standings:
                standing.pause(owed)
        return owed
