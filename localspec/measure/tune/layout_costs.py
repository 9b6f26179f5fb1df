"""Costs of every layout of a file, relative to the given one, from samples timed in turn.

What the samples say of the given layout is known from the whole file, too, so only ratios are
taken from them: what a sample leaves out, it leaves out of both. Knows plans and samples.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from localspec.core.tokens import Tokens
from localspec.engine import ContextOptions, ModelOptions
from localspec.errors import LocalspecError
from localspec.measure.costs import CostPoint
from localspec.measure.tune.candidates import Deadline, Layout
from localspec.measure.tune.recipes import Planned
from localspec.measure.tune.samples import (
    Shape,
    Timed,
    Timing,
    sample_folder,
    shape_of,
    time_samples,
)

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)
SAMPLE_CONTEXT = 1024
CONTEXT = 64
ROUNDS = 3
Ratios = Mapping[int, float]
"""By rows: seconds of a pass over those of the given layout."""


@dataclass(frozen=True)
class Sampler:
    """How layouts are timed: a context's options, rows of real text, and until when.

    `failed` takes down what could not be timed, and why.
    """

    options: ContextOptions
    text: Tokens = field(repr=False)
    rows: tuple[int, ...]
    deadline: Deadline
    say: Callable[[str], None] = field(repr=False)
    placement: ModelOptions = field(default_factory=ModelOptions)
    failed: list[str] = field(default_factory=list, repr=False)


def relative_costs(
    given: Planned, others: Sequence[Planned], sampler: Sampler
) -> Iterator[tuple[Layout, Ratios]]:
    """Time samples of the given layout and of every other; give each with its ratios.

    All of them take turns, round after round, so that a slow moment of the machine falls on none
    alone. What there is no time for, or cannot be loaded, is noted in `sampler.failed`.
    Raises: PairRefused when the file cannot be sampled at all, LocalspecError without a cache.
    """
    shape = shape_of(given.layout.source)
    options = replace(sampler.options, n_ctx=min(SAMPLE_CONTEXT, sampler.options.n_ctx))
    with sample_folder() as place:
        context = min(CONTEXT, len(sampler.text) - max(sampler.rows) - 1)
        timing = Timing(
            place, options, sampler.text, sampler.rows, context, placement=sampler.placement
        )
        found = _in_turn(shape, [given, *others], timing, sampler)
    base = found.pop(0, None)
    if base is None:
        return
    before = base.whole(given.plan)
    for at, timed in found.items():
        planned = others[at - 1]
        after = timed.whole(planned.plan)
        yield planned.layout, {rows: after[rows] / before[rows] for rows in before}


def _in_turn(
    shape: Shape, layouts: Sequence[Planned], timing: Timing, sampler: Sampler
) -> dict[int, Timed]:
    """Time every layout once a round, as long as there is time for another."""
    found: dict[int, Timed] = {}
    refused: set[int] = set()
    longest = 0.0
    for number in range(ROUNDS):
        for at, planned in enumerate(layouts):
            if at in refused:
                continue
            if at and sampler.deadline.left_s < longest:
                _note_missing(layouts, found, refused, sampler)
                return found
            sampler.say(_words(number, at, layouts))
            began = perf_counter()
            try:
                timed = time_samples(shape, planned.plan, timing)
            except LocalspecError as failure:
                sampler.failed.append(f"{planned.layout.name}: {failure.message}")
                refused.add(at)
                if not at:
                    return {}
                continue
            longest = max(longest, perf_counter() - began)
            found[at] = found[at].merged(timed) if at in found else timed
    return found


def _words(number: int, at: int, layouts: Sequence[Planned]) -> str:
    name = layouts[at].layout.name
    return f"layout {at + 1} of {len(layouts)}, round {number + 1} of {ROUNDS}: {name}"


def _note_missing(
    layouts: Sequence[Planned], found: Mapping[int, Timed], refused: set[int], sampler: Sampler
) -> None:
    missing = [
        planned.layout.name
        for at, planned in enumerate(layouts)
        if at not in found and at not in refused
    ]
    if missing:
        sampler.failed.append(f"no time was left for {', '.join(missing)}")


def applied(points: Sequence[CostPoint], ratios: Ratios) -> tuple[CostPoint, ...]:
    """Give a measured curve as it would be with another layout."""
    rows = sorted(ratios)
    values = [ratios[each] for each in rows]
    return tuple(
        replace(point, median_s=point.median_s * float(np.interp(point.rows, rows, values)))
        for point in points
    )
