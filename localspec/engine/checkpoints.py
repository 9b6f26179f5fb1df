"""Copies of the part of a cache that cannot forget: recurrent states, or a slid window.

Knows the engine's partial states and at which lengths they were taken. Does not know why a cache
is to go back, or whether it needs copies at all.
"""

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localspec.engine import library

PARTIAL, ON_DEVICE = 1, 2
# A draft reads its own guesses one by one, so it goes back by up to so many passes.
RECENT = 16
TURNS = 8
MOST_BYTES = 256 * 1024 * 1024
_FUNCTIONS = tuple(f"llama_state_seq_{verb}_ext" for verb in ("get_size", "get_data", "set_data"))


@dataclass(frozen=True)
class Checkpoint:
    """What a cache held at a length; `on_device` states stay there and are the only one."""

    length: int
    state: NDArray[np.uint8]
    on_device: bool = False


@dataclass(frozen=True)
class Keep:
    """How many copies to keep: bytes for all of them, and how many of the last passes."""

    most_bytes: int
    recent: int = 1
    on_device: bool = False


def available() -> bool:
    """Tell whether this engine gives out partial states."""
    return all(library.has(name) for name in _FUNCTIONS)


class Checkpoints:
    """Take and give back states of sequence 0 of one context.

    Those of the last passes serve rejected guesses. Those of turns, taken where a prompt ends,
    serve edited and repeated turns; when bytes run short they go first, the oldest before others.
    """

    def __init__(self, handle: int, memory: int, keep: Keep) -> None:
        self._handle, self._memory, self._keep = handle, memory, keep
        self._recent: list[Checkpoint] = []
        self._turns: list[Checkpoint] = []
        data, size = ctypes.c_void_p, ctypes.c_size_t
        arguments = (ctypes.c_void_p, data, size, ctypes.c_int32, ctypes.c_uint32)
        self._size = library.llama(_FUNCTIONS[0], size, data, ctypes.c_int32, ctypes.c_uint32)
        self._get = library.llama(_FUNCTIONS[1], size, *arguments)
        self._set = library.llama(_FUNCTIONS[2], size, *arguments)
        self._remove = library.load().llama_memory_seq_rm

    @property
    def bytes(self) -> int:
        """Give the bytes that all copies take in memory."""
        return sum(each.state.nbytes for each in (*self._recent, *self._turns))

    @property
    def lengths(self) -> list[int]:
        """Give the lengths one can go back to, ascending."""
        return sorted({each.length for each in (*self._recent, *self._turns)})

    def save_pass(self, length: int) -> None:
        """Copy the state before a pass whose tokens may be taken back."""
        if length and length not in self.lengths:
            self._recent.append(self._taken(length, on_device=self._keep.on_device))
            self._trim()

    def save_turn(self, length: int) -> None:
        """Copy the state where a prompt ends, unless it is too large to keep beside another."""
        if length and all(each.length != length for each in self._turns):
            if 2 * self._state_bytes(PARTIAL) > self._keep.most_bytes:
                return
            self._turns.append(self._taken(length, on_device=False))
            self._trim()

    def restore(self, length: int) -> int:
        """Go back to the last copy at or before `length`; give its length, 0 without one."""
        fitting = [each for each in (*self._turns, *self._recent) if each.length <= length]
        if not fitting:
            return 0
        best = max(fitting, key=lambda each: each.length)
        state = best.state
        flags = PARTIAL | (ON_DEVICE if best.on_device else 0)
        read = self._set(self._handle, state.ctypes.data, len(state), 0, flags)
        if not read or not self._remove(self._memory, 0, best.length, -1):
            return 0
        self.forget_after(best.length)
        return best.length

    def forget_after(self, length: int) -> None:
        """Drop the copies of a longer history, which is no longer true."""
        self._recent = [each for each in self._recent if each.length <= length]
        self._turns = [each for each in self._turns if each.length <= length]

    def _taken(self, length: int, *, on_device: bool) -> Checkpoint:
        flags = PARTIAL | (ON_DEVICE if on_device else 0)
        state = np.empty(self._state_bytes(flags), np.uint8)
        written = self._get(self._handle, state.ctypes.data, len(state), 0, flags)
        return Checkpoint(length, state[:written], on_device)

    def _state_bytes(self, flags: int) -> int:
        return int(self._size(self._handle, 0, flags))

    def _trim(self) -> None:
        recent = 1 if self._keep.on_device else self._keep.recent
        self._recent = self._recent[-recent:]
        self._turns = self._turns[-TURNS:]
        while self.bytes > self._keep.most_bytes and len(self._recent) + len(self._turns) > 1:
            (self._turns or self._recent).pop(0)
