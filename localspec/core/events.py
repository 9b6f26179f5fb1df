"""What `generate` tells the world, one frozen value at a time.

Knows ids, counters and seconds. Does not know text.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from localspec.core.distribution import Distribution
from localspec.core.tokens import Token


class Origin(StrEnum):
    """Who wrote a token: the draft (and the target kept it), or the target itself."""

    TARGET = "target"
    DRAFT = "draft"


class FinishReason(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    CONTEXT = "context"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Prefill:
    """The prompt is in the target's cache, but for its last token.

    Units: `seconds` covers target and drafters; `reused` tokens were in the cache already.
    """

    tokens: int
    reused: int
    seconds: float


@dataclass(frozen=True)
class Step:
    """One target pass: what was guessed, what was kept, what was written.

    `accepted + 1 == len(tokens) + cut`, where `cut` tokens fell behind an end of text.
    Units: seconds. `position` is the history's length before the pass. `laws`: p of each judged
    row and q of each drafted token when the caller asked to keep them, else empty.
    """

    tokens: tuple[Token, ...]
    origins: tuple[Origin, ...]
    position: int
    drafter: str = ""
    draft_temperature: float = 1.0
    drafted: int = 0
    judged: int = 0
    accepted: int = 0
    cut: int = 0
    draft_s: float = 0.0
    verify_s: float = 0.0
    other_s: float = 0.0
    baseline: bool = False
    overlaps: tuple[float, ...] = field(default=(), repr=False)
    guesses: tuple[Token, ...] = field(default=(), repr=False)
    laws: "Laws | None" = field(default=None, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """Give the whole time of the round."""
        return self.draft_s + self.verify_s + self.other_s


@dataclass(frozen=True)
class Laws:
    """The target's and the draft's laws of one round, for those who want to look at them."""

    target: tuple[Distribution, ...]
    draft: tuple[Distribution, ...]


@dataclass(frozen=True)
class Notice:
    """Something the user must be told once: a fallback and its reason."""

    text: str


@dataclass(frozen=True)
class Finish:
    """The answer is over."""

    reason: FinishReason


Event = Prefill | Notice | Step | Finish
