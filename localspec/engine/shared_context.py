"""One cache for several sequences, whose rows are decoded in one pass.

Knows sequences, positions and rows; implements `core.lockstep.SharedCache`. Does not know answers,
drafts, or why rows are wanted together.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from localspec.core.lockstep import Wanted
from localspec.core.tokens import Logits, TokenBuffer, Tokens
from localspec.engine import library
from localspec.engine.batch import Batch
from localspec.engine.interrupt import abortable
from localspec.engine.model import Model
from localspec.engine.passes import LONG_PREFILL, borrow, failure, slices
from localspec.engine.shape import ContextOptions, create, width_of
from localspec.errors import OptionError, PairRefused

MOST_SEQUENCES = 64


class SharedContext:
    """Several sequences in one unified cache, so that a pass may hold rows of all of them.

    `passes` counts the calls of the engine. Close it (or use `with`) to give its memory back.
    """

    def __init__(self, model: Model, options: ContextOptions) -> None:
        _check(model, options)
        options = replace(options, swa_full=True)  # each rewind is exact then
        self.model, self.options, self.passes = model, options, 0
        rows = options.max_rows * options.sequences
        width = max(width_of(model, options), rows)
        self._held = [TokenBuffer() for _ in range(options.sequences)]
        self._views: dict[tuple[int, int], NDArray[np.float32]] = {}
        self._handle: int | None = create(model, options, width)
        self._batch = Batch(width)
        self._memory = library.load().llama_get_memory(self._handle)
        self._logits_at = library.llama("llama_get_logits", ctypes.c_void_p, ctypes.c_void_p)
        model.attach(self)

    @property
    def capacity(self) -> int:
        """Give the number of ids each sequence can hold."""
        return self.options.n_ctx

    def tokens(self, sequence: int) -> Tokens:
        """Give the ids that the cache holds of a sequence; borrowed until it changes."""
        return self._held[sequence].view

    def extend(self, wanted: Sequence[Wanted]) -> list[Logits]:
        """Decode for several sequences; give each its rows, borrowed until the next call.

        Shapes: (rows, vocabulary) each, read-only. A single sequence may bring more ids than fit
        into a pass; several must fit into one.
        Raises: ValueError beyond a capacity or a pass, with nothing decoded; DecodeFailed.
        """
        _ = self._live
        for each in wanted:
            self._check(each)
        if len(wanted) == 1:
            return [self._one(wanted[0])]
        if sum(len(each.tokens) for each in wanted) > self._batch.size:
            raise ValueError(f"the rows of {len(wanted)} sequences exceed a pass")
        return self._pass(wanted)

    def rewind(self, sequence: int, length: int) -> int:
        """Drop everything of one sequence from `length` on; give the length kept."""
        held = self._held[sequence]
        if length < len(held):
            if not self._forget(sequence, max(length, 0)):
                length = 0
                self._forget(sequence, -1)
            held.truncate(max(length, 0))
        return len(held)

    def close(self) -> None:
        """Free the cache."""
        if self._handle is not None:
            self._views.clear()
            for held in self._held:
                held.truncate(0)
            library.load().llama_free(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _live(self) -> int:
        if self._handle is None:
            raise ValueError("this context is closed")
        return self._handle

    def _check(self, wanted: Wanted) -> None:
        count, held = len(wanted.tokens), len(self._held[wanted.sequence])
        if not 0 <= wanted.rows <= min(count, self.options.max_rows):
            raise ValueError(f"{wanted.rows} rows of {count} tokens")
        if held + count > self.options.n_ctx:
            raise ValueError(f"{held} + {count} tokens exceed {self.options.n_ctx} of a sequence")

    def _one(self, wanted: Wanted) -> Logits:
        """Decode for one sequence, in as many passes as it takes; a long prompt hears Ctrl-C."""
        if len(wanted.tokens) <= LONG_PREFILL:
            return self._passes(wanted)
        with abortable(self._live, lambda: False):
            return self._passes(wanted)

    def _passes(self, wanted: Wanted) -> Logits:
        rows: Logits = np.empty((0, self.model.n_vocab), np.float32)
        count = len(wanted.tokens)
        for start, end in slices(count, wanted.rows, self._batch.size):
            last = wanted.rows if end == count else 0
            part = Wanted(wanted.sequence, wanted.tokens[start:end], last)
            rows = self._pass([part])[0] if start < end else rows
        return rows

    def _pass(self, wanted: Sequence[Wanted]) -> list[Logits]:
        """Decode one batch; whatever interrupts it, cache and ids agree afterwards."""
        handle, batch, binding = self._live, self._batch, library.load()
        batch.clear()
        for each in wanted:
            start = len(self._held[each.sequence])
            batch.add(each.tokens, start=start, rows=each.rows, sequence=each.sequence)
        try:
            code = binding.llama_decode(handle, batch.native)
            binding.llama_synchronize(handle)
            if code:
                raise failure(self.model, code)
            for each in wanted:
                self._held[each.sequence].extend(each.tokens)
        except BaseException:
            self._repair(wanted)
            raise
        finally:
            self.passes += 1
        return self._rows([each.rows for each in wanted])

    def _rows(self, counts: Sequence[int]) -> list[Logits]:
        """Cut the output into what belongs to whom, in the order of the batch."""
        if not any(counts):
            return [np.empty((0, self.model.n_vocab), np.float32) for _ in counts]
        key = (self._logits_at(self._handle), sum(counts))
        if key not in self._views:
            self._views[key] = borrow(*key, self.model.n_vocab)
        return np.split(self._views[key], np.cumsum(counts)[:-1])

    def _repair(self, wanted: Sequence[Wanted]) -> None:
        """Make the cache hold exactly the ids of each sequence again."""
        for each in wanted:
            held = self._held[each.sequence]
            if not self._forget(each.sequence, len(held)):
                self._forget(each.sequence, -1)
                held.truncate(0)

    def _forget(self, sequence: int, length: int) -> bool:
        """Drop a sequence from `length` on, all of it for -1; False where that cannot be done."""
        return bool(library.load().llama_memory_seq_rm(self._memory, sequence, length, -1))


def _check(model: Model, options: ContextOptions) -> None:
    """Refuse what several sequences in one pass cannot have.

    Raises: OptionError, PairRefused.
    """
    if not 1 <= options.sequences <= MOST_SEQUENCES:
        raise OptionError(f"1 to {MOST_SEQUENCES} sequences at once, not {options.sequences}")
    if options.strict_rows is not None:
        raise OptionError("sequences that share their passes have no strict width")
    if model.is_recurrent or model.is_hybrid:
        raise PairRefused(
            f"{model.path.name} keeps a state that cannot forget its end, "
            "so sequences are not decoded together"
        )
