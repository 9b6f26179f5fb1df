"""Heads on the target's last hidden state guess several tokens at once.

Knows the heads and where the states of a history are found. Does not know how either came here.
"""

from typing import Protocol

import numpy as np

from localspec.core.distribution import Distribution
from localspec.core.draft import NO_DRAFT, Draft, DraftRequest
from localspec.core.sampling import Sampler
from localspec.core.tokens import Token, TokenBuffer, Tokens, common_prefix
from localspec.drafters.medusa_heads import Floats, MedusaHeads

PENDING = 1
"""Ids of a history that the target has not read yet: the last one it wrote."""


class States(Protocol):
    """Hidden states of the target by position."""

    @property
    def tokens(self) -> Tokens:
        """Give the ids that the states belong to."""
        ...

    def rows(self, begin: int, end: int) -> Floats | None:
        """Give the states of positions `begin` to before `end`; None when one is missing."""
        ...


class MedusaDrafter:
    """Draw each id from its own head's law, whatever the others drew.

    All heads read the state behind the last token but one of the history, which is the last that
    the target has read. Where that state is not at hand (the first round after a prompt, a history
    edited since) nothing is guessed. The sampler's `usable` must not exceed the target's.
    """

    name = "medusa"

    def __init__(self, states: States, heads: MedusaHeads, sampler: Sampler, *, size: int) -> None:
        self._states, self._heads, self._sampler = states, heads, sampler
        self._row = np.full(size, -np.inf, np.float32)

    @property
    def most(self) -> int:
        """Give the most ids of one proposal."""
        return len(self._heads)

    def prefill(self, history: Tokens) -> None:
        """Do nothing: the target's own pass leaves the state."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draw at most one id a head."""
        limit = min(request.limit, len(self._heads))
        state = self._state(history)
        if state is None or limit <= 0:
            return NO_DRAFT
        seen = TokenBuffer(history)
        tokens: list[Token] = []
        laws: list[Distribution] = []
        for i, logits in enumerate(self._heads.guesses(state, limit)):
            law = self._law(logits, seen.view)
            if not request.keep_going(i, law):
                break
            tokens.append(request.pick(law, i))
            laws.append(law)
            seen.extend(tokens[-1:])
        return Draft(tuple(tokens), tuple(laws))

    def _state(self, history: Tokens) -> Floats | None:
        """Find the state behind the last token that the target has read of this history."""
        end = len(history) - PENDING
        if end < 1 or common_prefix(self._states.tokens, history[:end]) < end:
            return None
        rows = self._states.rows(end - 1, end)
        return None if rows is None else rows[0]

    def _law(self, logits: Floats, seen: Tokens) -> Distribution:
        """Put a head's logits where the target has these ids, and transform them as its own."""
        self._row[self._heads.ids] = logits
        return self._sampler.distribution(self._row, seen)
