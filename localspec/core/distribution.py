"""A probability law over token ids, kept on its support only.

Knows probabilities. Does not know where the logits came from or which rule will judge them.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localspec.core.tokens import Token

RESIDUAL_FLOOR = 1e-12
_ALL = np.ones(1)
_ALL.flags.writeable = False


@dataclass(frozen=True)
class Distribution:
    """Probabilities over a few ids; every other id has probability 0.

    Shapes: `ids` int64 ascending and `probs` float64, both (support,); `probs` sums to 1.
    `margin`: where a law was cut to its likeliest id, how far in logits that was above the next.
    """

    ids: NDArray[np.int64]
    probs: NDArray[np.float64] = field(repr=False)
    margin: float | None = field(default=None, repr=False, compare=False)

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """Give the running sums, the last one forced to 1 so that every uniform finds an id."""
        sums: NDArray[np.float64] = np.cumsum(self.probs)
        sums[-1] = 1.0
        return sums

    @property
    def is_point(self) -> bool:
        """Say whether one id has all the mass."""
        return len(self.ids) == 1

    def prob(self, token: Token) -> float:
        """Give the probability of `token`, 0 outside the support."""
        if self.is_point:
            return float(token == self.ids[0])
        at = int(self.ids.searchsorted(token))
        return float(self.probs[at]) if at < len(self.ids) and self.ids[at] == token else 0.0

    def sample(self, u: float) -> Token:
        """Invert the distribution function at a uniform `u` in [0, 1).

        Compares `u` with the running sums and nothing else, so that a test may pass a symbol
        instead of a number and enumerate the law.
        """
        if self.is_point:
            return int(self.ids[0])
        return int(self.ids[min(bisect_right(self.cumulative, u), len(self.ids) - 1)])

    def residual(self, other: "Distribution", weight: float = 1.0) -> "Distribution":
        """Give (weight * self - other)+ normalised; self where that has no mass.

        Source: Leviathan et al. 2022, appendix A.1; the weight is the block rule's.
        """
        left = np.maximum(weight * self.probs - other.probs_at(self.ids), 0.0)
        mass = left.sum()
        if mass < RESIDUAL_FLOOR:
            return self
        kept = left > 0
        return Distribution(self.ids[kept], left[kept] / mass)

    def excess(self, other: "Distribution", weight: float = 1.0) -> float:
        """Give the mass of (weight * self - other)+ before it is normalised."""
        return float(np.maximum(weight * self.probs - other.probs_at(self.ids), 0.0).sum())

    def overlap(self, other: "Distribution") -> float:
        """Give the acceptance chance of a draft drawn from `other`: the sum of min(p, q)."""
        if self.is_point:
            return min(float(self.probs[0]), other.prob(int(self.ids[0])))
        if other.is_point:
            return other.overlap(self)
        return float(np.minimum(self.probs, other.probs_at(self.ids)).sum())

    def probs_at(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Look up probabilities by token id; 0 outside the support."""
        at = np.minimum(self.ids.searchsorted(ids), len(self.ids) - 1)
        return np.where(self.ids[at] == ids, self.probs[at], 0.0)


def point(token: Token, margin: float | None = None) -> Distribution:
    """Put all the mass on one id."""
    return Distribution(np.array([token], np.int64), _ALL, margin)


def from_logits(ids: NDArray[np.int64], logits: NDArray[np.float64]) -> Distribution:
    """Apply a max-subtracted float64 softmax; ids whose probability is 0 leave the support."""
    weights = np.exp(logits - logits.max())
    probs = weights / weights.sum()
    if probs.all():
        return Distribution(ids, probs)
    return Distribution(ids[probs > 0], probs[probs > 0])
