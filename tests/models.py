"""Small random-weight GGUF files for tests, written with the `gguf` package.

`write_llama(path, **changes)` writes a llama-type model; `changes` are fields of `Llama` below, so
that header fields, token texts, padding, BOS/EOS flags, template, architecture name or context
length can be broken one at a time. `write_mamba(path, **changes)` writes a recurrent model with the
same vocabulary, `write_window(path, **changes)` one with a sliding window of 64.

Vocabulary (byte-level BPE, can encode any bytes):
  0 <|bos|>  1 <|eos|>  2 <|im_start|>  3 <|im_end|>  4 <|unk|>   control tokens
  5 .. 260   one token a byte
  261 ..     merges of common words, up to `n_tokens`
A draft is the same file with `noise=0.1` (relative to each tensor's spread).
`boosted={id: b}` adds a nearly constant amount (about b) to the logit of an id, whatever the text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
SPECIALS = ("<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>", "<|unk|>")
BOS, EOS, IM_START, IM_END, UNK = range(5)
FIRST_BYTE = len(SPECIALS)
_WORDS = (
    " the and of to a in is it you that he was for on are with as his they be at one have this "
    "from or had by hot word but what some we can out other were all there when up use your how "
    "said an each she which do their time if will way about many then them write would like so "
    "these her long make thing see him two has look more day could go come did number sound no "
    "most people my over know water than call first who may down side been now find any new work"
)
Value = str | int | float | bool | list[int]
Header = dict[str, Value]
_NORMAL, _CONTROL, _UNUSED = 1, 3, 5
_CONSTANT = 4.0  # channel 0 of the hidden state always holds this, so that a logit can be boosted


@dataclass(frozen=True)
class Llama:
    """A model file to write; every field may be changed by name."""

    seed: int = 1
    noise: float = 0.0
    noise_seed: int = 2
    n_layer: int = 4
    n_embd: int = 64
    n_head: int = 2
    n_head_kv: int = 1
    n_ff: int = 128
    n_ctx: int = 4096
    n_tokens: int = 384
    padding: int = 0
    """Extra ids at the end, with the text [PADn] and the type 'unused'."""
    renamed: Mapping[int, str] = field(default_factory=dict)
    types: Mapping[int, int] = field(default_factory=dict)
    boosted: Mapping[int, float] = field(default_factory=dict)
    spread: float = 0.25
    """Scale of the output matrix: larger is more peaked."""
    architecture: str = "llama"
    general_type: str = "model"
    name: str = "tiny"
    tokenizer: str = "gpt2"
    pre: str = "gpt-2"
    bos: int | None = BOS
    eos: int | None = EOS
    eot: int | None = IM_END
    add_bos: bool | None = False
    add_eos: bool | None = None
    template: str | None = CHATML
    extra: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """Further header fields by their full name."""
    without: frozenset[str] = frozenset()
    """Tensors to leave out, by full name."""


def write_llama(path: Path, **changes: object) -> Path:
    """Write a llama-type model."""
    model = replace(Llama(), **changes)  # type: ignore[arg-type]
    return write_model(path, model, llama_tensors(model), attention_header(model))


def write_mamba(path: Path, **changes: object) -> Path:
    """Write a recurrent model, whose cache cannot forget only its end."""
    model = replace(Llama(architecture="mamba", name="tiny-mamba"), **changes)  # type: ignore[arg-type]
    inner, state, rank = 2 * model.n_embd, 16, 4
    header = {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": rank,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    return write_model(path, model, _mamba_tensors(model, inner, state, rank), header)


def write_window(path: Path, **changes: object) -> Path:
    """Write a model whose layers, but for every fourth, see 64 tokens back."""
    model = replace(Llama(architecture="cohere2", name="tiny-window"), **changes)  # type: ignore[arg-type]
    tensors = llama_tensors(model)
    for layer in range(model.n_layer):  # attention and feed-forward side by side, one norm
        del tensors[f"blk.{layer}.ffn_norm.weight"]
    tensors["token_embd.weight"] = tensors.pop("output.weight")
    header = attention_header(model) | {
        "attention.sliding_window": 64,
        "attention.layer_norm_epsilon": 1e-5,
        "logit_scale": 1.0,
    }
    return write_model(path, model, tensors, header)


def token_texts(model: Llama) -> tuple[list[str], list[str]]:
    """Give the texts of the ids and the merges, in the byte alphabet of GPT-2."""
    alphabet = _byte_alphabet()
    texts = [*SPECIALS, *(alphabet[byte] for byte in range(256))]
    merges: list[str] = []
    for word in _WORDS.split(" "):
        _merge(alphabet[0x20] + word, texts, merges, model.n_tokens)
    texts += [f"<spare{i}>" for i in range(len(texts), model.n_tokens)]
    texts += [f"[PAD{i}]" for i in range(model.n_tokens, model.n_tokens + model.padding)]
    for token, text in model.renamed.items():
        texts[token] = text
    return texts, merges


def _merge(word: str, texts: list[str], merges: list[str], room: int) -> None:
    for end in range(1, len(word)):
        left, right = word[:end], word[end]
        if left + right not in texts and len(texts) < room:
            texts.append(left + right)
            merges.append(f"{left} {right}")


def _byte_alphabet() -> list[str]:
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return [chr(b) if b in shown else chr(256 + hidden.index(b)) for b in range(256)]


class Weights:
    """Draw tensors in a fixed order, so that a draft differs from its target by noise only."""

    def __init__(self, model: Llama) -> None:
        self._rng = np.random.default_rng(model.seed)
        self._noise_rng = np.random.default_rng(model.noise_seed)
        self._noise = model.noise

    def draw(self, *shape: int, scale: float) -> NDArray[np.float32]:
        drawn = self._rng.standard_normal(shape) * scale
        noise = self._noise_rng.standard_normal(shape) * scale * self._noise
        return (drawn + noise).astype(np.float32)


def llama_tensors(model: Llama) -> dict[str, NDArray[np.float32]]:
    weights, width = Weights(model), model.n_embd
    kv = model.n_head_kv * width // model.n_head
    tensors = ends(model, weights)
    for layer in range(model.n_layer):
        block = {
            "attn_norm": np.ones(width, np.float32),
            "attn_q": weights.draw(width, width, scale=2 / width**0.5),
            "attn_k": weights.draw(kv, width, scale=2 / width**0.5),
            "attn_v": weights.draw(kv, width, scale=1 / width**0.5),
            "attn_output": weights.draw(width, width, scale=1.5 / width**0.5),
            "ffn_norm": np.ones(width, np.float32),
            "ffn_gate": weights.draw(model.n_ff, width, scale=1 / width**0.5),
            "ffn_up": weights.draw(model.n_ff, width, scale=1 / width**0.5),
            "ffn_down": weights.draw(width, model.n_ff, scale=1.5 / model.n_ff**0.5),
        }
        block["attn_output"][0] = block["ffn_down"][0] = 0
        tensors |= {f"blk.{layer}.{name}.weight": value for name, value in block.items()}
    return tensors


def ends(model: Llama, weights: Weights) -> dict[str, NDArray[np.float32]]:
    count = model.n_tokens + model.padding
    embedding = weights.draw(count, model.n_embd, scale=1)
    output = weights.draw(count, model.n_embd, scale=model.spread)
    embedding[:, 0], output[:, 0] = _CONSTANT, 0
    for token, amount in model.boosted.items():
        output[token, 0] = amount
    return {
        "token_embd.weight": embedding,
        "output_norm.weight": np.ones(model.n_embd, np.float32),
        "output.weight": output,
    }


def _mamba_tensors(
    model: Llama, inner: int, state: int, rank: int
) -> dict[str, NDArray[np.float32]]:
    weights = Weights(model)
    tensors = ends(model, weights)
    for layer in range(model.n_layer):
        block = mamba_block(model, weights, (inner, state, rank))
        tensors |= {f"blk.{layer}.{name}": value for name, value in block.items()}
    return tensors


def mamba_block(
    model: Llama, weights: "Weights", sizes: tuple[int, int, int]
) -> dict[str, NDArray[np.float32]]:
    """Draw one block; `sizes` are the inner width, the state's and the rank of the time step."""
    (inner, state, rank), width = sizes, model.n_embd
    return {
        "attn_norm.weight": np.ones(width, np.float32),
        "ssm_in.weight": weights.draw(2 * inner, width, scale=1 / width**0.5),
        "ssm_conv1d.weight": weights.draw(inner, 4, scale=0.5),
        "ssm_conv1d.bias": np.zeros(inner, np.float32),
        "ssm_x.weight": weights.draw(rank + 2 * state, inner, scale=1 / inner**0.5),
        "ssm_dt.weight": weights.draw(inner, rank, scale=0.5),
        "ssm_dt.bias": np.full(inner, -2, np.float32),
        "ssm_a": -np.tile(np.arange(1, state + 1, dtype=np.float32), (inner, 1)),
        "ssm_d": np.ones(inner, np.float32),
        "ssm_out.weight": weights.draw(width, inner, scale=1 / inner**0.5),
    }


