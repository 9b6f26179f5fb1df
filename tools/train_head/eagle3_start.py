"""How an EAGLE-3 head begins: as the target's own block on the states that block reads.

Knows a target's sizes and tensors, and which of them a head can begin as. Does not train.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localspec.errors import OptionError, PairRefused
from localspec.pairs.header import Header, read_header
from tools.eagle3_writer import Eagle3Shape, Eagle3Weights
from tools.train_head.target import Floats, output_rows, tensor_values

FEWEST_BLOCKS = 3
NOISE = 0.1
SMALL = 0.02
# Queries and keys turn neighbouring numbers, as these architectures' own do; others' would have to
# be reordered, so they begin at random.
_SAME_ROPE = frozenset({"llama"})


@dataclass(frozen=True)
class Start:
    """A head before training, and the size of each number it reads; `fc` is for divided ones."""

    head: Eagle3Weights
    scale: Floats = field(repr=False)


def shape_of(target: Path, layers: tuple[int, ...] | None = None) -> Eagle3Shape:
    """Give the sizes of a head for a target: its own block's.

    Raises: PairRefused for a target of too few blocks, OptionError for blocks it has not.
    """
    header = read_header(target)
    width = _number(header, "embedding_length", 0)
    blocks = _number(header, "block_count", 0) - _number(header, "nextn_predict_layers", 0)
    heads = _number(header, "attention.head_count", max(1, width // 64))
    kv_heads = _number(header, "attention.head_count_kv", heads)
    return Eagle3Shape(
        width=width,
        heads=heads,
        kv_heads=kv_heads if heads % kv_heads == 0 else heads,
        head_width=_number(header, "attention.key_length", width // heads),
        inner=_number(header, "feed_forward_length", 3 * width),
        layers=_taps(target, blocks, layers),
        epsilon=_real(header, "attention.layer_norm_rms_epsilon", 1e-5),
        rope_base=_real(header, "rope.freq_base", 10000.0),
        context=_number(header, "context_length", 4096),
    )


def start(
    target: Path, shape: Eagle3Shape, ids: NDArray[np.int64], states: Floats, *, seed: int
) -> Start:
    """Make the head that training begins with; `states` are a sample of what it will read.

    Shapes: states (rows, 3 * width).
    """
    header, rng = read_header(target), np.random.default_rng([seed, 2])
    size = np.sqrt((states**2).mean(0))
    scale = (size + 0.01 * size.mean() + 1e-6).astype(np.float32)
    small = 1 / float(np.sqrt((states[:, -shape.width :] ** 2).mean()) + 1e-6)
    tensors = _block(header, shape, rng, small)
    tensors["fc"] = _fusion(shape, scale, rng, small)
    norm = tensor_values(header, "output_norm.weight")
    tensors["output_norm"] = np.ones(shape.width, np.float32) if norm is None else norm
    tensors["output"] = output_rows(target, ids)
    return Start(Eagle3Weights(shape, tensors, ids), scale)


def _fusion(shape: Eagle3Shape, scale: Floats, rng: np.random.Generator, small: float) -> Floats:
    """Pass the last of the three states on, brought to the size of one, with some noise."""
    width = shape.width
    fusion = rng.standard_normal((width, 3 * width)) * NOISE / np.sqrt(3 * width)
    fusion[np.arange(width), np.arange(width) + 2 * width] += scale[-width:] * small
    return fusion.astype(np.float32)


def _block(
    header: Header, shape: Eagle3Shape, rng: np.random.Generator, small: float
) -> dict[str, Floats]:
    """Begin as the target's block that reads the last of the three states, where it fits.

    What the block adds to its input shrinks as the input does; the token's half of queries, keys
    and values begins near nothing.
    """
    width, inner = shape.width, shape.inner
    queries, keys = shape.heads * shape.head_width, shape.kv_heads * shape.head_width
    turned = header.arch in _SAME_ROPE

    def own(name: str, *size: int, keep: bool = True) -> Floats:
        found = tensor_values(header, f"blk.{shape.layers[-1]}.{name}.weight") if keep else None
        if found is not None and found.shape == size:
            return found
        if len(size) == 1:
            return np.ones(size, np.float32)
        return (rng.standard_normal(size) / np.sqrt(size[-1])).astype(np.float32)

    def joined(name: str, rows: int, *, keep: bool = True) -> Floats:
        token = (rng.standard_normal((rows, width)) * SMALL).astype(np.float32)
        return np.concatenate([token, own(name, rows, width, keep=keep)], axis=1)

    return {
        "attn_norm": np.ones(width, np.float32),
        "attn_norm_2": own("attn_norm", width),
        "attn_q": joined("attn_q", queries, keep=turned),
        "attn_k": joined("attn_k", keys, keep=turned),
        "attn_v": joined("attn_v", keys),
        "attn_output": own("attn_output", width, queries) * np.float32(small),
        "ffn_norm": own("ffn_norm", width),
        "ffn_gate": own("ffn_gate", inner, width),
        "ffn_up": own("ffn_up", inner, width),
        "ffn_down": own("ffn_down", width, inner) * np.float32(small),
    }


def _taps(target: Path, blocks: int, layers: tuple[int, ...] | None) -> tuple[int, int, int]:
    """Choose blocks near the beginning, in the middle and at the end."""
    if blocks < FEWEST_BLOCKS:
        raise PairRefused(f"{target.name} has {blocks} blocks; an EAGLE-3 head reads three of them")
    if layers is None:
        return (min(2, blocks // 2 - 1), blocks // 2, blocks - 1)
    if len(layers) != 3 or sorted(set(layers)) != list(layers) or layers[0] < 0:
        raise OptionError("--layers are three ascending numbers of blocks, for example 2,15,29")
    if layers[-1] >= blocks:
        raise OptionError(f"no block {layers[-1]} in {target.name}, which has {blocks}")
    return (layers[0], layers[1], layers[2])


def _number(header: Header, key: str, default: int) -> int:
    """Read a size; of one for each block, the largest."""
    array = header.array(f"{{arch}}.{key}")
    if array is not None:
        return int(max(array.numbers().tolist(), default=default)) or default
    return header.number(f"{{arch}}.{key}") or default


def _real(header: Header, key: str, default: float) -> float:
    value = header.metadata.get(f"{header.arch}.{key}", default)
    return float(value) if isinstance(value, (int, float)) else default
