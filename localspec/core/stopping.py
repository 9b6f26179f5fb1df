"""How long to draft: the length that writes most tokens per second, and when to stop before it.

Costs are in one-row passes, rates in tokens per one-row pass, so plain decoding has rate 1.
Pure arithmetic; knows neither drafters nor clocks.
"""

from collections.abc import Sequence
from typing import NamedTuple

NEGLIGIBLE = 0.01


class DraftCost(NamedTuple):
    """What drafting k tokens costs: `call + k * token`, in one-row passes."""

    call: float = 0.0
    token: float = 0.0


class Outlook(NamedTuple):
    """What a round of `gamma` tokens is expected to write and to cost."""

    gamma: int
    tokens: float
    cost: float

    @property
    def rate(self) -> float:
        """Give tokens per one-row pass; above 1 it beats plain decoding."""
        return self.tokens / self.cost

    def beats_plain(self, price: float) -> bool:
        """Say whether it is worth more than a plain pass where time is worth `price`."""
        return self.tokens - price * self.cost > 1.0 - price


NOTHING = Outlook(0, 1.0, 1.0)


def best_length(
    chances: Sequence[float], table: Sequence[float], draft: DraftCost, cap: int
) -> Outlook:
    """Give the gamma from 1 to `cap` with the highest rate.

    Shapes: `chances` of acceptance by place, the last one going on; `table` v(1), v(2), ...
    """
    places, token = len(chances), draft.token
    chance = 1.0
    alive, tokens, cost = 1.0, 1.0, draft.call
    best_rate, best = 0.0, (0, 1.0, 1.0)
    for gamma in range(1, min(cap, len(table) - 1) + 1):
        if gamma <= places:
            chance = chances[gamma - 1]
        alive *= chance
        tokens += alive
        cost += token
        rate = tokens / (cost + table[gamma])
        if rate > best_rate:
            best_rate, best = rate, (gamma, tokens, cost + table[gamma])
        if alive < NEGLIGIBLE:
            break
    return Outlook(*best)


def of_length(
    gamma: int, chances: Sequence[float], table: Sequence[float], draft: DraftCost
) -> Outlook:
    """Give the outlook of one gamma."""
    last, alive, tokens = len(chances) - 1, 1.0, 1.0
    for place in range(gamma):
        alive *= chances[min(place, last)]
        tokens += alive
    return Outlook(gamma, tokens, draft.call + gamma * draft.token + table[gamma])


class StopRule:
    """Say whether some length from here on pays for what it adds to draft and verification.

    It looks ahead to the cap, as v(n) is a staircase (4 rows can cost less than 3), and as a whole
    draft may pay for the first step of v where no short one does.
    `price` is the rate lambda that a second is worth, `token` the cost of one more draft pass;
    the pass that gave the law at hand is paid for. `otherwise` is the worth of drafting nothing,
    in tokens: that of a plain pass, or of the next drafter in turn.
    """

    def __init__(self, table: Sequence[float], price: float, token: float, cap: int) -> None:
        self.table = table
        self.price = price
        self.token = token
        self.cap = min(cap, len(table) - 1)

    def worth(self, index: int, gain: float, follow: float, *, otherwise: float) -> bool:
        """Decide on token `index`, which survives with `gain`; later ones with `follow` each."""
        table, price, token = self.table, self.price, self.token
        stop = table[index] if index else (1.0 - otherwise) / price
        total, drafting = 0.0, -stop
        for rows in range(index + 1, self.cap + 1):
            total += gain
            if total > price * (drafting + table[rows]):
                return True
            gain *= follow
            drafting += token
        return False

    def surplus(self, index: int, gain: float, follow: float, *, enough: float) -> float:
        """Give what going on from token `index`, not the first, is worth at best; 0 for stopping.

        It looks no further than `enough`. Units: tokens. As for `worth`, the pass that gives the
        law of `index` is not in it.
        """
        table, price, token = self.table, self.price, self.token
        total, drafting, most = 0.0, -table[index], 0.0
        for rows in range(index + 1, self.cap + 1):
            total += gain
            value = total - price * (drafting + table[rows])
            most = value if value > most else most
            if most > enough:
                break
            gain *= follow
            drafting += token
        return most
