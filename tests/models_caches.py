"""Small random-weight GGUF files of architectures with caches of every kind.

`write_jamba`: mamba and attention blocks in turn; the engine keeps no snapshots of its states.
`write_lfm2` (short convolutions) and `write_qwen35` (gated delta net): the engine does.
`write_moe`: a llama with four experts, two of them used. All have the vocabulary of
`tests.models`, whose `Llama` holds the fields that may be changed by name.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.models import (
    Llama,
    Weights,
    attention_header,
    ends,
    llama_tensors,
    mamba_block,
    write_model,
)

Tensors = dict[str, NDArray[np.float32]]
_EXPERTS = 4
_KERNEL = 4  # ids that a short convolution sees


def write_moe(path: Path, **changes: object) -> Path:
    """Write a llama whose feed-forward is a mixture of experts."""
    model = replace(Llama(name="tiny-moe"), **changes)  # type: ignore[arg-type]
    weights, tensors = Weights(model), llama_tensors(model)
    for layer in range(model.n_layer):
        for part in ("gate", "up", "down"):
            shape = tensors.pop(f"blk.{layer}.ffn_{part}.weight").shape
            scale = (1.5 if part == "down" else 1) / shape[1] ** 0.5
            drawn = weights.draw(_EXPERTS, *shape, scale=scale)
            if part == "down":
                drawn[:, 0] = 0
            tensors[f"blk.{layer}.ffn_{part}_exps.weight"] = drawn
        router = weights.draw(_EXPERTS, model.n_embd, scale=1)
        tensors[f"blk.{layer}.ffn_gate_inp.weight"] = router
    header = attention_header(model) | {"expert_count": _EXPERTS, "expert_used_count": 2}
    return write_model(path, model, tensors, header)


def write_jamba(path: Path, **changes: object) -> Path:
    """Write a hybrid of mamba blocks and, every second, attention."""
    model = replace(Llama(architecture="jamba", name="tiny-jamba"), **changes)  # type: ignore[arg-type]
    weights, tensors = Weights(model), ends(model, Weights(model))
    inner, state, rank = 2 * model.n_embd, 16, 4
    for layer in range(model.n_layer):
        block = _feed_forward(model, weights)
        if layer % 2:
            block |= _attention(model, weights)
        else:
            block |= mamba_block(model, weights, (inner, state, rank))
            norms = {"ssm_dt_norm": rank, "ssm_b_norm": state, "ssm_c_norm": state}
            block |= {f"{name}.weight": np.ones(n, np.float32) for name, n in norms.items()}
        tensors |= {f"blk.{layer}.{name}": value for name, value in block.items()}
    header = attention_header(model) | {
        "attention.head_count_kv": _heads(model),
        "ssm.conv_kernel": _KERNEL,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": rank,
    }
    return write_model(path, model, tensors, header)


def write_lfm2(path: Path, **changes: object) -> Path:
    """Write a hybrid of short convolutions and, every second, attention."""
    model = replace(Llama(architecture="lfm2", name="tiny-lfm2"), **changes)  # type: ignore[arg-type]
    weights, tensors, width = Weights(model), ends(model, Weights(model)), model.n_embd
    tensors["token_embd_norm.weight"] = tensors.pop("output_norm.weight")
    for layer in range(model.n_layer):
        block = _feed_forward(model, weights)
        if layer % 2:
            block |= _attention(model, weights) | _head_norms(model)
        else:
            block |= {
                "shortconv.conv.weight": weights.draw(width, _KERNEL, scale=0.5),
                "shortconv.in_proj.weight": weights.draw(3 * width, width, scale=width**-0.5),
                "shortconv.out_proj.weight": _quiet(weights.draw(width, width, scale=width**-0.5)),
            }
        tensors |= {f"blk.{layer}.{name}": value for name, value in block.items()}
    header = attention_header(model) | {
        "attention.head_count_kv": _heads(model),
        "shortconv.l_cache": _KERNEL,
    }
    return write_model(path, model, tensors, header)


def write_qwen35(path: Path, **changes: object) -> Path:
    """Write a hybrid of gated delta nets and, every second, gated attention."""
    model = replace(Llama(architecture="qwen35", name="tiny-qwen35"), **changes)  # type: ignore[arg-type]
    weights, tensors = Weights(model), ends(model, Weights(model))
    head = model.n_embd // model.n_head
    for layer in range(model.n_layer):
        block = _feed_forward(model, weights)
        block["post_attention_norm.weight"] = block.pop("ffn_norm.weight")
        if layer % 2:
            block |= _attention(model, weights) | _head_norms(model)
            block["attn_q.weight"] = weights.draw(2 * model.n_embd, model.n_embd, scale=0.25)
        else:
            block |= _delta_net(model, weights, head)
        tensors |= {f"blk.{layer}.{name}": value for name, value in block.items()}
    header = attention_header(model) | {
        "attention.key_length": head,
        "attention.value_length": head,
        "rope.dimension_sections": [head // 4, head // 8, head // 8, 0],
        "full_attention_interval": 2,
        "ssm.conv_kernel": _KERNEL,
        "ssm.inner_size": model.n_embd,
        "ssm.state_size": head,
        "ssm.time_step_rank": model.n_head,
        "ssm.group_count": 1,
    }
    return write_model(path, model, tensors, header)


def _delta_net(model: Llama, weights: Weights, head: int) -> Tensors:
    width, scale = model.n_embd, model.n_embd**-0.5
    mixed = 2 * head + width
    return {
        "attn_qkv.weight": weights.draw(mixed, width, scale=scale),
        "attn_gate.weight": weights.draw(width, width, scale=scale),
        "ssm_conv1d.weight": weights.draw(mixed, _KERNEL, scale=0.5),
        "ssm_dt.bias": np.full(model.n_head, -1, np.float32),
        "ssm_a": np.full(model.n_head, -1, np.float32),
        "ssm_beta.weight": weights.draw(model.n_head, width, scale=scale),
        "ssm_alpha.weight": weights.draw(model.n_head, width, scale=scale),
        "ssm_norm.weight": np.ones(head, np.float32),
        "ssm_out.weight": _quiet(weights.draw(width, width, scale=scale)),
    }


def _feed_forward(model: Llama, weights: Weights) -> Tensors:
    width = model.n_embd
    return {
        "attn_norm.weight": np.ones(width, np.float32),
        "ffn_norm.weight": np.ones(width, np.float32),
        "ffn_gate.weight": weights.draw(model.n_ff, width, scale=width**-0.5),
        "ffn_up.weight": weights.draw(model.n_ff, width, scale=width**-0.5),
        "ffn_down.weight": _quiet(weights.draw(width, model.n_ff, scale=1.5 * model.n_ff**-0.5)),
    }


def _attention(model: Llama, weights: Weights) -> Tensors:
    width, scale = model.n_embd, model.n_embd**-0.5
    shared = model.n_head_kv * width // model.n_head
    return {
        "attn_q.weight": weights.draw(width, width, scale=2 * scale),
        "attn_k.weight": weights.draw(shared, width, scale=2 * scale),
        "attn_v.weight": weights.draw(shared, width, scale=scale),
        "attn_output.weight": _quiet(weights.draw(width, width, scale=1.5 * scale)),
    }


def _head_norms(model: Llama) -> Tensors:
    ones = np.ones(model.n_embd // model.n_head, np.float32)
    return {"attn_q_norm.weight": ones, "attn_k_norm.weight": ones}


def _heads(model: Llama) -> list[int]:
    return [model.n_head_kv if layer % 2 else 0 for layer in range(model.n_layer)]


def _quiet(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Leave channel 0 alone, which holds a constant."""
    matrix[0] = 0
    return matrix
