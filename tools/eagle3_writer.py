"""Write an EAGLE-3 head as the GGUF file that llama.cpp's `eagle3` architecture reads.

Knows names, metadata and which matrix bears which rounding; the tokeniser is the target's, copied.
Does not know where the weights come from. See `localspec.pairs.eagle3_file`, which judges it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from localspec.pairs.eagle3_file import ARCHITECTURE
from localspec.pairs.header import read_header
from tools.tensors import add_tensor, finish

Floats = NDArray[np.float32]

BLOCK = (
    *("attn_norm", "attn_norm_2", "attn_q", "attn_k", "attn_v", "attn_output"),
    *("ffn_norm", "ffn_gate", "ffn_up", "ffn_down"),
)
TENSORS = {
    "fc": "fc.weight",
    **{name: f"blk.0.{name}.weight" for name in BLOCK},
    "output_norm": "output_norm.weight",
    "output": "output.weight",
}
"""Our short name of each tensor, and the file's. A name with `norm` in it is a vector."""

_FILE_TYPES = {
    "f32": gguf.LlamaFileType.ALL_F32,
    "f16": gguf.LlamaFileType.MOSTLY_F16,
    "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
    "q4_0": gguf.LlamaFileType.MOSTLY_Q4_0,
}


@dataclass(frozen=True)
class Eagle3Shape:
    """The sizes of a head; its width is the target's, whose token embedding it borrows.

    `layers` are the target's blocks whose inputs the head reads.
    """

    width: int
    heads: int
    kv_heads: int
    head_width: int
    inner: int
    layers: tuple[int, int, int]
    epsilon: float = 1e-5
    rope_base: float = 10000.0
    context: int = 4096


@dataclass(frozen=True)
class Eagle3Weights:
    """A head: the tensors by their short names, and the target's ids that it can guess."""

    shape: Eagle3Shape
    tensors: Mapping[str, Floats] = field(repr=False)
    ids: NDArray[np.int64] = field(repr=False)


def write_eagle3(
    path: Path, head: Eagle3Weights, target: Path, *, kind: str = "q8_0", notes: str = ""
) -> Path:
    """Write a head for a target; `notes` go into the file as `general.description`."""
    header = read_header(target)
    writer = gguf.GGUFWriter(path, ARCHITECTURE)
    writer.add_name(f"EAGLE-3 head for {header.name}")
    if header.text("general.license"):
        writer.add_license(header.text("general.license"))
    if notes:
        writer.add_description(notes)
    writer.add_file_type(_FILE_TYPES[kind])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    _add_shape(writer, head.shape)
    copy_tokeniser(writer, target)
    for name, stored in TENSORS.items():
        add_tensor(writer, stored, head.tensors[name], _kind_of(name, kind))
    writer.add_tensor("d2t", head.ids.astype(np.int64))
    finish(writer)
    return path


def copy_tokeniser(writer: gguf.GGUFWriter, target: Path) -> None:
    """Take over all that a file says of its tokeniser, but for chat templates, byte for byte."""
    for key, entry in gguf.GGUFReader(target).fields.items():
        if not key.startswith("tokenizer.") or key.startswith("tokenizer.chat_template"):
            continue
        inner = entry.types[-1]
        if inner == gguf.GGUFValueType.STRING:  # a token's text need not be valid UTF-8
            texts = [entry.parts[i].tobytes() for i in entry.data]
            value = texts if len(entry.types) > 1 else texts[0]
        else:
            value = entry.contents()
        writer.add_key_value(key, value, entry.types[0], inner if len(entry.types) > 1 else None)


def _add_shape(writer: gguf.GGUFWriter, shape: Eagle3Shape) -> None:
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_array(f"{ARCHITECTURE}.target_layers", list(shape.layers))
    writer.add_uint32(f"{ARCHITECTURE}.target_hidden_size", shape.width)
    writer.add_bool(f"{ARCHITECTURE}.norm_before_residual", False)
    writer.add_bool(f"{ARCHITECTURE}.norm_before_fc", False)


def _kind_of(name: str, kind: str) -> str:
    """Keep vectors whole, and eight bits where the target's states come in.

    Their columns differ in size by a factor of thirty, which four bits a block would not bear.
    """
    if "norm" in name:
        return "f32"
    return "q8_0" if name == "fc" and kind == "q4_0" else kind
