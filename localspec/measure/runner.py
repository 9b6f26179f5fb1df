"""The one thing a bench needs of a pair: answers, from cold caches.

A protocol, so that a scripted engine with a fake clock can stand in for a machine.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from localspec.core.events import Event
from localspec.measure.arms import Slot


class Runner(Protocol):
    """Answer prompts by any arm."""

    def answer(self, slot: Slot) -> Iterator[Event]:
        """Answer with empty caches; what was answered before must not make this one faster."""
        ...

    def probe_s(self) -> float:
        """Give the seconds of one plain pass now, the median of a few at a fixed context."""
        ...

    def top_two_gap(self, slot: Slot, tokens: Sequence[int]) -> float | None:
        """Give the difference of the two largest logits after the prompt and these tokens."""
        ...
