"""An EAGLE-3 head in torch, number for number as llama.cpp's `eagle3` graph runs it.

Knows the one block, and how it is unrolled: a draft begun at every place at once. Does not know
where weights or data come from, nor what is learnt.

Source: Li et al., "EAGLE-3: Scaling up Inference Acceleration of Large Language Models via
Training-Time Test"; llama.cpp's `src/models/eagle3.cpp`.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch.nn import functional as F

from tools.eagle3_writer import TENSORS, Eagle3Shape, Eagle3Weights
from tools.train_head.target import Floats

Cache = list[tuple[torch.Tensor, torch.Tensor]]


class Eagle3Graph(torch.nn.Module):
    """The head as it is trained: states divided by `scale`, folded in when it is taken."""

    def __init__(self, head: Eagle3Weights, scale: Floats) -> None:
        super().__init__()
        self._shape, self._ids = head.shape, head.ids
        self.weights = torch.nn.ParameterDict(
            {
                name: torch.nn.Parameter(torch.from_numpy(np.array(head.tensors[name], np.float32)))
                for name in TENSORS
            }
        )
        self.register_buffer("scale", torch.from_numpy(scale))

    def unrolled(
        self, embedded: torch.Tensor, states: torch.Tensor, steps: int
    ) -> Iterator[torch.Tensor]:
        """Give the head's own states after 1, 2 .. `steps` tokens of a draft, for every place.

        The n-th result at place p is that of a draft begun at place p - n + 1, whose later tokens
        are those of the text; places before n - 1 have none and hold nothing of use.
        Shapes: embedded (texts, places, width), states (texts, places, 3 * width); results
        (texts, places, width).
        """
        turns = _turns(self._shape, embedded.shape[1])
        tokens = self._normed(embedded, "attn_norm")
        given = self._by(states / self.scale, "fc").float()
        cache: Cache = []
        for _ in range(steps):
            own = self._block(tokens, given, cache, turns)
            yield own
            given = _later(own, 1)

    def logits(self, own: torch.Tensor) -> torch.Tensor:
        """Give the logits of the head's ids from its own states."""
        return self._by(self._normed(own, "output_norm"), "output").float()

    def taken(self) -> Eagle3Weights:
        """Give the head as it runs."""
        tensors = {name: value.detach().numpy().copy() for name, value in self.weights.items()}
        tensors["fc"] = tensors["fc"] / self.scale.numpy()
        return Eagle3Weights(self._shape, tensors, self._ids)

    def _block(
        self,
        tokens: torch.Tensor,
        given: torch.Tensor,
        cache: Cache,
        turns: tuple[torch.Tensor, torch.Tensor],
    ) -> torch.Tensor:
        joined = torch.cat([tokens, self._normed(given, "attn_norm_2")], -1)
        shape = self._shape
        query = _turned(self._split(joined, "attn_q", shape.heads), turns)
        key = _turned(self._split(joined, "attn_k", shape.kv_heads), turns)
        value = self._split(joined, "attn_v", shape.kv_heads)
        shared = shape.heads // shape.kv_heads
        cache.append((key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)))
        mixed = _attended(query, cache).transpose(1, 2).flatten(2)
        x = given + self._by(mixed, "attn_output").float()
        y = self._normed(x, "ffn_norm")
        inner = F.silu(self._by(y, "ffn_gate")) * self._by(y, "ffn_up")
        return x + self._by(inner, "ffn_down").float()

    def _by(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self.weights[name])

    def _normed(self, x: torch.Tensor, name: str) -> torch.Tensor:
        size = torch.rsqrt(x.square().mean(-1, keepdim=True) + self._shape.epsilon)
        return x * size * self.weights[name]

    def _split(self, x: torch.Tensor, name: str, heads: int) -> torch.Tensor:
        """Give what each attention head works on. Shapes: (texts, heads, places, their width)."""
        return self._by(x, name).unflatten(-1, (heads, -1)).transpose(1, 2)


def _attended(query: torch.Tensor, cache: Cache) -> torch.Tensor:
    """Let each draft see the text up to its beginning, and its own tokens after that.

    The first keys are the text's. Of each further token of a draft the keys stand one place nearer
    to it; so a query sees one of them each, the last its own.
    """
    late, places = len(cache) - 1, query.shape[2]
    seen = torch.ones(places, places, dtype=torch.bool).tril(-late)
    text = torch.matmul(query, cache[0][0].transpose(2, 3)).float()
    scores = [text.masked_fill(~seen, -torch.inf)]
    drafted = [tuple(_later(x, late - n) for x in pair) for n, pair in enumerate(cache[1:], 1)]
    scores += [(query * key).sum(-1, keepdim=True).float() for key, _ in drafted]
    weights = (torch.cat(scores, -1) / query.shape[-1] ** 0.5).softmax(-1)
    mixed = torch.matmul(weights[..., :places], cache[0][1].to(weights.dtype))
    for n, (_, value) in enumerate(drafted):
        mixed = mixed + weights[..., places + n, None] * value
    return mixed


def _turns(shape: Eagle3Shape, places: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Give cosine and sine of every place's angles. Shapes: (places, half a head)."""
    half = shape.head_width // 2
    speed = shape.rope_base ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(places, dtype=torch.float64)[:, None] * speed
    return angles.cos().float(), angles.sin().float()


def _turned(x: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Rotate neighbouring numbers by the place (RoPE)."""
    cos, sin = turns
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def _later(x: torch.Tensor, places: int) -> torch.Tensor:
    """Move everything to later places, with zeros before it. Shapes: (.., places, width)."""
    return F.pad(x, (0, 0, places, 0))[..., : x.shape[-2], :]
