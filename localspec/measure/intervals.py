"""How sure a speed-up is: bootstrap over prompts, honest also for a handful of them.

Knows numbers. Does not know what was measured. Rounds of one answer are correlated, so whole
prompts are drawn, never rounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from localspec.core.statistics import BOOTSTRAP_ROUNDS, Estimate

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Pairing:
    """One prompt answered plain and by an arm. Units: seconds, tokens."""

    plain_s: float
    plain_tokens: int
    arm_s: float
    arm_tokens: int
    stratum: str = ""


def speedup_interval(pairings: Sequence[Pairing], *, seed: int = 0) -> Estimate | None:
    """Give the ratio of total seconds per token, plain over arm, with its 95 % interval.

    Prompts are resampled within their stratum, since the kinds are chosen and not drawn. None
    where no stratum has two prompts: one prompt says nothing of the next.
    Source: bootstrap standard error of the logarithm with Student's quantile (Efron and
    Tibshirani 1993, section 12.4): percentiles of so few prompts end at the extreme ones.
    """
    strata = _strata(pairings)
    count, freedom = sum(map(len, strata)), sum(map(len, strata)) - len(strata)
    if freedom < 1:
        return None
    rng = np.random.default_rng(seed)
    logs = np.log(_ratio(np.asarray(sum(_resampled(rows, rng) for rows in strata))))
    reach = float(logs.std()) * sqrt(count / freedom) * student_quantile(freedom)
    value = ratio(pairings)
    return Estimate(value, value * exp(-reach), value * exp(reach))


def ratio(pairings: Sequence[Pairing]) -> float:
    """Give the ratio alone."""
    return float(_ratio(np.asarray(sum(rows.sum(axis=0) for rows in _strata(pairings)))))


def _strata(pairings: Sequence[Pairing]) -> list[NDArray[np.float64]]:
    groups: dict[str, list[tuple[float, ...]]] = {}
    for pair in pairings:
        row = (pair.plain_s, pair.plain_tokens, pair.arm_s, pair.arm_tokens)
        groups.setdefault(pair.stratum, []).append(row)
    return [np.asarray(rows, np.float64) for rows in groups.values()]


def _resampled(rows: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    picks = rng.integers(0, len(rows), (BOOTSTRAP_ROUNDS, len(rows)))
    sums: NDArray[np.float64] = rows[picks].sum(axis=1)
    return sums


def _ratio(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    plain = totals[..., 0] / totals[..., 1]
    result: NDArray[np.float64] = plain / (totals[..., 2] / totals[..., 3])
    return result


def student_quantile(freedom: int, probability: float = (1 + CONFIDENCE) / 2) -> float:
    """Invert Student's distribution by bisection; a handful of degrees is where it matters."""
    low, high = 0.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _student(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def _student(value: float, freedom: int) -> float:
    """Integrate Student's density from 0 by Simpson's rule, in the angle that makes it smooth."""
    scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - 0.5 * log(pi))
    end = np.arctan(value / sqrt(freedom))
    angles = np.linspace(0.0, end, 201)
    heights = np.cos(angles) ** (freedom - 1)
    weights = np.ones(201)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    return float(0.5 + scale * (weights * heights).sum() * end / 600)
