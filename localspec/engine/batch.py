"""The rows of one pass, written through numpy into the memory that the engine reads.

Knows the layout of `llama_batch`. Does not decode.
"""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.core.tokens import Tokens
from localspec.engine import library


class Batch:
    """Arrays for up to `size` rows, allocated once; a fill is a few array copies."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._token = np.zeros(size, np.int32)
        self._pos = np.zeros(size, np.int32)
        self._counts = np.ones(size, np.int32)
        self._sequence = np.zeros(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        self._steps = np.arange(size, dtype=np.int32)
        # Each row points at its own element of `_sequence`, so a row moves by one store.
        rows = self._sequence.ctypes.data + 4 * np.arange(size, dtype=np.uint64)
        self._pointers: NDArray[np.uint64] = rows.astype(np.uint64)
        self.native = self._native()

    def _native(self) -> Any:
        native = library.load().llama_batch()
        for name, array in (
            ("token", self._token),
            ("pos", self._pos),
            ("n_seq_id", self._counts),
            ("seq_id", self._pointers),
            ("logits", self._wanted),
        ):
            kind = dict(native._fields_)[name]
            setattr(native, name, ctypes.cast(array.ctypes.data, kind))
        return native

    def fill(self, tokens: Tokens, *, start: int, rows: int) -> None:
        """Write `tokens` at positions from `start` on; the last `rows` of them get logits."""
        self.clear()
        self.add(tokens, start=start, rows=rows)

    def clear(self) -> None:
        """Take all rows out."""
        self.native.n_tokens = 0

    def add(self, tokens: Tokens, *, start: int, rows: int, sequence: int = 0) -> None:
        """Write `tokens` of a sequence after the rows that are there."""
        first = self.native.n_tokens
        end = first + len(tokens)
        self._token[first:end] = tokens
        np.add(self._steps[: len(tokens)], start, out=self._pos[first:end])
        self._sequence[first:end] = sequence
        self._wanted[first : end - rows] = 0
        self._wanted[end - rows : end] = 1
        self.native.n_tokens = end

    def fill_padded(self, tokens: Tokens, *, start: int) -> None:
        """Write `tokens`, then spare rows of token 0 in sequence 1; every row gets logits."""
        count = len(tokens)
        self._token[:count] = tokens
        self._token[count:] = 0
        np.add(self._steps[:count], start, out=self._pos[:count])
        self._pos[count:] = self._steps[: self.size - count]
        self._sequence[:count] = 0
        self._sequence[count:] = 1
        self._wanted[:] = 1
        self.native.n_tokens = self.size
