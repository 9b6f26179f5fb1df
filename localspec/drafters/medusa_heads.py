"""The weights of Medusa heads and the products that a round takes.

Knows arrays. Does not know the file they come from, where the hidden state comes from, or how a
guess is drawn.
"""

from collections.abc import Iterator
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

    def guesses(self, hidden: Floats, count: int) -> Iterator[Floats]:
        """Give the logits of the first `count` heads, each worked out when it is asked for.

        A product a head is faster than one over all of them (.24 against .72 ms for three heads of
        4096 x 576), and a head that nobody asks costs nothing.
        Shapes: hidden (width,), each result (ids,).
        """
        for head, state in enumerate(self._states(hidden, count)):
            shared = self.projection.ndim == 2
            yield (self.projection if shared else self.projection[head]) @ state

    def _states(self, hidden: Floats, count: int) -> Floats:
        """Take the state through the blocks of all heads at once. Shapes: (count, width)."""
        first, *others = self.layers
        inner = (first.weight[:count].reshape(-1, self.width) @ hidden).reshape(count, -1)
        state = hidden + _silu(inner + first.bias[:count])
        for layer in others:
            inner = np.matmul(layer.weight[:count], state[:, :, None])[:, :, 0]
            state = state + _silu(inner + layer.bias[:count])
        return state


def _silu(x: Floats) -> Floats:
    with np.errstate(over="ignore"):  # exp of a large -x is inf, and x / inf is the right 0
        return np.asarray(x / (1 + np.exp(-x)), np.float32)
