"""Small generated heads: EAGLE-3 files for a generated target, and targets that predict further.

`write_eagle3(path, target, **changes)` writes a head for the target `Llama` it is given; `changes`
are fields of `Eagle3` below, so that one thing at a time can be wrong. `write_step35` (sliding
window, two chained prediction layers), `write_glm4moe` (experts, one layer) and
`write_predicting_qwen35` (gated delta nets, one layer) carry prediction layers of their own.

All pass channel 0 of the state on, so that `boosted` ids are likely for target and head alike: a
random head would never be right otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tests.models import (
    Llama,
    Value,
    Weights,
    attention_header,
    ends,
    llama_tensors,
    write_llama,
    write_model,
)
from tests.models_caches import (
    Tensors,
    _attention,
    _delta_net,
    _feed_forward,
    _head_norms,
    _quiet,
)

BOOSTED = {40: 1.8, 50: 1.8, 60: 1.8, 70: 1.8, 80: 1.6}
TARGET = Llama(boosted=BOOSTED, spread=0.12)


@dataclass(frozen=True)
class Eagle3:
    """A head to write."""

    seed: int = 13
    layers: tuple[int, ...] = (0, 2, 3)
    width: int = 64
    target_width: int = 64
    drafted: tuple[int, ...] = (*range(30, 200),)
    """Target ids that the head can guess."""
    map_type: type = np.int64
    blocks: int = 1
    ids: int | None = None
    """Size of the vocabulary, when not the target's."""
    renamed: Mapping[int, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    extra: Mapping[str, Value] = field(default_factory=dict)
    spoilt: bool = False
    """Let the weights be no numbers."""


def write_target(path: Path, **changes: object) -> Path:
    """Write the target that an EAGLE-3 head of this module is made for."""
    return write_llama(path, **{"boosted": BOOSTED, "spread": TARGET.spread, **changes})


def write_eagle3(path: Path, target: Llama = TARGET, **changes: object) -> Path:
    """Write an EAGLE-3 head."""
    head = replace(Eagle3(), **changes)  # type: ignore[arg-type]
    model = replace(
        target,
        architecture="eagle3",
        name="tiny-head",
        seed=head.seed,
        n_layer=head.blocks,
        n_embd=head.width,
        n_tokens=head.ids or target.n_tokens,
        renamed=head.renamed,
        without=head.without,
        extra=head.extra,
        template=None,
    )
    header = attention_header(model) | {
        "target_layers": list(head.layers),
        "target_hidden_size": head.target_width,
        "norm_before_residual": False,
        "norm_before_fc": False,
    }
    return write_model(path, model, _eagle3_tensors(head, model), header)


def _eagle3_tensors(head: Eagle3, model: Llama) -> Tensors:
    weights, width = Weights(model), head.width
    fusion = weights.draw(width, len(head.layers) * head.target_width, scale=0.6 / width**0.5)
    fusion[0] = 0
    fusion[0, (len(head.layers) - 1) * head.target_width] = 1
    block = {**_feed_forward(model, weights), **_attention(model, weights)}
    block["attn_norm_2.weight"] = np.ones(width, np.float32)
    for name in ("attn_q", "attn_k", "attn_v"):
        rows = len(block[f"{name}.weight"])
        block[f"{name}.weight"] = weights.draw(rows, 2 * width, scale=width**-0.5)
    tensors = {f"blk.0.{name}": value for name, value in block.items()}
    output = ends(model, weights)
    tensors |= {
        "fc.weight": fusion * (np.float32("nan") if head.spoilt else 1),
        "output_norm.weight": output["output_norm.weight"],
        "output.weight": output["output.weight"][[i % model.n_tokens for i in head.drafted]],
        "d2t": np.array(head.drafted, head.map_type),
    }
    return tensors


def write_step35(path: Path, layers: int = 2, **changes: object) -> Path:
    """Write a model with a sliding window and chained prediction layers."""
    model = _predicting("step35", layers, seed=14, **changes)
    tensors = llama_tensors(model)
    for layer in range(model.n_layer):
        tensors |= _named(layer, _head_norms(model))
    for layer in range(model.n_layer - layers, model.n_layer):
        tensors |= _named(layer, _projection(model, seed=layer))
    header = attention_header(model) | {
        "nextn_predict_layers": layers,
        "attention.sliding_window": 16,
        "attention.sliding_window_pattern": [layer % 2 for layer in range(model.n_layer)],
        "expert_feed_forward_length": 0,
        "rope.freq_base_swa": 10000.0,
    }
    return write_model(path, model, tensors, header)


def write_glm4moe(path: Path, layers: int = 1, **changes: object) -> Path:
    """Write a model of experts with one prediction layer."""
    model = _predicting("glm4moe", layers, seed=14, **changes)
    weights = Weights(model)
    tensors = ends(model, weights)
    for layer in range(model.n_layer):
        block = _attention(model, weights) | _feed_forward(model, weights)
        block["post_attention_norm.weight"] = block.pop("ffn_norm.weight")
        if layer:
            block = {name: value for name, value in block.items() if "ffn_" not in name}
            block |= _experts(model, weights)
        tensors |= _named(layer, block)
    for layer in range(model.n_layer - layers, model.n_layer):
        tensors |= _named(layer, _projection(model, seed=layer))
    header = attention_header(model) | {
        "nextn_predict_layers": layers,
        "leading_dense_block_count": 1,
        "expert_count": 4,
        "expert_used_count": 2,
        "expert_shared_count": 1,
        "expert_feed_forward_length": 32,
    }
    return write_model(path, model, tensors, header)


def write_predicting_qwen35(path: Path, **changes: object) -> Path:
    """Write a hybrid whose state cannot forget its end, with one prediction layer."""
    model = _predicting("qwen35", 1, seed=15, **changes)
    weights, head = Weights(model), model.n_embd // model.n_head
    tensors = ends(model, weights)
    for layer in range(model.n_layer):
        block = _feed_forward(model, weights)
        block["post_attention_norm.weight"] = block.pop("ffn_norm.weight")
        if layer % 2 or layer == model.n_layer - 1:
            block |= _attention(model, weights) | _head_norms(model)
            block["attn_q.weight"] = weights.draw(2 * model.n_embd, model.n_embd, scale=0.25)
        else:
            block |= _delta_net(model, weights, head)
        tensors |= _named(layer, block)
    tensors |= _named(model.n_layer - 1, _projection(model, seed=9))
    header = attention_header(model) | {
        "nextn_predict_layers": 1,
        "attention.key_length": head,
        "attention.value_length": head,
        "rope.dimension_sections": [head // 4, head // 8, head // 8, 0],
        "full_attention_interval": 2,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": model.n_embd,
        "ssm.state_size": head,
        "ssm.time_step_rank": model.n_head,
        "ssm.group_count": 1,
    }
    return write_model(path, model, tensors, header)


def _predicting(architecture: str, layers: int, **changes: object) -> Llama:
    model = replace(TARGET, architecture=architecture, name=f"tiny-{architecture}")
    model = replace(model, **changes)  # type: ignore[arg-type]
    return replace(model, n_layer=model.n_layer + layers)


def _projection(model: Llama, *, seed: int) -> Tensors:
    """Draw what joins a token and the state before it."""
    width, rng = model.n_embd, np.random.default_rng(seed)
    joined = rng.standard_normal((width, 2 * width)).astype(np.float32) * 0.3 / width**0.5
    joined[0] = 0
    joined[0, width] = 1
    ones = np.ones(width, np.float32)
    return {
        "nextn.eh_proj.weight": joined,
        "nextn.enorm.weight": ones,
        "nextn.hnorm.weight": ones,
        "nextn.shared_head_norm.weight": ones,
    }


def _experts(model: Llama, weights: Weights) -> Tensors:
    width, inner, count = model.n_embd, 32, 4
    down = weights.draw(count, width, inner, scale=inner**-0.5)
    down[:, 0] = 0
    return {
        "ffn_gate_inp.weight": weights.draw(count, width, scale=width**-0.5),
        "exp_probs_b.bias": np.zeros(count, np.float32),
        "ffn_gate_exps.weight": weights.draw(count, inner, width, scale=width**-0.5),
        "ffn_up_exps.weight": weights.draw(count, inner, width, scale=width**-0.5),
        "ffn_down_exps.weight": down,
        "ffn_gate_shexp.weight": weights.draw(inner, width, scale=width**-0.5),
        "ffn_up_shexp.weight": weights.draw(inner, width, scale=width**-0.5),
        "ffn_down_shexp.weight": _quiet(weights.draw(width, inner, scale=inner**-0.5)),
    }


def _named(layer: int, block: Tensors) -> Tensors:
    return {f"blk.{layer}.{name}": value for name, value in block.items()}
