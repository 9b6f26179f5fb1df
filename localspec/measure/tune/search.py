"""Every target layout with every guesser and every gamma: tokens per second, by costs and replay.

Knows values only. Measures nothing: what it promises is checked by a trial.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localspec.core.statistics import Estimate
from localspec.measure.costs import Costs
from localspec.measure.intervals import Pairing, ratio, speedup_interval
from localspec.measure.predict import HARDLY, Predicted
from localspec.measure.replay import Rounds
from localspec.measure.tune.candidates import Arrangement, Ground, Guesser, TargetCosts

NEAR = 0.02
"""Arrangements this close in speed are put in order of the bits they keep."""
FINALISTS = 3
HOPELESS = 0.9
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Answer:
    """One stored answer: how long it is, where it is on average, and plain seconds for it."""

    kind: str
    tokens: int
    context: float
    plain_s: float


def search(
    ground: Ground, targets: Sequence[TargetCosts], guessers: Sequence[Guesser]
) -> list[Arrangement]:
    """Give the best gamma of every target and guesser, and every target without one.

    The fastest comes first; of those that are about as fast, the one that keeps more bits.
    """
    answers = _answers(ground)
    found = [_alone(ground, target, answers) for target in targets]
    most = ground.runtime.loaded.target.max_rows - 1
    known: dict[int, list[list[Rounds]]] = {}
    for guesser in guessers:
        told = known.setdefault(id(guesser.told), [guesser.rounds(g) for g in range(1, most + 1)])
        for target in targets:
            found.append(_best_gamma(ground, target, guesser, answers=answers, rounds=told))
    return ranked(found)


def ranked(found: Sequence[Arrangement]) -> list[Arrangement]:
    """Put arrangements in order: by speed in steps that can be told apart, then by bits kept."""
    left = sorted(found, key=lambda each: -each.predicted.speedup.value)
    ordered: list[Arrangement] = []
    while left:
        top = left[0].predicted.speedup.value
        near = [each for each in left if each.predicted.speedup.value >= top * (1 - NEAR)]
        best = max(near, key=lambda each: (each.target.bits, each.predicted.speedup.value))
        ordered.append(best)
        left.remove(best)
    return ordered


def worth_trying(each: Arrangement, chosen: Sequence[Arrangement]) -> bool:
    """Say whether to measure an arrangement besides those chosen already.

    Not the given files without a draft, which are the baseline; no two of one target's layout and
    one drafter; a target's layout at most twice, so that one wrong prediction does not spoil them
    all; and after the first nothing that is expected to be clearly slower.
    """
    if each.guesser is None and each.target.as_given:
        return False
    if chosen and each.predicted.speedup.value < HOPELESS:
        return False
    mine = [other for other in chosen if other.target == each.target]
    return len(mine) < FINALISTS - 1 and all(other.drafter != each.drafter for other in mine)


def _answers(ground: Ground) -> list[_Answer]:
    over = ground.stored.over
    found = []
    for told in ground.stored.transcripts:
        tokens = len(told.tokens)
        context = len(told.prompt) + tokens / 2
        plain = tokens * (ground.costs.pass_s(1, context) + over.plain_s)
        found.append(_Answer(told.kind, tokens, context, plain))
    return found


def _alone(ground: Ground, target: TargetCosts, answers: Sequence[_Answer]) -> Arrangement:
    costs, over = target.with_guesser(None), ground.stored.over
    pairings = [
        Pairing(
            each.plain_s,
            each.tokens,
            each.tokens * (costs.pass_s(1, each.context) + over.plain_s),
            each.tokens,
            each.kind,
        )
        for each in answers
    ]
    return Arrangement(target.layout, None, 0, _predicted(0, 1.0, pairings))


def _best_gamma(
    ground: Ground,
    target: TargetCosts,
    guesser: Guesser,
    *,
    answers: Sequence[_Answer],
    rounds: Sequence[Sequence[Rounds]],
) -> Arrangement:
    costs, over = target.with_guesser(guesser), ground.stored.over
    prices = [
        _prices(costs, guesser.drafter, each.context, most=len(rounds)) + over.arm_s
        for each in answers
    ]
    lates = [costs.unread_s(guesser.drafter, each.context) for each in answers]
    options = []
    for gamma, mine in enumerate(rounds, 1):
        seconds = [
            float((each.visits * price[each.drafted]).sum() + each.unread(guesser.drafter) * late)
            for each, price, late in zip(mine, prices, lates, strict=True)
        ]
        pairings = list(_pairings(answers, seconds))
        options.append((gamma, pairings, ratio(pairings)))
    top = max(value for _, _, value in options)
    gamma, pairings, _ = next(each for each in options if each[2] >= top * (1 - HARDLY))
    tokens = sum(each.tokens for each in answers)
    tau = tokens / sum(each.count for each in rounds[gamma - 1])
    return Arrangement(target.layout, guesser, gamma, _predicted(gamma, tau, pairings))


def _pairings(answers: Sequence[_Answer], seconds: Sequence[float]) -> Iterator[Pairing]:
    for answer, taken in zip(answers, seconds, strict=True):
        yield Pairing(answer.plain_s, answer.tokens, taken, answer.tokens, answer.kind)


def _prices(costs: Costs, drafter: str, context: float, *, most: int) -> Floats:
    """Give the seconds of a round that drafts 0, 1, ... tokens."""
    return np.array(
        [
            costs.pass_s(drafted + 1, context) + costs.draft_s(drafter, drafted, context)
            for drafted in range(most + 1)
        ]
    )


def _predicted(gamma: int, tau: float, pairings: Sequence[Pairing]) -> Predicted:
    value = ratio(pairings)
    return Predicted(gamma, tau, speedup_interval(pairings) or Estimate(value, value, value))
