"""What tests of `tune` share: a short text, short tunes, and the words of a call."""

from pathlib import Path

import pytest

from localspec.measure.tune import layout_costs, recipes, trial, tune
from tests.conftest import TinyPair

WORDS = "\n\n".join(
    f"def add_{n}(first, second):\n    return first + second + {n}  # one of many" for n in range(8)
)


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at few layouts for a short time: what is done is the same."""
    monkeypatch.setattr(recipes, "BLOCKS", ("q4_0", "q8_0"))
    monkeypatch.setattr(recipes, "MIXES", ())
    monkeypatch.setattr(layout_costs, "ROUNDS", 1)
    monkeypatch.setattr(tune, "REPEATS", 1)
    monkeypatch.setattr(tune, "ANSWER_TOKENS", 16)
    monkeypatch.setattr(trial, "ANSWER_TOKENS", 16)
    monkeypatch.setattr(trial, "RUNS", 1)


def tune_words(pair: TinyPair, text: Path, *more: str) -> list[str]:
    """Give the words of a tune of a generated pair."""
    files = ["--target", str(pair.target), "--draft", str(pair.draft)]
    return ["tune", *files, "--text", str(text), "--ctx", "1024", "--max-time", "60s", *more]
