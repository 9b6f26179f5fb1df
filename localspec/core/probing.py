"""When to spend a pass on finding something out: probes of a parked drafter, plain passes.

Knows counts of rounds and costs in one-row passes. Does not know what is found out.
"""

from dataclasses import dataclass

SHORTEST_WAIT = 4
LONGEST_WAIT = 512
FIRST_CREDIT = 3.0
MOST_CREDIT = 6.0
CREDIT_SHARE = 0.008
SAVED_SHARE = 0.1
PLAIN_SHARE = 0.006
PLAIN_GAPS = (12, 96)
FIRST_GAPS = (2, 4, 8, 16)


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

    def failed(self) -> None:
        """Wait twice as long from now."""
        self.wait = min(max(2 * self.wait, SHORTEST_WAIT), LONGEST_WAIT)
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

    def affords(self, loss: float) -> bool:
        """Say whether an expected loss is covered."""
        return loss <= self.balance

    def renew(self) -> None:
        """Allow a little again for a new answer."""
        self.balance = max(self.balance, FIRST_CREDIT / 2)


@dataclass
class PlainPasses:
    """Plain passes that keep T(1) fresh, so spaced that they cost 0.6 % of the time."""

    since: int = -1
    gap: int = 0
    taken: int = 0

    def due(self) -> bool:
        """Say whether this round should be plain: the first one is."""
        return self.since < 0 or self.since >= self.gap

    def observe(self, drafted: int, rate: float) -> None:
        """Count a round; any plain one puts the next off, a higher rate further."""
        if drafted:
            self.since += 1
            return
        if self.since:
            low, high = PLAIN_GAPS
            later = min(max(int((1.0 - 1.0 / rate) / PLAIN_SHARE), low), high)
            self.gap = FIRST_GAPS[self.taken] if self.taken < len(FIRST_GAPS) else later
            self.taken += 1
        self.since = 0
