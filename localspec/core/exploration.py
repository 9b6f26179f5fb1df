"""What is worth finding out now: a drafter that was parked, or a length that was hardly measured.

Knows outlooks, doubts and the credit for losses. Decides nothing about the rest of the round.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.core.probing import Credit
from localspec.core.standing import Standing
from localspec.core.stopping import best_length, of_length

EASY = 0.97
"""Acceptance that a probe hopes for: the text may have become easy since."""
LOSS_WEIGHT = 2.0
IDLE = 24
DOUBTFUL = 0.08
HOPE = 0.4


@dataclass(frozen=True)
class Terms:
    """What a round is judged by: v(1), v(2), ..., the price of time, the margin, the cap.

    `longest` bounds the probe of a parked drafter.
    """

    table: Sequence[float]
    price: float
    margin: float
    cap: int
    longest: int


@dataclass(frozen=True)
class Bid:
    """A round that would teach something, and what it is expected to lose."""

    standing: Standing
    gamma: int
    score: float
    loss: float


def parked_probe(standings: Iterable[Standing], terms: Terms, credit: Credit) -> Bid | None:
    """Choose among drafters whose wait is over one that could pay on easy text.

    They are parked, or thought to pay but refused at every match they showed lately.
    """
    if credit.balance <= 0:
        return None
    bids = [
        bid
        for standing in standings
        if standing.backoff.due() and (not standing.active or standing.backoff.waited > IDLE)
        if (bid := _cheapest(standing, terms, credit)) is not None
    ]
    return max(bids, key=lambda bid: bid.score, default=None)


def _cheapest(standing: Standing, terms: Terms, credit: Credit) -> Bid | None:
    """Weigh what a length could gain on easy text against what it is expected to lose."""
    table, chances, draft = terms.table, standing.survival.chances, standing.cost
    easy = max(EASY, chances[0])
    alive = hoping = hoped = likely = 1.0
    best: Bid | None = None
    for gamma in range(1, min(terms.cap, terms.longest, len(table) - 1) + 1):
        alive *= chances[min(gamma, len(chances)) - 1]
        hoping *= easy
        likely, hoped = likely + alive, hoped + hoping
        cost = draft.call + gamma * draft.token + table[gamma]
        loss = max(cost * terms.price - likely, 0.0) + standing.reading
        score = hoped / cost - LOSS_WEIGHT * loss
        pays = hoped >= cost * (1.0 + terms.margin) and credit.affords(loss)
        if pays and (best is None or score > best.score):
            best = Bid(standing, gamma, score, loss)
    return best


def length_probe(
    standings: Iterable[Standing], doubts: Sequence[float], *, terms: Terms, credit: Credit
) -> Bid | None:
    """Choose a length whose rows are in doubt, if it could beat the one in use."""
    table = terms.table
    hoped = [v * (1.0 - min(1.5 * d, HOPE)) for v, d in zip(table, doubts, strict=True)]
    hoped[0] = 1.0
    for standing in standings:
        chances, draft = standing.survival.chances, standing.cost
        best = best_length(chances, hoped, draft, terms.cap)
        if best.gamma == standing.outlook.gamma or doubts[best.gamma] < DOUBTFUL:
            continue
        likely = of_length(best.gamma, chances, table, draft)
        loss = likely.cost * terms.price - likely.tokens
        if best.rate > standing.rate * (1.0 + terms.margin) and credit.affords(loss):
            return Bid(standing, best.gamma, best.rate, loss)
    return None
