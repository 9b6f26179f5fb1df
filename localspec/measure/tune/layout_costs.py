"""Costs of every layout of a file, relative to the given one, from samples timed in turn.

What the samples say of the given layout is known from the whole file, too, so only ratios are
taken from them: what a sample leaves out, it leaves out of both. Knows plans and samples.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from localspec.engine import ContextOptions, ModelOptions
from localspec.errors import LocalspecError
from localspec.measure.costs import CostPoint, Survey
from localspec.measure.tune.candidates import Deadline, Layout, OutOfTime
from localspec.measure.tune.recipes import Planned
from localspec.measure.tune.samples import (
    Shape,
    Timing,
    predicted_points,
    sample_folder,
    shape_of,
)

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)
SAMPLE_CONTEXT = 1024
Ratios = Mapping[int, float]
"""By rows: seconds of a pass over those of the given layout."""


@dataclass(frozen=True)
class Sampler:
    """How layouts are timed: a context's options, what to time, and until when."""

    options: ContextOptions
    survey: Survey
    deadline: Deadline
    say: Callable[[str], None] = field(repr=False)
    placement: ModelOptions = field(default_factory=ModelOptions)
    failed: list[str] = field(default_factory=list, repr=False)


def relative_costs(
    given: Planned, others: Sequence[Planned], sampler: Sampler
) -> Iterator[tuple[Layout, Ratios]]:
    """Time the given layout's sample and every other's; give each with its ratios.

    Stops quietly when the time is up; what cannot be loaded is noted in `sampler.failed`.
    Raises: PairRefused when the file cannot be sampled at all, LocalspecError without a cache.
    """
    shape = shape_of(given.layout.source)
    options = replace(sampler.options, n_ctx=min(SAMPLE_CONTEXT, sampler.options.n_ctx))
    with sample_folder() as place:
        survey = sampler.survey.fitted(options.n_ctx)
        timing = Timing(place, options, survey, sampler.placement)
        base = _timed(shape, given, timing)
        longest = base.seconds
        for number, planned in enumerate(others, 1):
            if sampler.deadline.left_s < longest:
                sampler.failed.append(f"no time for {len(others) - number + 1} layouts")
                return
            sampler.say(f"layout {number} of {len(others)}: {planned.layout.name}")
            try:
                found = _timed(shape, planned, timing)
            except OutOfTime:
                return
            except LocalspecError as failure:
                sampler.failed.append(f"{planned.layout.name}: {failure.message}")
                continue
            longest = max(longest, found.seconds)
            yield planned.layout, _ratios(found.points, base.points)


@dataclass(frozen=True)
class _Timed:
    points: tuple[CostPoint, ...]
    seconds: float


def _timed(shape: Shape, planned: Planned, timing: Timing) -> _Timed:
    began = perf_counter()
    points = predicted_points(shape, planned.plan, timing)
    return _Timed(points, perf_counter() - began)


def _ratios(points: Sequence[CostPoint], base: Sequence[CostPoint]) -> Ratios:
    before = {point.rows: point.median_s for point in base}
    return {point.rows: point.median_s / before[point.rows] for point in points}


def applied(points: Sequence[CostPoint], ratios: Ratios) -> tuple[CostPoint, ...]:
    """Give a measured curve as it would be with another layout."""
    rows = sorted(ratios)
    values = [ratios[each] for each in rows]
    return tuple(
        replace(point, median_s=point.median_s * float(np.interp(point.rows, rows, values)))
        for point in points
    )
