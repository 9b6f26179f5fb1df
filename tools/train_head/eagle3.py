"""An EAGLE-3 head as it is trained on kept chats, by training-time test.

At every place of a stretch a draft begins; its tokens are the text's, its states the head's own.
Each of its guesses is compared with the law that the target had there, on the head's own ids.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from tools.eagle3_writer import Eagle3Shape, Eagle3Weights
from tools.train_head.dataset import common_ids
from tools.train_head.eagle3_graph import Eagle3Graph
from tools.train_head.eagle3_start import start
from tools.train_head.target import embedding_rows, output_rows, vocabulary_size
from tools.train_head.windows import Chat, Chats, Windows

SAMPLE = 32
"""Stretches that the size of the states is measured on."""
HELD_CHATS = 24


@dataclass(frozen=True)
class Eagle3Training:
    """How the head is made: `unroll` tokens of a draft, each later one weighing `later` of it."""

    ids: int = 4096
    unroll: int = 3
    span: int = 128
    spans: int = 8
    rate: float = 1e-3
    output_rate: float = 5e-4
    decay: float = 0.05
    later: float = 0.8


class Eagle3:
    """A head for a target, and the chats it learns from; a `loop.Trainee`."""

    kind = "eagle3"

    def __init__(
        self, target: Path, chats: Chats, shape: Eagle3Shape, *, how: Eagle3Training, seed: int
    ) -> None:
        self._chats, self._how, self._shape = chats, how, shape
        self.ids = common_ids(chats.trained_ids(), how.ids, vocabulary_size(target))
        self._teacher = torch.from_numpy(output_rows(target, self.ids))
        self._used = chats.used_ids()
        self._embedding = torch.from_numpy(embedding_rows(target, self._used))
        sample = chats.draw(np.random.default_rng([seed, 1]), SAMPLE, how.span)
        states = sample.states[sample.answers >= 0].astype(np.float32)
        begun = start(target, shape, self.ids, states, seed=seed)
        self.module = Eagle3Graph(begun.head, begun.scale)

    def groups(self) -> list[dict[str, Any]]:
        """Give the matrices, the norms without decay, and the output at a lower rate."""
        how, weights = self._how, self.module.weights
        norms = [value for name, value in weights.items() if "norm" in name]
        others = [v for name, v in weights.items() if "norm" not in name and name != "output"]
        return [
            {"params": others, "lr": how.rate, "weight_decay": how.decay},
            {"params": norms, "lr": how.rate, "weight_decay": 0.0},
            {"params": [weights["output"]], "lr": how.output_rate, "weight_decay": 0.0},
        ]

    def taken(self) -> Eagle3Weights:
        """Give the head as it runs."""
        return self.module.taken()

    def fixed(self) -> dict[str, Any]:
        """Give the options, the sizes, the ids and the size of the data."""
        return {
            "how": asdict(self._how),
            "shape": asdict(self._shape),
            "ids": self.ids.tolist(),
            "rows": len(self._chats),
        }

    def loss(self, rng: np.random.Generator) -> torch.Tensor:
        """Draw stretches of chats; give how far (KL) the guesses of all drafts in them are off."""
        how = self._how
        windows = self._chats.draw(rng, how.spans, how.span)
        written = torch.from_numpy(windows.answers >= 0)
        law = self._law(windows, written)
        total = torch.zeros(())
        with torch.autocast("cpu", torch.bfloat16):
            for step, own in enumerate(self._unrolled(windows)):
                begun = torch.arange(how.span) >= step
                guessed = self.module.logits(own[written & begun]).log_softmax(-1)
                wanted = law[begun.expand_as(written)[written]]
                each = F.kl_div(guessed, wanted, reduction="batchmean")
                total = total + how.later**step * each
        return total

    def held_out(self) -> dict[str, Any]:
        """Give how often each token of a draft was the one written, where those before it were."""
        held = self._chats.held
        greedy = [chat for chat in held if chat.greedy]
        return {
            "held_out": self.agreement(held[:HELD_CHATS]),
            "held_out_greedy": self.agreement(greedy[:HELD_CHATS]),
        }

    def agreement(self, chats: list[Chat]) -> list[float] | None:
        """Draft greedily at every place of some answers; None where there is none."""
        how = self._how
        if not chats:
            return None
        windows = self._chats.first(chats, 2 * how.span)
        written = windows.answers >= 0
        alive, found = written, []
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            for step, own in enumerate(self._unrolled(windows)):
                likeliest = self.ids[self.module.logits(own).argmax(-1).numpy()]
                if step:  # a draft goes on one place later
                    alive = np.pad(alive, ((0, 0), (1, 0)))[:, :-1] & written
                right = alive & (likeliest == windows.answers)
                found.append(round(float(right.sum() / max(1, alive.sum())), 4))
                alive = right
        return found

    def _unrolled(self, windows: Windows) -> Any:
        places = np.searchsorted(self._used, windows.tokens)
        embedded = self._embedding[torch.from_numpy(np.minimum(places, len(self._used) - 1))]
        states = torch.from_numpy(windows.states).float()
        return self.module.unrolled(embedded, states, self._how.unroll)

    def _law(self, windows: Windows, written: torch.Tensor) -> torch.Tensor:
        """Give the target's law wherever it wrote. Shapes: (written, ids)."""
        hidden = torch.from_numpy(windows.hidden)[written].float()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            return torch.matmul(hidden, self._teacher.T).float().softmax(-1)
