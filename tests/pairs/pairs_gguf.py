"""Small model files with random weights that the engine really runs, one field broken at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np

NORMAL, CONTROL, UNUSED = 1, 3, 5
SPECIALS = {"<|end|>": 256, "<|start|>": 257, "<|pad|>": 258}


def byte_texts() -> list[str]:
    """The 256 printable stand-ins that byte-level BPE writes for bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = {byte: 256 + rank for rank, byte in enumerate(b for b in range(256) if b not in plain)}
    return [chr(others.get(byte, byte)) for byte in range(256)]


def texts(count: int, padding: int = 0) -> list[str]:
    words = [*byte_texts(), *SPECIALS]
    words += [f"word{number}" for number in range(len(words), count - padding)]
    return words[: count - padding] + [f"[PAD{i}]" for i in range(count - padding, count)]


@dataclass(frozen=True)
class Spec:
    """What the file holds; `scalars` are written last, so they override."""

    tokens: tuple[str, ...] = tuple(texts(512))
    arch: str = "llama"
    tokenizer: str = "gpt2"
    pre: str = "gpt-2"
    width: int = 64
    blocks: int = 2
    template: str = ""
    seed: int = 0
    specials: Mapping[str, int | bool] = field(
        default_factory=lambda: {"bos_token_id": 257, "eos_token_id": 256, "add_bos_token": True}
    )
    extra: Mapping[str, Any] = field(default_factory=dict)
    types: tuple[int, ...] = ()
    prediction_layers: int = 0


def token_type(text: str) -> int:
    if text.startswith("[PAD"):
        return UNUSED
    return CONTROL if text.startswith("<|") else NORMAL


def write(path: Path, spec: Spec) -> Path:
    writer = gguf.GGUFWriter(path, spec.arch)
    _sizes(writer, spec)
    _vocabulary(writer, spec)
    for key, value in spec.extra.items():
        _add(writer, key.replace("{arch}", spec.arch), value)
    _tensors(writer, spec)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _sizes(writer: gguf.GGUFWriter, spec: Spec) -> None:
    writer.add_name("tiny")
    writer.add_context_length(512)
    writer.add_embedding_length(spec.width)
    writer.add_block_count(spec.blocks)
    writer.add_feed_forward_length(2 * spec.width)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(spec.width // 4)


def _vocabulary(writer: gguf.GGUFWriter, spec: Spec) -> None:
    if not spec.tokenizer:
        return
    writer.add_tokenizer_model(spec.tokenizer)
    writer.add_tokenizer_pre(spec.pre)
    writer.add_token_list(list(spec.tokens))
    writer.add_token_types(list(spec.types) or [token_type(text) for text in spec.tokens])
    writer.add_token_merges(["w o", "wo r"])
    if spec.tokenizer == "llama":
        writer.add_token_scores([0.0] * len(spec.tokens))
    if spec.template:
        writer.add_chat_template(spec.template)
    for key, value in spec.specials.items():
        _add(writer, f"tokenizer.ggml.{key}", value)


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, list(value))


def _tensors(writer: gguf.GGUFWriter, spec: Spec) -> None:
    rng = np.random.default_rng(spec.seed)

    def weights(name: str, *shape: int) -> None:
        writer.add_tensor(name, rng.normal(0, 0.1, shape).astype(np.float32))

    width, narrow = spec.width, spec.width // 2
    weights("token_embd.weight", len(spec.tokens), width)
    weights("output_norm.weight", width)
    weights("output.weight", len(spec.tokens), width)
    for block in range(spec.blocks):
        for name, rows in (("attn_q", width), ("attn_k", narrow), ("attn_v", narrow)):
            weights(f"blk.{block}.{name}.weight", rows, width)
        weights(f"blk.{block}.attn_output.weight", width, width)
        weights(f"blk.{block}.attn_norm.weight", width)
        weights(f"blk.{block}.ffn_norm.weight", width)
        weights(f"blk.{block}.ffn_gate.weight", 2 * width, width)
        weights(f"blk.{block}.ffn_up.weight", 2 * width, width)
        weights(f"blk.{block}.ffn_down.weight", width, 2 * width)
    for block in range(spec.blocks - spec.prediction_layers, spec.blocks):
        weights(f"blk.{block}.nextn.eh_proj.weight", width, 2 * width)
