"""Halves of blocks left out while decoding: what a pruned file would say, without the file.

The output of an attention or a feed-forward is set to zero in every pass, so the residual stream
goes on without it. Nothing is saved: this is for asking, not for drafting. Knows the names that
llama.cpp's graphs give such outputs. Does not know which halves are worth leaving out.
"""

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from localspec.engine import library

Part = Literal["attn", "ffn"]
ATTENTION: Part = "attn"
FEED_FORWARD: Part = "ffn"

# The product with the output matrix has no name of its own in every graph; its input has.
_OUTPUTS: dict[Part, tuple[str, ...]] = {
    ATTENTION: ("kqv_out",),
    FEED_FORWARD: ("ffn_out", "ffn_moe_out"),
}


@dataclass(frozen=True, order=True)
class Half:
    """The attention or the feed-forward of one block."""

    block: int
    part: Part


def whole(blocks: Iterable[int]) -> frozenset[Half]:
    """Give both halves of each block."""
    return frozenset(Half(block, part) for block in blocks for part in _OUTPUTS)


class Skips:
    """The halves that a context leaves out; may change between passes.

    `found` counts the outputs set to zero in the latest pass, so that a graph with other names is
    noticed rather than believed.
    """

    def __init__(self) -> None:
        self.found = 0
        self._names: frozenset[bytes] = frozenset()
        self._name = library.ggml("ggml_get_name", ctypes.c_char_p, ctypes.c_void_p)
        self._bytes = library.ggml("ggml_nbytes", ctypes.c_size_t, ctypes.c_void_p)
        self._fill = library.ggml(
            "ggml_backend_tensor_memset", None, ctypes.c_void_p, ctypes.c_uint8, *_SPAN
        )
        self.callback: Any = library.load().ggml_backend_sched_eval_callback(self._seen)

    def leave_out(self, halves: Iterable[Half]) -> None:
        """Leave these out from the next pass on, and nothing else."""
        names = (f"{name}-{each.block}" for each in halves for name in _OUTPUTS[each.part])
        self._names, self.found = frozenset(name.encode() for name in names), 0

    def _seen(self, tensor: int, ask: bool, _data: object) -> bool:
        if ask:
            return self._name(tensor) in self._names
        self._fill(tensor, 0, 0, self._bytes(tensor))
        self.found += 1
        return True


_SPAN = (ctypes.c_size_t, ctypes.c_size_t)