def attention_header(model: Llama) -> Header:
    return {
        "feed_forward_length": model.n_ff,
        "attention.head_count": model.n_head,
        "attention.head_count_kv": model.n_head_kv,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": model.n_embd // model.n_head,
    }


def write_model(
    path: Path,
    model: Llama,
    tensors: Mapping[str, NDArray[np.float32]],
    header: Header,
) -> Path:
    writer = gguf.GGUFWriter(path, model.architecture)
    writer.add_type(model.general_type)
    writer.add_name(model.name)
    writer.add_context_length(model.n_ctx)
    writer.add_embedding_length(model.n_embd)
    writer.add_block_count(model.n_layer)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add(writer, {f"{model.architecture}.{key}": value for key, value in header.items()})
    _write_vocabulary(writer, model)
    _add(writer, model.extra)
    for name, value in tensors.items():
        if name not in model.without:
            writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _write_vocabulary(writer: gguf.GGUFWriter, model: Llama) -> None:
    texts, merges = token_texts(model)
    types = [_CONTROL] * len(SPECIALS) + [_NORMAL] * (model.n_tokens - len(SPECIALS))
    types += [_UNUSED] * model.padding
    for token, kind in model.types.items():
        types[token] = kind
    writer.add_tokenizer_model(model.tokenizer)
    writer.add_tokenizer_pre(model.pre)
    writer.add_token_list(texts)
    writer.add_token_types(types)
    if model.tokenizer == "gpt2":
        writer.add_token_merges(merges)
    else:
        writer.add_token_scores([-float(token) for token in range(len(texts))])
    ids = {"bos": model.bos, "eos": model.eos, "eot": model.eot}
    known = {f"tokenizer.ggml.{key}_token_id": value for key, value in ids.items()}
    flags = {"add_bos_token": model.add_bos, "add_eos_token": model.add_eos}
    known |= {f"tokenizer.ggml.{key}": value for key, value in flags.items()}
    _add(writer, {key: value for key, value in known.items() if value is not None})
    if model.template is not None:
        writer.add_chat_template(model.template)


def _add(writer: gguf.GGUFWriter, fields: Mapping[str, Value]) -> None:
    for key, value in fields.items():
        if isinstance(value, list):
            writer.add_array(key, value)
        elif isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        else:
            writer.add_string(key, value)
