"""When to spend a pass on finding something out: probes of a parked drafter, plain passes.

Knows counts of rounds and costs in one-row passes. Does not know what is found out.
"""

from dataclasses import dataclass

SHORTEST_WAIT = 4
LONGEST_WAIT = 512
RICH_WAIT = 12
RICH = 1.0
FIRST_CREDIT = 3.2
MOST_CREDIT = 6.0
CREDIT_SHARE = 0.008
SAVED_SHARE = 0.1
PLAIN_SHARE = 0.006
PLAIN_GAPS = (12, 256)
EARLY = 4


@dataclass
class Backoff:
    """Rounds between probes: 4, 8, ... 512 while they fail, at once after one that paid."""

    wait: int = 0
    waited: int = 0

    def due(self) -> bool:
        """Say whether the wait is over."""
        return self.waited >= self.wait

    def tick(self) -> None:
        """Count a round without this drafter."""
        self.waited += 1

    def used(self) -> None:
        """Count a round with it."""
        self.waited = 0

    def failed(self, longest: int = LONGEST_WAIT) -> None:
        """Wait twice as long from now."""
        self.wait = min(max(2 * self.wait, SHORTEST_WAIT), longest)
        self.waited = 0

    def reset(self) -> None:
        """Start over: it paid, or the text may have changed its kind."""
        self.wait = 0
        self.waited = 0


@dataclass
class Credit:
    """What may be lost on probes: a little at first, then a share of the time and of savings."""

    balance: float = FIRST_CREDIT

    def earn(self, cost: float, saved: float = 0.0) -> None:
        """Earn with the time that a round took and with what it saved."""
        earned = CREDIT_SHARE * cost + SAVED_SHARE * max(saved, 0.0)
        self.balance = min(self.balance + earned, MOST_CREDIT)

    def spend(self, loss: float) -> None:
        """Pay for a probe; one that won pays nothing back, so luck buys no more of them."""
        self.balance -= max(loss, 0.0)

    @property
    def longest_wait(self) -> int:
        """Bound the wait between probes: what was saved may be spent on looking more often."""
        return RICH_WAIT if self.balance > RICH else LONGEST_WAIT

    def affords(self, loss: float) -> bool:
        """Say whether an expected loss is covered."""
        return loss <= self.balance

    def renew(self) -> None:
        """Allow a little again for a new answer."""
        self.balance = max(self.balance, FIRST_CREDIT / 2)


@dataclass
class PlainPasses:
    """Plain passes that keep T(1) fresh, so spaced that they cost 0.6 % of the time.

    The first one is at once, the next four closer, as one sample may be a spike.
    """

    since: int = -1
    taken: int = 0

    def due(self, rate: float) -> bool:
        """Say whether this round should be plain, at `rate` tokens per one-row pass."""
        if self.since < 0:
            return True
        low, high = PLAIN_GAPS
        gap = min(max(int((1.0 - 1.0 / rate) / PLAIN_SHARE), low), high)
        if self.taken <= EARLY:
            gap = max(gap >> (EARLY + 1 - self.taken), 2)
        return self.since >= gap

    def observe(self, drafted: int) -> None:
        """Count a round; any plain one puts the next off."""
        if drafted:
            self.since += 1
            return
        self.taken += self.since != 0
        self.since = 0
