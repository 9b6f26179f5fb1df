"""Medusa heads as they are trained on kept chats.

Each head is a residual SiLU block; all share one projection, which begins as the target's own.
Head k at a state learns the law that the target had k + 1 tokens later.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from localspec.drafters.medusa_heads import Layer, MedusaHeads
from tools.train_head.dataset import Dataset, Rows, common_ids
from tools.train_head.target import output_rows, vocabulary_size


@dataclass(frozen=True)
class Training:
    """How the heads are made."""

    heads: int = 3
    ids: int = 4096
    chunk: int = 32
    chunks: int = 16
    block_rate: float = 2e-3
    projection_rate: float = 4e-4
    decay: float = 0.05
    teacher_temperature: float = 0.6
    later: float = 0.8


class Heads(torch.nn.Module):
    """The heads as they are trained: inputs divided by `scale`, folded in when they are taken."""

    def __init__(self, projection: torch.Tensor, scale: torch.Tensor, heads: int) -> None:
        super().__init__()
        width = projection.shape[1]
        self.weight = torch.nn.Parameter(torch.zeros(heads, width, width))
        self.bias = torch.nn.Parameter(torch.zeros(heads, width))
        self.projection = torch.nn.Parameter(projection.clone())
        self.register_buffer("scale", scale)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Give logits. Shapes: hidden (rows, width), result (heads, rows, ids)."""
        inner = torch.matmul(hidden / self.scale, self.weight.transpose(1, 2))
        state = hidden + F.silu(inner + self.bias[:, None])
        return torch.matmul(state, self.projection.T)

    def taken(self, ids: NDArray[np.int64]) -> MedusaHeads:
        """Give the heads as they run."""
        weight = (self.weight / self.scale).detach().numpy().astype(np.float32)
        layer = Layer(weight, self.bias.detach().numpy().astype(np.float32))
        return MedusaHeads((layer,), self.projection.detach().numpy().astype(np.float32), ids)


class Medusa:
    """Heads for a target, and the chats they learn from; a `loop.Trainee`."""

    kind = "medusa"

    def __init__(self, target: Path, data: Dataset, how: Training) -> None:
        self._data, self._how = data, how
        self._ids = common_ids(data.train.ids, how.ids, vocabulary_size(target))
        self._teacher = torch.from_numpy(output_rows(target, self._ids))
        sample = data.train.hidden[:: max(1, len(data.train) // 4096)].astype(np.float32)
        scale = torch.from_numpy(np.sqrt((sample**2).mean(0)) + 1e-3)
        self.module = Heads(self._teacher, scale, how.heads)
        self._torch = {
            "hidden": torch.from_numpy(data.train.hidden),
            "answer": torch.from_numpy(data.train.answer),
        }

    def groups(self) -> list[dict[str, Any]]:
        """Give the blocks, and the projection at a lower rate."""
        heads, how = self.module, self._how
        return [
            {"params": [heads.weight, heads.bias], "lr": how.block_rate, "weight_decay": how.decay},
            {"params": [heads.projection], "lr": how.projection_rate, "weight_decay": 0.0},
        ]

    def taken(self) -> MedusaHeads:
        """Give the heads as they run."""
        return self.module.taken(self._ids)

    def fixed(self) -> dict[str, Any]:
        """Give the options, the ids and the size of the data."""
        rows = len(self._data.train)
        return asdict(self._how) | {"ids": self._ids.tolist(), "rows": rows}

    def held_out(self) -> dict[str, Any]:
        """Give, for each head, how often its likeliest id was written."""
        heads, held = self.taken(), self._data.held
        return {
            "held_out": agreement(heads, held),
            "held_out_greedy": agreement(heads, held, only_greedy=True),
        }

    def loss(self, rng: np.random.Generator) -> torch.Tensor:
        """Draw stretches of answers, and compare what the heads say of them."""
        how = self._how
        span = how.chunk + how.heads
        starts = rng.integers(0, len(self._data.train) - span, how.chunks)
        rows = torch.from_numpy(starts[:, None] + np.arange(span))
        return self._loss(self._torch["hidden"][rows].float(), self._torch["answer"][rows])

    def _loss(self, hidden: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
        """Compare each head with the law the target had that much later in the same answer."""
        how, length = self._how, self._how.chunk
        with torch.autocast("cpu", torch.bfloat16):
            guessed = self.module(hidden[:, :length].reshape(-1, hidden.shape[-1]))
            with torch.no_grad():
                law = torch.matmul(hidden, self._teacher.T).float() / how.teacher_temperature
        law = law.softmax(-1)
        total = torch.zeros(())
        for head in range(how.heads):
            later = slice(head + 1, head + 1 + length)
            same = (answer[:, later] == answer[:, :length]).reshape(-1)
            each = F.cross_entropy(
                guessed[head].float(), law[:, later].reshape(-1, law.shape[-1]), reduction="none"
            )
            total = total + how.later**head * (each * same).sum() / same.sum().clamp(min=1)
        return total


def agreement(heads: MedusaHeads, rows: Rows, *, only_greedy: bool = False) -> list[float]:
    """Give, for each head, how often its likeliest id is the one that was written."""
    keep = np.flatnonzero(rows.greedy if only_greedy else np.ones(len(rows), bool))
    keep = keep[:4000]
    found = []
    for head in range(len(heads)):
        at = keep[keep + head + 1 < len(rows)]
        at = at[rows.answer[at] == rows.answer[at + head + 1]]
        if not len(at):
            found.append(0.0)
            continue
        logits = _head_logits(heads, head, rows.hidden[at].astype(np.float32))
        found.append(float((heads.ids[logits.argmax(1)] == rows.ids[at + head + 1]).mean()))
    return [round(each, 4) for each in found]


def _head_logits(heads: MedusaHeads, head: int, hidden: Any) -> Any:
    layer = heads.layers[0]
    inner = hidden @ layer.weight[head].T + layer.bias[head]
    return (hidden + inner / (1 + np.exp(-inner))) @ heads.projection.T
