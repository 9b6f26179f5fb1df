"""Heads at hand in a loaded pair, as drafters that can be measured alone.

Knows which of them the files and the target allow. Does not know what is measured.
"""

from dataclasses import dataclass
from typing import Protocol, cast

from localspec.core.draft import Draft, Drafter, DraftRequest
from localspec.core.sampling import SamplingParams
from localspec.core.tokens import Tokens, TokenSequence, sync
from localspec.errors import OptionError, PairRefused
from localspec.runtime.heads import kind_of
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import HEADS, MTP


class HeadOfTarget(Drafter, Protocol):
    """A drafter that guesses from the target's own states."""

    @property
    def most(self) -> int:
        """Give the most ids of one proposal."""
        ...


def heads_at_hand(
    runtime: Runtime, sampling: SamplingParams | None = None
) -> dict[str, HeadOfTarget]:
    """Give the heads that fit, by the drafter's name.

    Raises: PairRefused for a file that the user named.
    """
    file = runtime.settings.head
    named = kind_of(file) if file else None
    found: dict[str, HeadOfTarget] = {}
    for name in HEADS:
        if named not in (None, name) and name != MTP:
            continue
        try:
            found[name] = cast(HeadOfTarget, runtime.drafter(name, sampling))
        except OptionError:
            continue
        except PairRefused:
            if name == named:
                raise
    return found


@dataclass(frozen=True)
class ReadFirst:
    """Let the target read what a head looks at, before the head is asked; for timing it alone."""

    drafter: Drafter
    target: TokenSequence

    @property
    def name(self) -> str:
        """Give the drafter's name."""
        return self.drafter.name

    def prefill(self, history: Tokens) -> None:
        """Read all but the pending token, the last one with its state."""
        sync(self.target, history[:-2], 0)
        sync(self.target, history[:-1], 1)
        self.drafter.prefill(history)

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Ask the drafter."""
        return self.drafter.propose(history, request)
