"""Intervals and robust middles, in a few lines of numpy.

Knows samples. Does not know what was measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

BOOTSTRAP_ROUNDS = 2000


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """Give the 95 % interval of a proportion.

    Source: Wilson 1927; (0, 1) without trials.
    """
    if trials == 0:
        return 0.0, 1.0
    p = successes / trials
    centre = p + z * z / (2 * trials)
    spread = z * sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def ratio_of_totals(
    above: Sequence[float],
    below: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    seed: int = 0,
) -> Estimate:
    """Bootstrap sum(above) / sum(below) over paired samples.

    Shapes: equally long. `weights` multiplies each pair (tokens of a prompt, say).
    """
    pairs = np.array([above, below], np.float64)
    if weights is not None:
        pairs = pairs * np.asarray(weights, np.float64)
    picks = _resamples(pairs.shape[1], seed)
    totals = pairs[:, picks].sum(axis=2)
    low, high = np.percentile(totals[0] / totals[1], [2.5, 97.5])
    return Estimate(float(pairs[0].sum() / pairs[1].sum()), float(low), float(high))


def independent_ratio(above: Sequence[float], below: Sequence[float], *, seed: int = 0) -> Estimate:
    """Bootstrap mean(above) / mean(below) over two unpaired sets of samples."""
    means = []
    for number, samples in enumerate((above, below)):
        data = np.asarray(samples, np.float64)
        means.append(data[_resamples(len(data), seed + number)].mean(axis=1))
    low, high = np.percentile(means[0] / means[1], [2.5, 97.5])
    return Estimate(float(np.mean(above) / np.mean(below)), float(low), float(high))


def _resamples(count: int, seed: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, count, (BOOTSTRAP_ROUNDS, count))
