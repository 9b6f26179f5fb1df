"""Files without some attentions or feed-forwards: whole blocks dropped, single halves left out.

llama.cpp's graphs want both halves in every block, but for one family made by architecture search,
`deci`, whose header counts heads and widths block by block. A Llama or Qwen2 file says the same
under that name: an attention is left out with 0 heads, a feed-forward with a sliver of zeros, since
that graph forgets the attention of a block whose feed-forward has no width at all. Weights are
copied bit by bit; rotary pairs are put side by side where the family keeps them apart. Does not
know which halves are worth leaving out.
"""

import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from localspec.engine import library
from localspec.engine.metadata import Metadata, TensorInfo, opened
from localspec.engine.quantise import check_disk
from localspec.engine.skipping import ATTENTION, FEED_FORWARD, Half, Part
from localspec.engine.whole_file import whole_file
from localspec.errors import OptionError, PairRefused

_FAMILY = "deci"
_APART = {"llama": False, "qwen2": True}  # whether rotary pairs lie half a head apart
_SLIVER = 32  # the narrowest width that every layout of weights can hold
_SLIVER_TYPE = 2  # GGML_TYPE_Q4_0, whose zero bytes are zeros
_BLOCK = re.compile(r"blk\.(\d+)\.(.+)")
_HALVES: dict[Part, set[str]] = {
    ATTENTION: {"attn_norm", "attn_q", "attn_k", "attn_v", "attn_output"},
    FEED_FORWARD: {"ffn_norm", "ffn_gate", "ffn_up", "ffn_down"},
}
_ENDS = {"token_embd.weight", "output_norm.weight", "output.weight", "rope_freqs.weight"}


@dataclass(frozen=True)
class _Piece:
    """A tensor to write: from where, under which name; zeros without a source."""

    name: str
    info: TensorInfo
    heads: int = 0
    zeros: bool = False


def half_bytes(path: Path) -> dict[Half, int]:
    """Give the bytes of weights in each half of each block, for a file of any family."""
    found: dict[Half, int] = {}
    with opened(path) as facts:
        for tensor in facts.tensors():
            match = _BLOCK.match(tensor.name)
            if match:
                later = match[2].startswith(("ffn", "post_ffw"))
                half = Half(int(match[1]), FEED_FORWARD if later else ATTENTION)
                found[half] = found.get(half, 0) + tensor.bytes
    return found


def refusal(path: Path) -> str:
    """Say why single halves of a file cannot be left out; empty when they can."""
    with opened(path) as facts:
        return _refusal(facts)


def write_without(source: Path, target: Path, halves: Iterable[Half]) -> Path:
    """Write `source` without these halves; the target appears whole or not at all.

    Raises: PairRefused for a family that cannot be written so, OptionError for halves that leave
    no model, or a first block without attention.
    """
    with opened(source) as facts:
        reason = _refusal(facts)
        if reason:
            raise PairRefused(f"single halves of {source.name} cannot be left out: {reason}")
        blocks = _kept(facts, frozenset(halves))
        check_disk(source, target)
        pieces = list(_pieces(facts, blocks))
        with whole_file(target) as temporary, temporary.open("wb") as file:
            file.write(_header(facts, blocks, pieces))
            _write_weights(np.memmap(source, np.uint8, "r"), file, facts, pieces)
    return target


def _refusal(facts: Metadata) -> str:
    arch = facts.architecture
    if arch not in _APART:
        return f"its family, {arch}, has no graph with blocks of unequal make"
    for field in ("expert_count", "attention.sliding_window"):
        if facts.number(f"{arch}.{field}"):
            return f"its header says {field}"
    if facts.array_fields(arch):
        return f"its blocks differ already ({facts.array_fields(arch)[0]})"
    length, heads = facts.number(f"{arch}.embedding_length"), facts.number(_heads(arch))
    width = facts.number(f"{arch}.attention.key_length") or length // max(heads, 1)
    if (facts.number(f"{arch}.rope.dimension_count") or width) != width:
        return "only a part of each head is rotated"
    odd = next((each.name for each in facts.tensors() if not _known(each.name)), "")
    return f"it has a tensor {odd}" if odd else ""


def _known(name: str) -> bool:
    match = _BLOCK.match(name)
    if match is None:
        return name in _ENDS
    stem, _, ending = match[2].rpartition(".")
    return ending in {"weight", "bias"} and any(stem in names for names in _HALVES.values())


def _heads(arch: str) -> str:
    return f"{arch}.attention.head_count"


