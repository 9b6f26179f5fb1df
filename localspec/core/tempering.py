"""The draft temperature s: drawing from q^(1/s) where that meets the target's law more often.

A small model may be too sure of itself, or not sure enough. Knows pairs of laws of judged rows,
old ones fading. Exactness never depends on s: the tempered law is the one the rule is told, and s
was fixed before the draw. Knows neither models nor costs.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from localspec.core.distribution import Distribution, from_logits
from localspec.core.events import Laws

GRID = tuple(2.0 ** (step / 4) for step in range(-6, 7))
OWN = GRID.index(1.0)
MEMORY = 0.998
ENOUGH = 64
SURE = 3.0
DOUBTFUL = 1.0
LEAST_GAIN = 0.004
ALWAYS = 256
SELDOM = 4


def tempered(law: Distribution, temperature: float) -> Distribution:
    """Give q^(1/s), normalised; the law itself where that changes nothing."""
    if temperature == 1.0 or law.is_point:
        return law
    return from_logits(law.ids, np.log(law.probs) / temperature)


class DraftTemperature:
    """Fit s on a grid by what each would have added to the overlap with the target's law.

    It leaves 1 only for a gain of three standard errors, and goes back when less than one is left.
    """

    def __init__(self) -> None:
        self.value = 1.0
        self._at = OWN
        self._rounds = 0
        self._count = self._squared = 0.0
        self._sums = np.zeros(len(GRID))
        self._squares = np.zeros(len(GRID))

    @property
    def gain(self) -> float:
        """Give what the value in use adds to the acceptance of a token."""
        return float(self._sums[self._at] / self._count) if self._count else 0.0

    def learn(self, laws: Laws, judged: int, used: float) -> None:
        """Learn from the judged rows of a round that drew at temperature `used`."""
        self._rounds += 1
        if self._rounds > ALWAYS and self._rounds % SELDOM:
            return
        for p, q in zip(laws.target[:judged], laws.draft[:judged], strict=True):
            if not q.is_point:
                self._add(overlaps(p, q, used))
        if self._count >= ENOUGH:
            self._choose()

    def _add(self, overlap: NDArray[np.float64]) -> None:
        gains = overlap - overlap[OWN]
        self._count = MEMORY * self._count + 1.0
        self._squared = MEMORY * MEMORY * self._squared + 1.0
        self._sums = MEMORY * self._sums + gains
        self._squares = MEMORY * self._squares + gains * gains

    def _choose(self) -> None:
        """Take the best of the grid if its gain is beyond its noise."""
        means = self._sums / self._count
        best = int(means.argmax())
        error = sqrt(max(self._squares[best] / self._count - means[best] ** 2, 0.0))
        error *= sqrt(self._squared) / self._count
        if means[best] > max(SURE * error, LEAST_GAIN):
            self._at = best
        elif means[self._at] < DOUBTFUL * error:
            self._at = OWN
        self.value = GRID[self._at]


def overlaps(p: Distribution, q: Distribution, used: float) -> NDArray[np.float64]:
    """Give the sum of min(p, q^(1/s)) for every s of the grid, `q` being drawn at `used`.

    Shapes: (grid,).
    """
    own = np.log(q.probs) * used
    scaled = (own - own.max())[None, :] / np.array(GRID)[:, None]
    weights = np.exp(scaled)
    laws = weights / weights.sum(axis=1, keepdims=True)
    found: NDArray[np.float64] = np.minimum(laws, p.probs_at(q.ids)).sum(axis=1)
    return found
