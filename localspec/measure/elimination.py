"""Which parts can go: backward elimination by what each byte costs, then swaps.

Knows parts with sizes and a function that scores what is left out. Does not know models.
"""

import heapq
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Part = TypeVar("Part", bound=Hashable)

HARDLY = 1e-4


@dataclass(frozen=True)
class Cut(Generic[Part]):
    """Parts left out together. `score`: what is left of 1. Units: bytes."""

    parts: frozenset[Part]
    score: float
    saved_bytes: int


@dataclass(frozen=True)
class Rules(Generic[Part]):
    """How to search: sizes of the parts, how good it is without some, when to stop.

    `score` of nothing left out is 1. The search ends below `floor`, or once `enough` says so.
    """

    sizes: Mapping[Part, int]
    score: Callable[[frozenset[Part]], float] = field(repr=False)
    floor: float = 0.3
    enough: Callable[[], bool] = field(default=lambda: False, repr=False)

    def cut(self, parts: frozenset[Part]) -> Cut[Part]:
        """Score a set of parts."""
        return Cut(parts, self.score(parts), sum(self.sizes[part] for part in parts))


def eliminate(rules: Rules[Part]) -> list[Cut[Part]]:
    """Leave out one part more at a time, each the one that loses least a byte; give every step.

    Losses are looked at again only while a part might be the best one, since what a part costs
    hardly falls when others are gone: most steps take a few scores instead of one a part.
    """
    found: list[Cut[Part]] = []
    now: Cut[Part] = Cut(frozenset(), 1.0, 0)
    waiting = _first_losses(rules)
    while waiting and not rules.enough():
        best = _next(rules, now, waiting)
        if best is None or best.score < rules.floor:
            break
        now = best
        found.append(now)
    return found


@dataclass(frozen=True, order=True)
class _Waiting(Generic[Part]):
    """A part, and what a byte of it cost when last looked at."""

    loss: float
    number: int
    part: Part = field(compare=False)


def _first_losses(rules: Rules[Part]) -> list[_Waiting[Part]]:
    waiting: list[_Waiting[Part]] = []
    for number, (part, size) in enumerate(rules.sizes.items()):
        if rules.enough():
            break
        loss = (1 - rules.score(frozenset([part]))) / size
        waiting.append(_Waiting(loss, number, part))
    heapq.heapify(waiting)
    return waiting


def _next(rules: Rules[Part], now: Cut[Part], waiting: list[_Waiting[Part]]) -> Cut[Part] | None:
    """Take the part that loses least; None when the search must end before it is known."""
    while waiting and not rules.enough():
        first = heapq.heappop(waiting)
        trial = rules.cut(now.parts | {first.part})
        loss = (now.score - trial.score) / rules.sizes[first.part]
        again = _Waiting(loss, first.number, first.part)
        if not waiting or again <= waiting[0]:
            return trial
        heapq.heappush(waiting, again)
    return None


def swapped(rules: Rules[Part], cut: Cut[Part], *, tries: int = 4) -> Cut[Part]:
    """Put a part back and leave another out instead, as long as that is better and saves as much.

    Looks at the `tries` parts whose return helps most, and at the `tries` others that cost least.
    """
    while not rules.enough():
        better = _better(rules, cut, tries)
        if better is None:
            break
        cut = better
    return cut


def _better(rules: Rules[Part], cut: Cut[Part], tries: int) -> Cut[Part] | None:
    inside = [part for part in rules.sizes if part in cut.parts]
    outside = [part for part in rules.sizes if part not in cut.parts]
    alone = _tried(rules, [(part, frozenset([part])) for part in outside])
    fewer = _tried(rules, [(part, cut.parts - {part}) for part in inside])
    for gone, without in fewer[:tries]:
        fitting = [part for part, _ in alone if rules.sizes[part] >= rules.sizes[gone]]
        trials = _tried(rules, [(part, without.parts | {part}) for part in fitting[:tries]])
        if trials and trials[0][1].score > cut.score + HARDLY:
            return trials[0][1]
    return None


def _tried(
    rules: Rules[Part], sets: Sequence[tuple[Part, frozenset[Part]]]
) -> list[tuple[Part, Cut[Part]]]:
    """Score sets, the best first; only as many as there is time for."""
    found = []
    for part, parts in sets:
        if rules.enough():
            break
        found.append((part, rules.cut(parts)))
    return sorted(found, key=lambda pair: -pair[1].score)