def _kept(facts: Metadata, halves: frozenset[Half]) -> list[tuple[int, frozenset[Part]]]:
    """Give the blocks that stay, each with the halves that stay."""
    count = facts.number(f"{facts.architecture}.block_count")
    absent = [half for half in halves if not 0 <= half.block < count]
    if absent:
        raise OptionError(f"no block {absent[0].block}: the model has {count}")
    kept = []
    for block in range(count):
        parts = frozenset(part for part in _HALVES if Half(block, part) not in halves)
        if parts:
            kept.append((block, parts))
    if not kept or ATTENTION not in kept[0][1]:
        raise OptionError("the first block that stays needs its attention")
    return kept


def _pieces(facts: Metadata, blocks: list[tuple[int, frozenset[Part]]]) -> Iterator[_Piece]:
    places = {block: (place, parts) for place, (block, parts) in enumerate(blocks)}
    for tensor in facts.tensors():
        match = _BLOCK.match(tensor.name)
        if match is None:
            yield _Piece(tensor.name, tensor)
        elif int(match[1]) in places:
            place, parts = places[int(match[1])]
            yield from _piece(facts, tensor, f"blk.{place}.{match[2]}", parts)


def _piece(
    facts: Metadata, tensor: TensorInfo, name: str, parts: frozenset[Part]
) -> Iterator[_Piece]:
    stem = name.split(".")[2]
    if stem in _HALVES[ATTENTION]:
        if ATTENTION in parts:
            yield _Piece(name, tensor, _rotated_heads(facts, stem))
    elif FEED_FORWARD in parts or stem == "ffn_norm":
        yield _Piece(name, tensor)
    else:
        shape = (tensor.shape[0], _SLIVER) if stem != "ffn_down" else (_SLIVER, tensor.shape[1])
        if name.endswith(".weight"):
            yield _Piece(name, TensorInfo(name, _SLIVER_TYPE, shape, 0, 0), zeros=True)


def _rotated_heads(facts: Metadata, stem: str) -> int:
    """Count the heads whose rows must be reordered: 0 where the family keeps pairs together."""
    arch = facts.architecture
    if not _APART[arch] or stem not in {"attn_q", "attn_k"}:
        return 0
    heads = facts.number(_heads(arch))
    shared = facts.number(f"{_heads(arch)}_kv") or heads
    return heads if stem == "attn_q" else shared


def _header(
    facts: Metadata, blocks: list[tuple[int, frozenset[Part]]], pieces: list[_Piece]
) -> bytes:
    arch = facts.architecture
    heads = facts.number(_heads(arch))
    shared = facts.number(f"{_heads(arch)}_kv") or heads
    width = facts.number(f"{arch}.feed_forward_length")
    own = facts.number(f"{arch}.attention.key_length")
    size = own or facts.number(f"{arch}.embedding_length") // heads
    per_block: Mapping[str, list[int]] = {
        "attention.head_count": [heads * (ATTENTION in parts) for _, parts in blocks],
        "attention.head_count_kv": [shared * (ATTENTION in parts) for _, parts in blocks],
        "feed_forward_length": [width if FEED_FORWARD in parts else _SLIVER for _, parts in blocks],
    }
    numbers = {
        "block_count": len(blocks),
        "attention.key_length": size,
        "attention.value_length": facts.number(f"{arch}.attention.value_length") or size,
        "rope.dimension_count": size,
    }
    with facts.renamed(_FAMILY) as new:
        for field, value in numbers.items():
            new.set_number(f"{_FAMILY}.{field}", value)
        for field, values in per_block.items():
            new.set_numbers(f"{_FAMILY}.{field}", values)
        return new.with_tensors([(piece.name, piece.info) for piece in pieces])


def _write_weights(
    source: NDArray[np.uint8], file: IO[bytes], facts: Metadata, pieces: list[_Piece]
) -> None:
    for piece in pieces:
        file.write(b"\0" * (-file.tell() % facts.alignment))
        if piece.zeros:
            file.write(b"\0" * sliver_bytes(piece.info))
            continue
        start = facts.data_offset + piece.info.offset
        data = source[start : start + piece.info.bytes]
        file.write((_side_by_side(data, piece) if piece.heads else data).data)
    file.write(b"\0" * (-file.tell() % facts.alignment))


def sliver_bytes(info: TensorInfo) -> int:
    """Give the bytes of a tensor of zeros."""
    row: Any = library.ggml("ggml_row_size", ctypes.c_size_t, ctypes.c_int, ctypes.c_int64)
    return int(row(info.type, info.shape[0])) * info.shape[1]


def _side_by_side(data: NDArray[np.uint8], piece: _Piece) -> NDArray[np.uint8]:
    """Reorder a head's rows from 0, 1, …, h, h+1, … to 0, h, 1, h+1, …, byte for byte."""
    rows = piece.info.shape[-1]
    halves = data.reshape(piece.heads, 2, rows // piece.heads // 2, -1)
    return np.ascontiguousarray(halves.transpose(0, 2, 1, 3)).reshape(-1)
