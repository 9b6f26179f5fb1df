"""A head guesses from the target's own hidden states: EAGLE-3, or the target's prediction layers.

Knows histories and laws. The head's cache and the states are optimisations nobody else sees: where
a state is missing nothing is drafted, and a wrong draft costs speed, never text.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localspec.core.distribution import Distribution
from localspec.core.draft import NO_DRAFT, Draft, DraftRequest
from localspec.core.sampling import Sampler
from localspec.core.tokens import Logits, Token, TokenBuffer, Tokens, common_prefix
from localspec.errors import LocalspecError

States = NDArray[np.float32]

LONGEST_LOOK = 8


class StateSource(Protocol):
    """The target's states, by position of its tokens; see `engine.features.Tap`."""

    @property
    def tokens(self) -> Tokens:
        """Give the ids that the states belong to."""
        ...

    def rows(self, begin: int, end: int) -> States | None:
        """Give the states of the tokens from `begin` to before `end`; None when one is missing."""
        ...

    def read(self, position: int) -> None:
        """Hear that the states before a position have been read."""
        ...


class Head(Protocol):
    """Guess from pairs of a token and the state before it; see `engine.heads`."""

    @property
    def first(self) -> int:
        """Give the first token that has a pair."""
        ...

    @property
    def capacity(self) -> int:
        """Give the most tokens that can have pairs."""
        ...

    @property
    def longest(self) -> int | None:
        """Give the most tokens of one draft; None without a limit."""
        ...

    @property
    def held(self) -> int:
        """Give the tokens whose pairs the cache holds, all with states of the target."""
        ...

    def read(self, begin: int, tokens: Tokens, states: States, *, guess: bool) -> Logits | None:
        """Read the pairs of `tokens`, which stand at `begin` and after; guess after the last."""
        ...

    def step(self, token: Token) -> Logits:
        """Give the logits after one more token, with the head's own state."""
        ...


class HeadDrafter:
    """Draft from a head, with the sampler that the target's law goes through too.

    Before a token of the history can be read its predecessor's state must be there: the target has
    read all but the last token when a draft is asked for.
    """

    name: str

    def __init__(self, head: Head, states: StateSource, sampler: Sampler, *, name: str) -> None:
        self.name = name
        self.head, self.states, self.sampler = head, states, sampler
        self._seen = TokenBuffer()
        self._failure: LocalspecError | None = None

    @property
    def most(self) -> int:
        """Give the most ids of one proposal that are worth a look."""
        return self.head.longest or LONGEST_LOOK

    def prefill(self, history: Tokens) -> None:
        """Read the prompt, as far as the target has read it."""
        self._read(history, guess=False)

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draw tokens one by one, each from the head's own state after the one before.

        Raises: LocalspecError when the head could not be run.
        """
        limit = self._limit(history, request)
        row = self._read(history, guess=True) if limit > 0 else None
        if row is None:
            return NO_DRAFT
        seen = TokenBuffer(history)
        tokens: list[Token] = []
        laws: list[Distribution] = []
        while True:
            law = self.sampler.distribution(row, seen.view)
            if not request.keep_going(len(tokens), law):
                break
            tokens.append(request.pick(law, len(tokens)))
            laws.append(law)
            if len(tokens) == limit or not request.worth_looking(len(tokens)):
                break
            seen.extend(tokens[-1:])
            row = self.head.step(tokens[-1])
        return Draft(tuple(tokens), tuple(laws))

    def read_ahead(self, end: int) -> None:
        """Read what has states, which is what lies before `end`, before they are lost.

        A failure is kept for the next proposal: the pass that called goes on.
        """
        try:
            self._read(self.states.tokens[: end + 1].copy(), guess=False)
        except LocalspecError as failure:
            self._failure = failure

    def _limit(self, history: Tokens, request: DraftRequest) -> int:
        limit = min(request.limit, self.head.capacity - len(history) + 1)
        return limit if self.head.longest is None else min(limit, self.head.longest)

    def _read(self, history: Tokens, *, guess: bool) -> Logits | None:
        """Bring the head's cache to a history; give the logits after it, if its states are there.

        Raises: LocalspecError, which may be of an earlier call.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        end = min(len(history), self.head.capacity)
        begin = min(common_prefix(self._seen.view, history), self.head.held, end - guess)
        begin = max(begin, self.head.first)
        if begin >= end or common_prefix(self.states.tokens, history) < end - 1:
            return None
        states = self.states.rows(max(begin - 1, 0), end - 1)
        if states is None or (guess and end < len(history)):
            return None
        self._seen.truncate(0)
        row = self.head.read(begin, history[begin:end], states, guess=guess)
        self._seen.extend(history[:end])
        self.states.read(end - 1)
        return row
