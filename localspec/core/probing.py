"""When to spend a pass on finding something out: probes of a parked drafter, plain passes.

Knows counts of rounds and costs in one-row passes. Does not know what is found out.
"""

from dataclasses import dataclass

from localspec.core.policy import IN_A_ROW

SHORTEST_WAIT = 3
LONGEST_WAIT = 512
RICH_SHARE = 0.06
RICH = 1.0
FIRST_CREDIT = 2.6
KNOWN_CREDIT = 1.2
ALLOWANCE_FADES = 0.6
MOST_CREDIT = 6.0
CREDIT_SHARE = 0.008
SAVED_SHARE = 0.1
LUCKY = 0.3
PATIENCE = 0.95
LEAST_PATIENCE = 0.25
PLAIN_SHARE = 0.006
PLAIN_GAPS = (24, 512)
EARLY = 3
CLEAR = 2.4


@dataclass(slots=True)
class Backoff:
    """Rounds between probes: 4, 8, ... 512 while they fail, fewer after one that paid."""

    wait: int = 0
    waited: int = 0

    def due(self) -> bool:
        """Say whether the wait is over."""
        return self.waited >= self.wait

    def tick(self, rounds: int = 1) -> None:
        """Count rounds without this drafter."""
        self.waited += rounds

    def used(self) -> None:
        """Count a round with it."""
        self.waited = 0

    def failed(self, longest: int = LONGEST_WAIT) -> None:
        """Wait twice as long from now."""
        self.wait = min(max(2 * self.wait, SHORTEST_WAIT), longest)
        self.waited = 0

    def paid(self, luck: float) -> None:
        """Wait less from now, by how likely a probe is to pay by `luck` alone."""
        self.wait = int(luck * self.wait) if luck > LUCKY else 0
        self.waited = 0

    def reset(self) -> None:
        """Start over: the text may have changed its kind."""
        self.wait = 0
        self.waited = 0


@dataclass
class Credit:
    """What may be lost on probes: a little at first, then a share of the time and of savings.

    `allowance`: what a new answer may lose; less with each answer in which no probe paid.
    `patience`: the part of the shares that is still earned; less with each probe that failed, all
    again after one that paid.
    """

    balance: float = FIRST_CREDIT
    allowance: float = FIRST_CREDIT / 2
    patience: float = 1.0

    def earn(self, cost: float, saved: float = 0.0) -> None:
        """Earn with the time that a round took and with what it saved."""
        earned = self.patience * (CREDIT_SHARE * cost + SAVED_SHARE * max(saved, 0.0))
        self.balance = min(self.balance + earned, MOST_CREDIT)

    def spend(self, loss: float) -> None:
        """Pay for what was lost; a gain pays nothing back, so luck buys no more of it."""
        self.balance -= max(loss, 0.0)

    def charge(self, loss: float, stake: float, *, stood: bool, known: bool, luck: float) -> None:
        """Pay for a probe: the `stake` it was expected to lose at least, unless all of it stood.

        For a drafter that is `known` the stake alone: bad luck would end what is only in doubt, as
        good luck is not paid back. One that paid, and hardly by `luck`, makes looking at a new
        answer worth it again.
        """
        self.spend(stake if known else loss if stood else max(loss, stake))
        paid = loss <= 0
        if not (paid or stood):
            self.patience = max(PATIENCE * self.patience, LEAST_PATIENCE)
        elif luck <= LUCKY:
            self.patience = 1.0
        if paid and luck <= LUCKY:
            self.allowance = FIRST_CREDIT / 2

    def longest_wait(self, stake: float) -> int:
        """Bound the wait after a probe that was expected to lose `stake`.

        So long that the credit earned in it pays for the next one; where much was saved, shorter.
        """
        share = self.patience * (RICH_SHARE if self.balance > RICH else CREDIT_SHARE)
        return min(max(int(stake / share), SHORTEST_WAIT), LONGEST_WAIT)

    def affords(self, loss: float) -> bool:
        """Say whether an expected loss is covered."""
        return loss <= self.balance

    def renew(self) -> None:
        """Allow a little again for a new answer."""
        self.balance = max(self.balance, self.allowance)
        self.allowance *= ALLOWANCE_FADES


@dataclass
class PlainPasses:
    """Plain passes that keep T(1) fresh, so spaced that they cost 0.6 % of the time.

    They come in pairs, as the one after a pass of another width is none of plain decoding. A single
    one is first, the next pairs closer, as one sample may be a spike, and a calibration wrong;
    fewer where drafting pays by so much that neither could hide it.
    """

    since: int = -1
    taken: int = 0
    running: int = 0

    def due(self, rate: float) -> bool:
        """Say whether this round should be plain, at `rate` tokens per one-row pass."""
        if self.since < 0:
            return True
        low, high = PLAIN_GAPS
        gap = min(max(int(IN_A_ROW * (1.0 - 1.0 / rate) / PLAIN_SHARE), low), high)
        early = EARLY if rate < CLEAR else EARLY // 2
        if self.taken <= early:
            gap = max(gap >> (early + 1 - self.taken), 2)
        return self.since >= gap

    def observe(self, drafted: int) -> None:
        """Count a round; plain ones in a row put the next off."""
        self.running = 0 if drafted else self.running + 1
        if self.running < IN_A_ROW and self.taken:
            self.since += 1
        else:
            self.taken += self.since != 0
            self.since = 0
