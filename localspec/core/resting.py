"""Rounds in which nothing would be decided anew: every drafter is parked and nobody was judged.

With a small model the thinking of a round is worth a hundredth of a pass; resting takes it up every
few rounds only. Knows a plan and counts of rounds. Does not know what was planned or why.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from localspec.core.policy import Plan
from localspec.core.standing import LOOK_AGAIN, Standing

NO_PLAN = Plan()


@dataclass
class Rest:
    """A plan that holds for a few rounds more, and the plain rounds not yet told to anybody."""

    plan: Plan = NO_PLAN
    order: tuple[Standing, ...] = ()
    cap: int = 0
    left: int = 0
    resting: bool = False
    owed: int = 0

    def begin(self, plan: Plan, order: tuple[Standing, ...], cap: int) -> None:
        """Let a plan hold for the rounds until the drafters are looked at again."""
        self.plan, self.order, self.cap, self.left = plan, order, cap, LOOK_AGAIN - 1

    def take(self, cap: int) -> bool:
        """Say if the next round may go by the plan at hand, which may draft up to `cap`."""
        self.resting = self.left > 0 and cap == self.cap
        self.left -= 1
        return self.resting

    def wake(self, standings: Iterable[Standing], *, changed: bool) -> None:
        """Tell the drafters of the rounds that passed; decide anew if anything has changed."""
        self.resting = False
        if changed:
            self.left = 0
        if self.owed:
            for standing in standings:
                standing.pause(self.owed)
            self.owed = 0
