"""Token histories as growing int32 arrays, and the one thing the loop needs of a model.

Knows ids and lengths. Does not know text, files, or which engine computes the logits.
"""

from collections.abc import Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Token = int
Tokens = NDArray[np.int32]
Logits = NDArray[np.float32]


class TokenBuffer:
    """Grow and shrink a history of ids at its end; `view` is borrowed until the next change."""

    def __init__(self, tokens: Iterable[Token] | Tokens = ()) -> None:
        self._data = _ids(tokens)
        self._length = len(self._data)

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> Tokens:
        """Give the ids so far, without a copy."""
        return self._data[: self._length]

    def extend(self, tokens: Iterable[Token] | Tokens) -> None:
        """Append ids, doubling the room when it runs out."""
        more = tokens if isinstance(tokens, np.ndarray | tuple) else _ids(tokens)
        if not len(more):
            return
        end = self._length + len(more)
        if end > len(self._data):
            grown = np.empty(max(end, 2 * len(self._data), 64), np.int32)
            grown[: self._length] = self.view
            self._data = grown
        self._data[self._length : end] = more
        self._length = end

    def truncate(self, length: int) -> None:
        """Forget everything from `length` on."""
        self._length = min(self._length, length)


def _ids(tokens: Iterable[Token] | Tokens) -> Tokens:
    """Copy ids into an array of their own."""
    return np.array(tokens if isinstance(tokens, np.ndarray) else list(tokens), np.int32)


class TokenSequence(Protocol):
    """A model with a cache: `tokens` is exactly what the cache holds."""

    @property
    def tokens(self) -> Tokens:
        """Give the ids whose keys and values the cache holds, in order."""
        ...

    @property
    def capacity(self) -> int:
        """Give the number of ids the cache can hold."""
        ...

    def extend(self, tokens: Tokens, rows: int) -> Logits:
        """Decode `tokens` after those held; give the last `rows` rows of logits.

        Shapes: (rows, vocabulary), borrowed until the next `extend`; `rows` may be 0.
        Raises: ValueError when the capacity would be exceeded; nothing is decoded then.
        """
        ...

    def rewind(self, length: int) -> int:
        """Drop everything from `length` on; give the length really kept, which may be less.

        A cache that cannot forget only its end (recurrent layers, a slid window) keeps less, down
        to nothing, and the caller decodes the rest again.
        """
        ...


def common_prefix(left: Tokens, right: Tokens) -> int:
    """Count the ids that two histories share from their start."""
    shortest = min(len(left), len(right))
    differs = left[:shortest] != right[:shortest]
    first = int(differs.argmax()) if shortest else 0
    return first if shortest and differs[first] else shortest


def align(sequence: TokenSequence, history: Tokens, rows: int) -> int:
    """Take back what a cache holds beyond the common prefix; give the length that stays.

    At least the last `rows` ids of the history are left to be read.
    """
    keep = min(common_prefix(sequence.tokens, history), len(history) - rows)
    return sequence.rewind(keep) if keep < len(sequence.tokens) else keep


def sync(sequence: TokenSequence, history: Tokens, rows: int) -> Logits:
    """Bring a cache to `history` with the least work; give the last `rows` rows of logits.

    Rewinds to the common prefix and extends by the rest. The pending token, the roll-back after a
    rejection, an edited or interrupted turn and a dropped bonus token are all this one case.
    """
    kept = align(sequence, history, rows)
    return sequence.extend(history[kept:], rows)
