"""One sequence of (token, state) pairs in the engine, and the passes that read it.

Knows the extended batch and a context of a head. Does not know which pair belongs where.
"""

import ctypes

import numpy as np

from localspec.core.tokens import Logits, Tokens
from localspec.engine import library, staging
from localspec.engine.context import Context
from localspec.engine.model import Model
from localspec.engine.passes import DecodeFailed
from localspec.engine.shape import ContextOptions, create
from localspec.engine.window import States

# A head computes logits for every row it reads, and its encoder needs them reserved: few rows a
# pass keep that memory small (32 rows of 150,000 ids are 19 MB).
PASS_ROWS = 32
# Up to here the rows that lead to a guess are read in one pass with it, instead of two.
_TOGETHER = 16
_ENCODE, _DECODE = 0, 1


class _Embedding(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("n_rows", ctypes.c_size_t), ("n_embd", ctypes.c_size_t))


class _Batch:
    """The rows of one pass, in the engine's extended batch."""

    def __init__(self, handle: int, width: int) -> None:
        pointer, integer = ctypes.c_void_p, ctypes.c_int32
        declare = library.llama
        self._free = declare("llama_batch_ext_free", None, pointer)
        self._clear = declare("llama_batch_ext_clear", None, pointer)
        name = "llama_batch_ext_add_token"
        self._add_token = declare(name, integer, pointer, integer, integer)
        name = "llama_batch_ext_add_embd"
        self._add_state = declare(name, integer, pointer, integer, _Embedding)
        name = "llama_batch_ext_set_embd_token"
        self._set_state = declare(name, ctypes.c_bool, pointer, integer, _Embedding)
        name = "llama_batch_ext_set_pos"
        self._set_position = declare(name, ctypes.c_bool, pointer, integer, pointer)
        name = "llama_batch_ext_set_output_logits"
        self._set_output = declare(name, ctypes.c_bool, pointer, integer, ctypes.c_bool)
        self.native: int | None = declare("llama_batch_ext_init", pointer, pointer)(handle)
        # The second, third and fourth numbers serve models whose positions have several parts.
        self._position = (ctypes.c_int32 * 4)()
        self._position_at = ctypes.addressof(self._position)
        self._width = width

    def pairs(self, tokens: list[int], address: int, start: int, *, output: bool) -> None:
        """Fill in tokens with their states, which lie at an address one behind the other."""
        self._clear(self.native)
        state = _Embedding(address, 1, self._width)
        for i, token in enumerate(tokens):
            state.data = address + 4 * i * self._width
            self._position[0] = start + i
            placed = self._add_token(self.native, 0, token) == i
            placed = placed and self._set_position(self.native, i, self._position_at)
            if not (placed and self._set_state(self.native, i, state)):
                raise DecodeFailed(f"the engine refuses the pair of token {token} and its state")
            self._set_output(self.native, i, output)

    def states(self, rows: States, start: int) -> None:
        """Fill in states alone."""
        self._clear(self.native)
        address, width = rows.ctypes.data, rows.shape[1]
        for i in range(len(rows)):
            self._position[:] = [start + i] * 4
            state = _Embedding(address + 4 * i * width, 1, width)
            placed = self._add_state(self.native, 0, state) == i
            if not (placed and self._set_position(self.native, i, self._position_at)):
                raise DecodeFailed(f"the engine refuses a state of {width} numbers")
            self._set_output(self.native, i, True)

    def close(self) -> None:
        """Free the batch."""
        if self.native is not None:
            self._free(self.native)
            self.native = None


class PairCache:
    """One sequence of pairs in a context of the engine, and the passes over it."""

    def __init__(self, model: Model, target: Context, options: ContextOptions, kind: int) -> None:
        self.model, self.target = model, target
        self.capacity = options.n_ctx
        self.width = model.n_embd_out
        self._nextn = staging.function("llama_get_embeddings_nextn")
        self._nextn_at = staging.function("llama_get_embeddings_nextn_ith")
        switch = staging.function("llama_set_embeddings_nextn")
        others = {"ctx_other": target.handle, "ctx_type": kind, "n_outputs_max": PASS_ROWS}
        self._handle: int | None = create(model, options, PASS_ROWS, others=others)
        switch(self._handle, True, True)
        self._batch = _Batch(self.handle, self.width)
        binding = library.load()
        self._memory = binding.llama_get_memory(self._handle)
        self._remove = binding.llama_memory_seq_rm
        self._synchronize = binding.llama_synchronize
        pointer = ctypes.c_void_p
        self._process = library.llama(
            "llama_process", ctypes.c_int32, pointer, ctypes.c_int32, pointer
        )
        self._logits = library.llama("llama_get_logits_ith", pointer, pointer, ctypes.c_int32)
        self._views: dict[int, Logits] = {}
        for owner in (target.model, model):
            owner.attach(self)

    @property
    def handle(self) -> int:
        """Give the engine's pointer."""
        if self._handle is None:
            raise ValueError("this head is closed")
        return self._handle

    def cut(self, position: int) -> None:
        """Drop what stands at a position and after."""
        self._remove(self._memory, 0, position, -1)

    def decode(self, tokens: Tokens | list[int], states: int, start: int, *, output: bool) -> None:
        """Read pairs in passes of a fitting size; their states lie at an address."""
        ids = tokens if isinstance(tokens, list) else tokens.tolist()
        for at in range(0, len(ids), PASS_ROWS):
            chunk = ids[at : at + PASS_ROWS]
            address = states + 4 * at * self.width
            self._batch.pairs(chunk, address, start + at, output=output)
            self._run(_DECODE)

    def read(self, tokens: Tokens, states: int, start: int, *, guess: bool) -> None:
        """Read pairs, and ask for logits after the last one.

        A pass gives logits for all of its rows or for none: where only some are asked for, some
        graphs of the engine give the wrong ones.
        """
        ahead = len(tokens) - 1
        if not guess or ahead < _TOGETHER:
            self.decode(tokens, states, start, output=guess)
            return
        self.decode(tokens[:-1], states, start, output=False)
        self.decode(tokens[-1:], states + 4 * ahead * self.width, start + ahead, output=True)

    def encode(self, rows: States, start: int) -> States:
        """Turn states of the target into states of the head.

        Nothing is kept in the cache, yet the engine wants positions that follow what it holds.
        """
        encoded = np.empty((len(rows), self.width), np.float32)
        for at in range(0, len(rows), PASS_ROWS):
            chunk = rows[at : at + PASS_ROWS]
            self._batch.states(chunk, start)
            self._run(_ENCODE)
            size = 4 * chunk.shape[0] * self.width
            address = self._nextn(self.handle)
            ctypes.memmove(encoded[at:].ctypes.data, address, size)
        return encoded

    def logits(self) -> Logits:
        """Give the logits of the last row."""
        address = self._logits(self.handle, -1)
        view = self._views.get(address)
        if view is None:
            raw = (ctypes.c_float * self.model.n_vocab).from_address(address)
            view = self._views[address] = np.ctypeslib.as_array(raw)
            view.flags.writeable = False
        return view

    def state(self) -> int:
        """Give the address of the last row's state; borrowed until the next pass."""
        return int(self._nextn_at(self.handle, -1))

    def close(self) -> None:
        """Free the cache."""
        if self._handle is not None:
            self._views.clear()
            self._batch.close()
            library.load().llama_free(self._handle)
            self._handle = None

    def _run(self, kind: int) -> None:
        code = self._process(self.handle, kind, self._batch.native)
        self._synchronize(self.handle)
        if code:
            raise DecodeFailed(
                f"the engine could not run the head {self.model.path.name}: code {code}"
            )
