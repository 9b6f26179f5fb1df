"""Many sequences of one model side by side: a token each in one pass, with its hidden state.

Knows slots, positions and the engine's batch. Does not know what is written.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from localspec.engine import Model, library
from localspec.errors import PairRefused

ROWS = 512


@dataclass(frozen=True)
class Rows:
    """What one pass gave. Shapes: logits (slots, vocabulary), hidden (slots, width), borrowed."""

    logits: NDArray[np.float32]
    hidden: NDArray[np.float32]


class ParallelContext:
    """`slots` caches of `room` tokens each."""

    def __init__(self, model: Model, slots: int, room: int, *, threads: int) -> None:
        self._api, self._model = library.load(), model
        self._width, self._vocabulary = model.n_embd, model.n_vocab
        params = self._api.llama_context_default_params()
        params.n_ctx, params.n_seq_max = slots * room, slots
        params.n_batch = params.n_ubatch = ROWS
        params.n_outputs_max = max(slots, 1)
        params.n_threads = params.n_threads_batch = threads
        params.kv_unified, params.no_perf = False, True
        self._handle = self._api.llama_init_from_model(model.handle, params)
        if not self._handle:
            raise PairRefused(f"no context of {slots} x {room} tokens", "fewer --slots")
        self._memory = self._api.llama_get_memory(self._handle)
        self._batch = self._api.llama_batch_init(ROWS, 0, 1)
        self._logits = library.llama("llama_get_logits_ith", ctypes.c_void_p, *_ROW)
        self._hidden = library.llama("llama_get_embeddings_ith", ctypes.c_void_p, *_ROW)

    def restart(self, slot: int, ids: Sequence[int]) -> None:
        """Empty a slot and read `ids` into it."""
        self._api.llama_memory_seq_rm(self._memory, slot, -1, -1)
        self._api.llama_set_embeddings(self._handle, False)
        for start in range(0, len(ids), ROWS):
            part = ids[start : start + ROWS]
            self._decode([(slot, start + i, token) for i, token in enumerate(part)], wanted=False)

    def step(self, rows: Sequence[tuple[int, int, int]]) -> Rows:
        """Decode one (slot, position, token) of each slot."""
        self._api.llama_set_embeddings(self._handle, True)
        self._decode(rows, wanted=True)
        count = range(len(rows))
        return Rows(
            np.stack([self._row(self._logits, i, self._vocabulary) for i in count]),
            np.stack([self._row(self._hidden, i, self._width) for i in count]),
        )

    def close(self) -> None:
        """Give the memory back."""
        if self._handle:
            self._api.llama_batch_free(self._batch)
            self._api.llama_free(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decode(self, rows: Sequence[tuple[int, int, int]], *, wanted: bool) -> None:
        batch: Any = self._batch
        batch.n_tokens = len(rows)
        for i, (slot, position, token) in enumerate(rows):
            batch.token[i], batch.pos[i] = token, position
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, slot
            batch.logits[i] = int(wanted)
        code = self._api.llama_decode(self._handle, batch)
        if code:
            raise PairRefused(f"the engine could not decode {len(rows)} rows: code {code}")

    def _row(self, read: Any, i: int, width: int) -> NDArray[np.float32]:
        raw = (ctypes.c_float * width).from_address(read(self._handle, i))
        return np.ctypeslib.as_array(raw)


_ROW = (ctypes.c_void_p, ctypes.c_int32)
