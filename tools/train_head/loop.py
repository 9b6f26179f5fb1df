"""The training loop of all kinds of heads: torch on the CPU, seeded, resumable, logged.

Knows steps, rates, checkpoints and the log. Does not know what is trained.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import numpy as np
import torch

KEEP_EVERY_S = 45.0
LOOK_EVERY = 100
WARM_UP = 0.03
LONGEST_STEP = 1.0
"""Gradients are cut to this length."""


@dataclass(frozen=True)
class Schedule:
    """How long to train. Units: `seconds` of this call; 0 has no limit."""

    steps: int = 1500
    seed: int = 0
    threads: int = 1
    seconds: float = 0.0


class Trainee(Protocol):
    """What is trained."""

    kind: str
    """Names its files."""
    module: torch.nn.Module

    def groups(self) -> list[dict[str, Any]]:
        """Give the optimiser's groups of parameters, each with its highest rate and its decay."""
        ...

    def loss(self, rng: np.random.Generator) -> torch.Tensor:
        """Give the loss of one step's share of the data."""
        ...

    def held_out(self) -> Mapping[str, Any]:
        """Give what the log says of chats that are never trained on."""
        ...

    def fixed(self) -> Mapping[str, Any]:
        """Give what must not change between the calls of one training."""
        ...


class Loop:
    """One training: the optimiser, the place in the schedule, and the log of it."""

    def __init__(self, trainee: Trainee, schedule: Schedule, folder: Path) -> None:
        torch.set_num_threads(schedule.threads)
        self._trainee, self._schedule, self._folder = trainee, schedule, folder
        self._optimiser = torch.optim.AdamW(trainee.groups())
        self._rates = [group["lr"] for group in self._optimiser.param_groups]
        self.step, self._losses = 0, list[float]()
        self._busy = 0.0

    def run(self) -> bool:
        """Train until the steps are done; False when the time of this call is over before."""
        self.resume()
        schedule = self._schedule
        end = monotonic() + schedule.seconds if schedule.seconds else float("inf")
        kept = monotonic()
        while self.step < schedule.steps and monotonic() < end:
            self.advance()
            if monotonic() - kept > KEEP_EVERY_S:
                self.keep()
                kept = monotonic()
        self.look()
        self.keep()
        return self.step >= schedule.steps

    def resume(self) -> None:
        """Go on where the last call stopped, if it trained the same thing."""
        if not self._state_file.exists():
            return
        state = torch.load(self._state_file, weights_only=True)
        if state["fixed"] != self._fixed():
            print(f"{self._state_file} is of other options or chats: training begins anew")
            return
        self._trainee.module.load_state_dict(state["module"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.step, self._busy = state["step"], state["busy"]

    def keep(self) -> None:
        """Write the state; the file appears whole or not at all."""
        state: dict[str, Any] = {
            "fixed": self._fixed(),
            "module": self._trainee.module.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "step": self.step,
            "busy": self._busy,
        }
        temporary = self._state_file.with_suffix(".part")
        torch.save(state, temporary)
        temporary.replace(self._state_file)

    def advance(self) -> None:
        """Take one step; what it draws depends on seed and step alone."""
        begun = monotonic()
        share = self._share()
        for group, rate in zip(self._optimiser.param_groups, self._rates, strict=True):
            group["lr"] = rate * share
        loss = self._trainee.loss(np.random.default_rng([self._schedule.seed, self.step]))
        self._optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trainee.module.parameters(), LONGEST_STEP)
        self._optimiser.step()
        self._losses.append(float(loss.detach()))
        self.step += 1
        self._busy += monotonic() - begun
        if self.step % LOOK_EVERY == 0:
            self.look()

    def look(self) -> None:
        """Write down loss and held-out agreement."""
        line = {
            "step": self.step,
            "seconds": round(self._busy, 1),
            "loss": round(float(np.mean(self._losses)), 4) if self._losses else None,
            **self._trainee.held_out(),
        }
        self._losses.clear()
        path = self._folder / f"{self._trainee.kind}-log.jsonl"
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(line, flush=True)

    def _share(self) -> float:
        """Give the part of the highest rate at this step: a warm-up, then a cosine."""
        steps = self._schedule.steps
        warm = min(1.0, self.step / (WARM_UP * steps))
        return float(warm * 0.5 * (1 + np.cos(np.pi * self.step / steps)))

    @property
    def _state_file(self) -> Path:
        return self._folder / f"{self._trainee.kind}-state.pt"

    def _fixed(self) -> dict[str, Any]:
        schedule = self._schedule
        return {**self._trainee.fixed(), "steps": schedule.steps, "seed": schedule.seed}
