"""A model's cache and its passes, as the token sequence that the loop works with.

Knows positions, bounds and rows. Does not know drafts, text, or why a row is wanted.
"""

import ctypes
from time import perf_counter
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from localspec.core.tokens import Logits, TokenBuffer, Tokens
from localspec.engine import library
from localspec.engine.batch import Batch
from localspec.engine.features import Tap
from localspec.engine.forgetting import Cache, Forgetting, Way, prove
from localspec.engine.interrupt import abortable
from localspec.engine.model import Model
from localspec.engine.passes import LONG_PREFILL, borrow, failure, slices
from localspec.engine.shape import ContextOptions, create, width_of, window_of
from localspec.engine.skipping import Skips


class Flag(Protocol):
    """Anything like `threading.Event` that can say stop."""

    def is_set(self) -> bool:
        """Tell whether to stop."""
        ...


class Context:
    """One sequence of tokens with its cache; implements `core.tokens.TokenSequence`.

    `engine_s` adds up the seconds spent inside the engine and `passes` the calls; both only grow.
    Set `cancel` to something like `threading.Event` to stop a long prefill from another thread.
    """

    def __init__(
        self, model: Model, options: ContextOptions, *, skips: Skips | None = None
    ) -> None:
        self.model, self.options, self._skips = model, options, skips
        self.cancel: Flag | None = None
        self.engine_s, self.passes = 0.0, 0
        self._tokens = TokenBuffer()
        self._vocab = model.n_vocab
        self._views: dict[tuple[int, int], NDArray[np.float32]] = {}
        self._taps: list[Tap] = []
        width = width_of(model, options)
        self._strict = options.strict_rows is not None
        self._handle: int | None = create(
            model, options, width, others={"cb_eval": skips.callback} if skips else None
        )
        self._batch = Batch(width)
        self.max_rows = width if self._strict else min(options.max_rows, width)
        self._bind()
        model.attach(self)
        cache = Cache(self.handle, self._memory, window_of(model, options), options.rollback)
        self.forgetting = Forgetting(cache)
        self.forgetting.ways = prove(self)
        self.engine_s, self.passes = 0.0, 0

    def _bind(self) -> None:
        binding = library.load()
        self._memory = binding.llama_get_memory(self._handle)
        self._decode = binding.llama_decode
        self._synchronize = binding.llama_synchronize
        self._remove = binding.llama_memory_seq_rm
        self._logits_at = library.llama("llama_get_logits", ctypes.c_void_p, ctypes.c_void_p)

    @property
    def threads(self) -> tuple[int, int]:
        """Give the threads of one-row passes, and of wider ones."""
        binding = library.load()
        one, more = binding.llama_n_threads(self.handle), binding.llama_n_threads_batch(self.handle)
        return int(one), int(more)

    def set_threads(self, one_row: int, rows: int) -> None:
        """Use other numbers of threads from the next pass on: for one row, and for several.

        The engine takes the second number for every pass of two rows or more, so a verifying pass
        and a prefill share it.
        """
        library.load().llama_set_n_threads(self.handle, one_row, rows)

    @property
    def tokens(self) -> Tokens:
        """Give the ids the cache holds, in order; borrowed until the next change."""
        return self._tokens.view

    @property
    def width(self) -> int:
        """Give the most tokens of one pass."""
        return self._batch.size

    def watch(self, tap: Tap) -> None:
        """Tell `tap` about every pass from now on."""
        self._taps.append(tap)

    @property
    def capacity(self) -> int:
        """Give the number of ids the cache can hold."""
        return self.options.n_ctx

    @property
    def way(self) -> Way:
        """Give the way in which this cache takes tokens back, as proven when it was made."""
        return self.forgetting.way

    def extend(self, tokens: Tokens, rows: int) -> Logits:
        """Decode `tokens` after those held; give the last `rows` rows of logits.

        Shapes: (rows, vocabulary), read-only, borrowed until the next `extend`.
        Raises: ValueError beyond the capacity or `max_rows`, with nothing decoded; DecodeFailed
        or Interrupted with the passes before the failed one kept, and `tokens` saying so.
        """
        count = len(tokens)
        self._check(count, rows)
        if count == 0:
            return np.empty((0, self._vocab), np.float32)
        if count <= LONG_PREFILL:
            return self._passes(tokens, rows)
        with abortable(self.handle, self._is_cancelled):
            return self._passes(tokens, rows)

    def rewind(self, length: int) -> int:
        """Drop everything from `length` on; give the length kept, less where the cache needs it."""
        if length >= len(self._tokens):
            return len(self._tokens)
        length = min([length, *(tap.reach(length) for tap in self._taps)])
        before = perf_counter()
        kept = self.forgetting.rewind(length)
        self._tokens.truncate(kept)
        self.engine_s += perf_counter() - before
        return kept

    def close(self) -> None:
        """Free the cache."""
        if self._handle is not None:
            self._views.clear()
            self._tokens.truncate(0)
            library.load().llama_free(self._handle)
            self._handle = None

    @property
    def handle(self) -> int:
        """Give the engine's pointer."""
        if self._handle is None:
            raise ValueError("this context is closed")
        return self._handle

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check(self, count: int, rows: int) -> None:
        if not 0 <= rows <= min(count, self.max_rows):
            raise ValueError(f"{rows} rows of {count} tokens, where {self.max_rows} is the most")
        if len(self._tokens) + count > self.options.n_ctx:
            raise ValueError(
                f"{len(self._tokens)} + {count} tokens exceed a context of {self.options.n_ctx}"
            )

    def _is_cancelled(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    def _passes(self, tokens: Tokens, rows: int) -> Logits:
        settled = self.forgetting.settled(len(tokens), rows)
        for start, end in slices(settled, 0, self._batch.size):
            self._pass(tokens[start:end], 0)
        tokens = tokens[settled:]
        for start, end in slices(len(tokens), rows, self._batch.size):
            logits = self._pass(tokens[start:end], rows if end == len(tokens) else 0)
        if rows == 0:
            self.forgetting.after_prompt(len(self._tokens))
        return logits

    def _pass(self, tokens: Tokens, rows: int) -> Logits:
        """Decode one batch; whatever interrupts it, cache and `tokens` agree afterwards."""
        if self._strict:
            self._batch.fill_padded(tokens, start=len(self._tokens))
        else:
            self._batch.fill(tokens, start=len(self._tokens), rows=rows)
        handle = self.handle
        for tap in self._taps:
            tap.before(len(tokens), rows)
        before = perf_counter()
        try:
            self.forgetting.before_pass(len(self._tokens), rows)
            code = self._decode(handle, self._batch.native)
            self._synchronize(handle)
            if code:
                raise failure(self.model, code)
            if self._strict:
                self._remove(self._memory, 1, -1, -1)
            self._tokens.extend(tokens)
            self.forgetting.after_pass(len(tokens))
            for tap in self._taps:
                tap.after(len(self._tokens) - len(tokens), len(tokens))
        except BaseException:
            self._repair()
            raise
        finally:
            self.engine_s += perf_counter() - before
            self.passes += 1
        return self._rows(len(tokens), rows)

    def _rows(self, count: int, rows: int) -> Logits:
        if rows == 0:
            return np.empty((0, self._vocab), np.float32)
        outputs = self._batch.size if self._strict else rows
        key = (self._logits_at(self._handle), outputs)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = borrow(*key, self._vocab)
        return view[count - rows : count] if self._strict else view

    def _repair(self) -> None:
        """Make the cache hold exactly `tokens` again."""
        if self._strict:
            self._remove(self._memory, 1, -1, -1)
        self._tokens.truncate(self.forgetting.repair(len(self._tokens)))
