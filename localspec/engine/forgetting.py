"""How a cache takes tokens back: by removal, by snapshots, by checkpoints, or by reading again.

Knows what the engine offers, and tries each way before it is trusted. Does not know drafts: it
sees only passes, and how many rows of logits were asked of them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from localspec.core import proof
from localspec.core.proof import Trial
from localspec.core.tokens import TokenSequence
from localspec.engine import checkpoints, library
from localspec.engine.checkpoints import RECENT, Checkpoints, Keep
from localspec.engine.devices import can_offload
from localspec.engine.shape import Rollback


class Way(StrEnum):
    """A way to take tokens back, the fastest first."""

    REMOVAL = "removal"
    SNAPSHOTS = "snapshots"
    CHECKPOINTS = "checkpoints"
    READING_AGAIN = "reading again"
    NONE = "none"


PARTS = (Way.REMOVAL, Way.SNAPSHOTS, Way.CHECKPOINTS)
# Tokens that are read again beside a block of guesses before a pass of their own pays.
_CARRIED = 4


class Probed(TokenSequence, Protocol):
    """A sequence whose ways can be tried one by one."""

    max_rows: int

    @property
    def forgetting(self) -> "Forgetting":
        """Give what takes its tokens back."""
        ...


@dataclass(frozen=True)
class Cache:
    """The engine's pointers of one context, and what its layers keep.

    `window` is the length of a sliding window whose cache was made short, else 0.
    """

    handle: int
    memory: int
    window: int
    options: Rollback


class Forgetting:
    """Take the end of a cache back; `ways` are those that were proven, the fastest first."""

    def __init__(self, cache: Cache) -> None:
        binding = library.load()
        self.ways: tuple[Way, ...] = PARTS
        self.snapshots = int(binding.llama_n_rs_seq(cache.handle))
        self._cache = cache
        self._remove, self._clear = binding.llama_memory_seq_rm, binding.llama_memory_clear
        self._first = binding.llama_memory_seq_pos_min
        self._last_pass = 0
        self.checkpoints = _checkpoints(cache) if checkpoints.available() else None

    @property
    def way(self) -> Way:
        """Give the fastest way that was proven."""
        return self.ways[0]

    @property
    def slides(self) -> bool:
        """Tell whether a window slides in a short cache, which loses what lies before it."""
        return self._cache.window > 0

    def before_pass(self, held: int, rows: int) -> None:
        """Copy the state if the tokens of the coming pass may have to be taken back."""
        if self._copies(rows) and self.checkpoints:
            self.checkpoints.save_pass(held)

    def after_pass(self, count: int) -> None:
        """Note how many tokens the engine has just read together."""
        self._last_pass = count

    def after_prompt(self, held: int) -> None:
        """Copy the state where a prompt ends, which later turns come back to."""
        if Way.CHECKPOINTS in self.ways and self.checkpoints:
            self.checkpoints.save_turn(held)

    def settled(self, count: int, rows: int) -> int:
        """Say how many tokens of a pass deserve one of their own, so that a copy can follow it."""
        certain = count - rows
        worth = rows > 1 and certain >= _CARRIED and not self._cache.options.guessing
        return certain if worth and self._copies(rows) else 0

    def rewind(self, length: int) -> int:
        """Take back everything from `length` on, at least; give what is left."""
        kept = length if length > 0 and self._exactly(length) else 0
        if not kept and length > 0 and Way.CHECKPOINTS in self.ways and self.checkpoints:
            kept = self.checkpoints.restore(length)
        if not kept:
            self._clear(self._cache.memory, False)
        if self.checkpoints:
            self.checkpoints.forget_after(kept)
        self._last_pass = 0
        return kept

    def repair(self, held: int) -> int:
        """Bring the cache back to `held` tokens after a pass that failed half-way, or to fewer."""
        self._last_pass = 0  # snapshots of a failed pass are not to be trusted
        return self.rewind(held)

    def _exactly(self, length: int) -> bool:
        if Way.REMOVAL in self.ways and self._in_window(length):
            return bool(self._remove(self._cache.memory, 0, length, -1))
        return Way.SNAPSHOTS in self.ways and self._snapshot(length)

    def _in_window(self, length: int) -> bool:
        """Tell whether a slid window still holds all that the token after `length` sees."""
        window = self._cache.window
        if not window:
            return True
        first = self._first(self._cache.memory, 0)
        return bool(0 <= first <= max(0, length - window))

    def _snapshot(self, length: int) -> bool:
        """Go back inside the last pass: older snapshots are other passes', whatever is said."""
        last = library.load().llama_memory_seq_pos_max(self._cache.memory, 0)
        back = last + 1 - length
        if not 0 < back < self._last_pass or back > self.snapshots:
            return False
        return bool(self._remove(self._cache.memory, 0, length, -1))

    def _copies(self, rows: int) -> bool:
        """Tell whether a pass of so many rows is preceded by a copy."""
        if Way.CHECKPOINTS not in self.ways or Way.REMOVAL in self.ways:
            return False
        if self._cache.options.guessing:
            return True
        deep = self.snapshots if Way.SNAPSHOTS in self.ways else 0
        return rows - 1 > deep


def _checkpoints(cache: Cache) -> Checkpoints:
    options = cache.options
    on_device = can_offload() if options.on_device is None else options.on_device
    keep = Keep(
        options.checkpoint_bytes,
        recent=RECENT if options.guessing else 1,
        on_device=on_device and not options.guessing,
    )
    return Checkpoints(cache.handle, cache.memory, keep)


def prove(sequence: Probed) -> tuple[Way, ...]:
    """Try the ways that this cache may need; give those that left the right logits.

    Three short passes for a cache that removes, up to eight for one that cannot. Leaves it empty.
    """
    ways = _proven(sequence)
    sequence.rewind(0)
    return ways or (Way.NONE,)


def _proven(sequence: Probed) -> tuple[Way, ...]:
    forgetting = sequence.forgetting
    forgetting.ways = (Way.REMOVAL,)
    ids = np.arange(min(3, sequence.capacity), dtype=np.int32)
    tried = proof.trial(sequence, ids, min(len(ids) - 1, sequence.max_rows))
    if proof.takes_back_a_pass(sequence, tried):
        return (Way.REMOVAL, *(_slower(sequence, tried) if forgetting.slides else ()))
    forgetting.ways = (Way.SNAPSHOTS,)
    snapshots = forgetting.snapshots > 0 and proof.takes_back_a_part(sequence, tried)
    return (*((Way.SNAPSHOTS,) if snapshots else ()), *_slower(sequence, tried))


def _slower(sequence: Probed, tried: Trial) -> tuple[Way, ...]:
    """Try the ways that copy a state, or read the history again."""
    forgetting = sequence.forgetting
    forgetting.ways = (Way.CHECKPOINTS,)
    if not proof.reads_again(sequence, tried):
        return ()
    copies = forgetting.checkpoints and proof.takes_back_a_pass(sequence, tried)
    return (Way.CHECKPOINTS,) if copies else (Way.READING_AGAIN,)
