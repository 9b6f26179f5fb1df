"""What is worth finding out now: a drafter that was parked, or a length that was hardly measured.

Knows outlooks, doubts and the credit for losses. Decides nothing about the rest of the round.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from localspec.core.policy import Plan
from localspec.core.probing import Credit
from localspec.core.standing import Probe, Round, Standing
from localspec.core.stopping import best_length, of_length

EASY = 0.97
"""Acceptance that a probe hopes for: the text may have become easy since."""
LOSS_WEIGHT = 6.0
DOUBTFUL = 0.08
HOPE = 0.4


class Terms(NamedTuple):
    """What a round is judged by: v(1), v(2), ..., the price of time, the margin, the cap.

    `longest` bounds the probe of a parked drafter.
    """

    table: Sequence[float]
    price: float
    margin: float
    cap: int
    longest: int


class Bid(NamedTuple):
    """A round that would teach something: with whom, how long, what it is expected to lose."""

    standing: Standing
    gamma: int
    loss: float


def parked_probe(standings: Iterable[Standing], terms: Terms, credit: Credit) -> Bid | None:
    """Choose among drafters whose wait is over one that could pay on easy text.

    Copies need no probe: what they would have guessed is known, and so is what was written.
    """
    if credit.balance <= 0:
        return None
    best: Standing | None = None
    for standing in standings:
        if standing.active or standing.facts.match or not standing.backoff.due():
            continue
        if standing.probe is None:
            standing.probe = _cheapest(standing, terms, credit)
        if standing.probe is None or not credit.affords(standing.probe.loss):
            continue
        if best is None or best.probe is None or standing.probe.score > best.probe.score:
            best = standing
    return Bid(best, best.probe.gamma, best.probe.loss) if best and best.probe else None


def _cheapest(standing: Standing, terms: Terms, credit: Credit) -> Probe | None:
    """Weigh what a length could gain on easy text against what it is expected to lose.

    Where only a long draft could pay, a short one that cannot still shows if the text is easy.
    """
    table, chances, draft = terms.table, standing.survival.chances, standing.cost
    easy = max(EASY, chances[0])
    if best_length((easy,), table, draft, terms.cap).rate < 1.0 + terms.margin:
        return None
    alive = hoping = hoped = likely = chance = 1.0
    best: Probe | None = None
    for gamma in range(1, min(terms.cap, terms.longest, len(table) - 1) + 1):
        chance = chances[gamma - 1] if gamma <= len(chances) else chance
        alive *= chance
        hoping *= easy
        likely, hoped = likely + alive, hoped + hoping
        cost = draft.call + gamma * draft.token + table[gamma]
        loss = standing.reading + (lost if (lost := cost * terms.price - likely) > 0.0 else 0.0)
        score = hoped / cost - LOSS_WEIGHT * loss
        if (best is None or score > best.score) and credit.affords(loss):
            best = Probe(gamma, score, loss)
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
            return Bid(standing, best.gamma, loss)
    return None


def plan_of(now: Round, order: list[Standing], bid: Bid | None, cap: int) -> Plan:
    """Turn the order into a plan; a probe comes first, and a copy's may find no match.

    A copy costs nothing more when it is long; a model that does not ask has paid for a pass.
    """
    if bid is not None:
        rest = [it for it in order if it is not bid.standing]
        order = [bid.standing, *(rest if bid.standing.facts.deterministic else ())]
        now.forced, now.stake = bid.standing, bid.loss
    now.order = tuple(order)
    if not order:
        return Plan()
    limits = tuple(
        [
            cap if it.facts.deterministic or it.facts.asks else min(it.outlook.gamma, cap)
            for it in order
        ]
    )
    if bid is not None:
        limits = (bid.gamma, *limits[1:])
    return Plan(max(limits), tuple([it.facts.name for it in order]), limits=limits)
