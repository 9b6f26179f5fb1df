"""The weights of Medusa heads and the one product that a round takes.

Knows arrays. Does not know the file they come from, where the hidden state comes from, or how a
guess is drawn.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Layer:
    """One residual block of every head: x + silu(W x + b).

    Shapes: weight (heads, width, width), bias (heads, width).
    """

    weight: Floats = field(repr=False)
    bias: Floats = field(repr=False)


@dataclass(frozen=True)
class MedusaHeads:
    """Heads over one hidden state; head `i` guesses the token `i + 2` places after it.

    Shapes: projection (ids, width) if the heads share it, else (heads, ids, width); `ids` (ids,)
    gives the target's id of each row of it.
    Source: Cai et al. 2024, section 2.1; a reduced vocabulary is ours.
    """

    layers: tuple[Layer, ...] = field(repr=False)
    projection: Floats = field(repr=False)
    ids: NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.layers[0].bias)

    @property
    def width(self) -> int:
        """Give the numbers in a hidden state."""
        return int(self.projection.shape[-1])

    def logits(self, hidden: Floats, count: int) -> Floats:
        """Give the logits of the first `count` heads.

        Shapes: hidden (width,), result (count, ids).
        """
        state = np.broadcast_to(hidden, (count, self.width))
        for layer in self.layers:
            inner = np.matmul(layer.weight[:count], state[:, :, None])[:, :, 0]
            state = state + _silu(inner + layer.bias[:count])
        if self.projection.ndim == 2:
            return np.asarray(state @ self.projection.T, np.float32)
        guessed = np.matmul(self.projection[:count], state[:, :, None])
        return np.asarray(guessed[:, :, 0], np.float32)


def _silu(x: Floats) -> Floats:
    with np.errstate(over="ignore"):  # exp of a large -x is inf, and x / inf is the right 0
        return np.asarray(x / (1 + np.exp(-x)), np.float32)
