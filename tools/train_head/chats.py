"""What the target is asked: openings, turns it makes up itself, and what follows on an answer.

Knows a file of phrases and draws from it. Does not know the engine.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PHRASES = Path(__file__).with_name("prompts.toml")


@dataclass(frozen=True)
class Shares:
    """How often what happens. The rest of the openings are general questions."""

    invented: float = 0.35
    code: float = 0.2
    turkish: float = 0.03
    follow_up: float = 0.4


class Phrases:
    """Draw questions; the same generator draws the same ones."""

    def __init__(self, path: Path = PHRASES, shares: Shares | None = None) -> None:
        self._words: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        self.shares = shares or Shares()

    def opening(self, rng: np.random.Generator) -> str | None:
        """Give the first question of a chat; None where the target shall make one up itself."""
        u, shares = rng.random(), self.shares
        if u < shares.invented:
            return None
        if u < shares.invented + shares.code:
            words = {"language": self._one("languages", rng), "task": self._one("tasks", rng)}
            return self._one("code", rng).format(**words)
        if u < shares.invented + shares.code + shares.turkish:
            return self._one("turkish", rng).format(self._one("turkish_topics", rng))
        return self._one("ask", rng).replace("{}", self._one("topics", rng))

    def follow_up(self, rng: np.random.Generator) -> str | None:
        """Give the question after an answer, if there is to be one."""
        if rng.random() >= self.shares.follow_up:
            return None
        return self._one("follow_up", rng)

    def _one(self, kind: str, rng: np.random.Generator) -> str:
        choices: list[str] = self._words[kind]
        return choices[int(rng.integers(len(choices)))]
