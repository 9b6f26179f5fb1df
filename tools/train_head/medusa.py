"""Train Medusa heads on kept chats: torch on the CPU, seeded, resumable.

Each head is a residual SiLU block; all share one projection, which begins as the target's own.
Head k at a state learns the law that the target had k + 1 tokens later.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from localspec.drafters.medusa_heads import Layer, MedusaHeads
from tools.train_head.dataset import Dataset, Rows, common_ids
from tools.train_head.target import output_rows, vocabulary_size

KEEP_EVERY_S = 45.0
LOOK_EVERY = 100


@dataclass(frozen=True)
class Training:
    """How the heads are made. Units: `seconds` of this call; 0 has no limit."""

    heads: int = 3
    ids: int = 4096
    steps: int = 1500
    seed: int = 0
    chunk: int = 32
    chunks: int = 16
    block_rate: float = 2e-3
    projection_rate: float = 4e-4
    decay: float = 0.05
    teacher_temperature: float = 0.6
    later: float = 0.8
    threads: int = 1
    seconds: float = 0.0


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


def train(target: Path, data: Dataset, folder: Path, how: Training) -> MedusaHeads | None:
    """Train until the steps are done; None when the time of this call is over before."""
    torch.set_num_threads(how.threads)
    ids = common_ids(data.train.ids, how.ids, vocabulary_size(target))
    run = _Run(target, data, folder, how, ids)
    run.resume()
    end = monotonic() + how.seconds if how.seconds else float("inf")
    kept = monotonic()
    while run.step < how.steps and monotonic() < end:
        run.advance()
        if monotonic() - kept > KEEP_EVERY_S:
            run.keep()
            kept = monotonic()
    run.look()
    run.keep()
    return run.heads.taken(ids) if run.step >= how.steps else None


class _Run:
    """One training: weights, optimiser, place in the data, and the log of it."""

    def __init__(
        self, target: Path, data: Dataset, folder: Path, how: Training, ids: NDArray[np.int64]
    ) -> None:
        self._data, self._folder, self._how, self._ids = data, folder, how, ids
        self._teacher = torch.from_numpy(output_rows(target, ids))
        sample = data.train.hidden[:: max(1, len(data.train) // 4096)].astype(np.float32)
        scale = torch.from_numpy(np.sqrt((sample**2).mean(0)) + 1e-3)
        self.heads = Heads(self._teacher, scale, how.heads)
        self._optimiser = torch.optim.AdamW(
            [
                {"params": [self.heads.weight, self.heads.bias], "lr": how.block_rate},
                {"params": [self.heads.projection], "lr": how.projection_rate, "weight_decay": 0},
            ],
            weight_decay=how.decay,
        )
        self._rates = (how.block_rate, how.projection_rate)
        self._torch = {
            "hidden": torch.from_numpy(data.train.hidden),
            "answer": torch.from_numpy(data.train.answer),
        }
        self.step, self._losses = 0, list[float]()
        self._busy = 0.0

    def resume(self) -> None:
        """Go on where the last call stopped, if it trained the same thing."""
        if not self._state_file.exists():
            return
        state = torch.load(self._state_file, weights_only=True)
        if state["how"] != self._same() or state["ids"] != self._ids.tolist():
            return
        self.heads.load_state_dict(state["heads"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.step, self._busy = state["step"], state["busy"]

    def keep(self) -> None:
        """Write the state; the file appears whole or not at all."""
        state: dict[str, Any] = {
            "how": self._same(),
            "ids": self._ids.tolist(),
            "heads": self.heads.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "step": self.step,
            "busy": self._busy,
        }
        temporary = self._state_file.with_suffix(".part")
        torch.save(state, temporary)
        temporary.replace(self._state_file)

    def advance(self) -> None:
        """Take one step."""
        begun = monotonic()
        how, rng = self._how, np.random.default_rng([self._how.seed, self.step])
        progress = self.step / how.steps
        share = min(1.0, self.step / (0.03 * how.steps)) * 0.5 * (1 + np.cos(np.pi * progress))
        for group, rate in zip(self._optimiser.param_groups, self._rates, strict=True):
            group["lr"] = float(rate * share)
        span = how.chunk + how.heads
        starts = rng.integers(0, len(self._data.train) - span, how.chunks)
        rows = torch.from_numpy(starts[:, None] + np.arange(span))
        loss = self._loss(self._torch["hidden"][rows].float(), self._torch["answer"][rows])
        self._optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.heads.parameters(), 1.0)
        self._optimiser.step()
        self._losses.append(float(loss.detach()))
        self.step += 1
        self._busy += monotonic() - begun
        if self.step % LOOK_EVERY == 0:
            self.look()

    def _loss(self, hidden: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
        """Compare each head with the law the target had that much later in the same answer."""
        how, length = self._how, self._how.chunk
        with torch.autocast("cpu", torch.bfloat16):
            guessed = self.heads(hidden[:, :length].reshape(-1, hidden.shape[-1]))
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

    def look(self) -> None:
        """Write down loss and held-out agreement."""
        line = {
            "step": self.step,
            "seconds": round(self._busy, 1),
            "loss": round(float(np.mean(self._losses)), 4) if self._losses else None,
            "held_out": agreement(self.heads.taken(self._ids), self._data.held),
            "held_out_greedy": agreement(
                self.heads.taken(self._ids), self._data.held, only_greedy=True
            ),
        }
        self._losses.clear()
        with (self._folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(line, flush=True)

    @property
    def _state_file(self) -> Path:
        return self._folder / "medusa-state.pt"

    def _same(self) -> dict[str, Any]:
        """Give what must not change between calls."""
        fixed = asdict(self._how)
        return {k: v for k, v in fixed.items() if k not in ("seconds", "threads")} | {
            "rows": len(self._data.train)
        }


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
