"""One drafter under several laws: who asks brings the sampler.

Knows a drafter whose sampler may be changed. Does not know what it has read.
"""

from dataclasses import dataclass

from localspec.core.draft import Draft, DraftRequest
from localspec.core.sampling import Sampler
from localspec.core.tokens import Tokens
from localspec.drafters.head import HeadDrafter


@dataclass(frozen=True)
class WithLaw:
    """A head with one law; the head itself is shared with others, who have laws of their own."""

    head: HeadDrafter
    sampler: Sampler

    @property
    def name(self) -> str:
        """Give the head's name."""
        return self.head.name

    @property
    def most(self) -> int:
        """Give the most ids of one proposal that are worth a look."""
        return self.head.most

    def prefill(self, history: Tokens) -> None:
        """Let the head read."""
        self.head.prefill(history)

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Let the head guess by this law."""
        self.head.sampler = self.sampler
        return self.head.propose(history, request)
