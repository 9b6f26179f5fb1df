"""Speed-ups expected from costs: for replayed answers, and for rounds that really were.

S = E[N] T(1) / (D + T(drafted + 1) + H), summed over rounds at their own context lengths. Knows
costs and rounds. Measures nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localspec.core.events import Step
from localspec.core.statistics import Estimate
from localspec.core.theory import MAX_GAMMA
from localspec.measure.costs import Costs
from localspec.measure.intervals import Pairing, ratio, speedup_interval
from localspec.measure.replay import REREADING, Rounds

HARDLY = 0.005


@dataclass(frozen=True)
class Overheads:
    """H: seconds of a round outside target and draft, plain and speculative."""

    plain_s: float
    arm_s: float


def overheads(plain: Sequence[Step], arm: Sequence[Step]) -> Overheads:
    """Take the medians of what was measured."""
    return Overheads(_middle(plain), _middle(arm))


def _middle(steps: Sequence[Step]) -> float:
    return float(np.median([step.other_s for step in steps])) if steps else 0.0


def predicted_speedup(steps: Sequence[Step], costs: Costs, over: Overheads) -> float | None:
    """Give the speed-up that these rounds should have given, from the cost curves alone."""
    plain = arm = 0.0
    for step, unread in zip(steps, unread_ids(steps), strict=True):
        one = costs.pass_s(1, step.position) + over.plain_s
        plain += len(step.tokens) * one
        draft = costs.draft_s(step.drafter, step.drafted, step.position)
        draft += unread * costs.unread_s(step.drafter, step.position)
        arm += draft + costs.pass_s(step.drafted + 1, step.position) + over.arm_s
    return plain / arm if arm > 0 else None


def unread_ids(steps: Sequence[Step]) -> list[int]:
    """Give for each round how many ids its drafter had to read besides the newest.

    Where an answer begins, all of them have read the prompt.
    """
    read: dict[str, int] = {}
    found, end = [], -1
    for step in steps:
        if step.position != end:
            read.clear()
        name = step.drafter
        found.append(max(step.position - 1 - read.get(name, step.position), 0) if name else 0)
        kept = 0 if name in REREADING else min(step.accepted, max(step.drafted - 1, 0))
        if name:
            read[name] = step.position + kept
        end = step.position + len(step.tokens)
    return found


def replayed_pairing(rounds: Rounds, drafter: str, costs: Costs, over: Overheads) -> Pairing:
    """Give the seconds that one replayed answer would take, plain and speculative."""
    plain = arm = 0.0
    for at in range(rounds.tokens):
        context = rounds.start + at
        plain += costs.pass_s(1, context) + over.plain_s
        chance, drafted = float(rounds.visits[at]), int(rounds.drafted[at])
        if chance > 0:
            cost = costs.pass_s(drafted + 1, context) + over.arm_s
            arm += chance * (cost + costs.draft_s(drafter, drafted, context))
    arm += rounds.unread(drafter) * costs.unread_s(drafter, rounds.start + rounds.tokens / 2)
    return Pairing(plain, rounds.tokens, arm, rounds.tokens)


@dataclass(frozen=True)
class Predicted:
    """What a gamma is expected to give; no interval from a single answer."""

    gamma: int
    tokens_per_pass: float
    speedup: Estimate


def predicted_point(gamma: int, rounds: Sequence[Rounds], pairings: Sequence[Pairing]) -> Predicted:
    """Put replayed answers together."""
    tau = sum(each.tokens for each in rounds) / sum(each.count for each in rounds)
    value = ratio(pairings)
    return Predicted(gamma, tau, speedup_interval(pairings) or Estimate(value, value, value))


def best_point(points: Sequence[Predicted]) -> Predicted:
    """Give the fastest gamma, the smaller one where half a per cent is all the difference."""
    top = max(point.speedup.value for point in points)
    near = (point for point in points if point.speedup.value >= top * (1 - HARDLY))
    return min(near, key=lambda point: point.gamma)


def survival_of(steps: Sequence[Step], most: int = MAX_GAMMA) -> list[float]:
    """Give the chance that each drafted place survives, from the overlaps of judged places.

    The mean overlap of a place varies less than the share accepted there. Places never judged
    go on with the last place's chance.
    """
    seen: list[list[float]] = []
    for step in steps:
        for place, overlap in enumerate(step.overlaps):
            if place == len(seen):
                seen.append([])
            seen[place].append(overlap)
    chances = [float(np.mean(values)) for values in seen]
    chances += [chances[-1] if chances else 0.0] * (most - len(chances))
    return [float(value) for value in np.cumprod(chances[:most])]
