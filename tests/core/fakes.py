"""Stand-ins for models, drafters and time, with laws that can be written down.

A `Markov` gives the law of the next id from the last two. `MarkovSequence` serves it through the
`TokenSequence` protocol and is strict where a real cache would be silently wrong: lent logits are
spoiled by the next pass, ids outside the vocabulary and overfull caches are errors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localspec.core.distribution import Distribution, from_logits, point
from localspec.core.draft import Draft, DraftRequest
from localspec.core.events import Step
from localspec.core.tokens import Logits, Token, TokenBuffer, Tokens
from localspec.errors import LocalspecError


def ids(*tokens: Token) -> Tokens:
    """Make a history."""
    return np.array(tokens, np.int32)


@dataclass(frozen=True)
class Markov:
    """Laws of the next id given the last two; a missing one counts as id 0.

    Shapes: `table` (contexts, contexts, vocabulary) float32 logits.
    """

    table: NDArray[np.float32]

    @property
    def size(self) -> int:
        """Give the size of the vocabulary."""
        return self.table.shape[2]

    def _context(self, history: Sequence[int] | Tokens) -> tuple[int, int]:
        last = [0, 0, *(int(token) for token in history[-2:])]
        contexts = self.table.shape[0]
        return last[-2] % contexts, last[-1] % contexts

    def row(self, history: Sequence[int] | Tokens) -> Logits:
        """Give the logits after a history."""
        return self.table[self._context(history)]

    @cached_property
    def _laws(self) -> dict[tuple[int, int], Distribution]:
        return {at: _softmax(self.table[at]) for at in np.ndindex(*self.table.shape[:2])}

    def law(self, history: Sequence[int] | Tokens) -> Distribution:
        """Give the law of those logits at temperature 1."""
        return self._laws[self._context(history)]


def _softmax(row: Logits) -> Distribution:
    support = np.flatnonzero(row > -np.inf)
    return from_logits(support, row[support].astype(np.float64))


def markov(probs: NDArray[np.float64]) -> Markov:
    """Make a Markov source from probabilities (contexts, contexts, vocabulary)."""
    with np.errstate(divide="ignore"):
        return Markov(np.log(probs).astype(np.float32))


def constant(*probs: float) -> Markov:
    """Make a source that never looks at its history."""
    return markov(np.array([[probs]], np.float64))


def random_markov(size: int, seed: int, *, sharpness: float = 1.0) -> Markov:
    """Make a source of Dirichlet rows; a higher sharpness makes them more uneven."""
    rng = np.random.default_rng(seed)
    return markov(rng.dirichlet(np.full(size, 1 / sharpness), (size, size)) * (1 - 1e-6) + 1e-7)


def looping(script: Sequence[Token], size: int) -> Markov:
    """Make a source that says a script of different ids over and over, fairly sure of each."""
    table = np.zeros((size, size, size), np.float32)
    table[:, :, script[0]] = 1.0
    for last, token in zip(script, [*script[1:], script[0]], strict=True):
        table[:, last, token] = 3.0
        table[:, last, (token + 1) % size] = 2.7
    return Markov(table)


class FakeClock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class MarkovSequence:
    """A cache over a `Markov`; `keeps` says how much of a rewind to a length really stays."""

    def __init__(
        self,
        source: Markov,
        *,
        capacity: int = 4096,
        keeps: Callable[[int], int] = lambda length: length,
        on_pass: Callable[[int], None] = lambda tokens: None,
    ) -> None:
        self.source = source
        self.capacity = capacity
        self.decoded = 0
        self._keeps = keeps
        self._on_pass = on_pass
        self._buffer = TokenBuffer()
        self._lent = np.empty((0, source.size), np.float32)

    @property
    def tokens(self) -> Tokens:
        """Give what the cache holds."""
        return self._buffer.view

    def extend(self, tokens: Tokens, rows: int) -> Logits:
        """Decode, spoil the rows lent before, and lend new ones."""
        end = len(self._buffer) + len(tokens)
        if end > self.capacity or rows > len(tokens):
            raise ValueError(f"{end} tokens in a cache of {self.capacity}, {rows} rows asked for")
        if len(tokens) and not (tokens.min() >= 0 and tokens.max() < self.source.size):
            raise ValueError("an id outside the vocabulary was decoded")
        self._lent.fill(np.nan)
        self._buffer.extend(tokens)
        self.decoded += len(tokens)
        view = self._buffer.view
        lent = [self.source.row(view[max(0, at - 2) : at]) for at in range(end - rows + 1, end + 1)]
        self._lent = np.array(lent, np.float32).reshape(rows, self.source.size)
        if len(tokens):
            self._on_pass(len(tokens))
        return self._lent

    def rewind(self, length: int) -> int:
        """Forget, perhaps more than asked for."""
        self._buffer.truncate(min(length, self._keeps(length)))
        return len(self._buffer)


@dataclass
class MarkovDrafter:
    """Draw each guess from a `Markov`, as a draft model would."""

    source: Markov
    name: str = "model"
    observed: list[Step] = field(default_factory=list)

    def prefill(self, history: Tokens) -> None:
        """Keep no cache."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draw with the request's pick, stopping when told to before a draw."""
        text = [int(token) for token in history[-2:]]
        before, laws = len(text), list[Distribution]()
        for i in range(request.limit):
            if i and not request.worth_looking(i):
                break
            law = self.source.law(text)
            if not request.keep_going(i, law):
                break
            text.append(request.pick(law, i))
            laws.append(law)
        return Draft(tuple(text[before:]), tuple(laws))

    def observe(self, step: Step) -> None:
        """Remember what happened."""
        self.observed.append(step)


@dataclass
class ScriptedDrafter:
    """Guess `guess(history, limit)`, each id as a sure point."""

    guess: Callable[[list[Token], int], Sequence[Token]]
    name: str = "script"
    observed: list[Step] = field(default_factory=list)

    def prefill(self, history: Tokens) -> None:
        """Need nothing."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Ask the script."""
        guess = tuple(self.guess(history.tolist(), request.limit))
        return Draft(guess, tuple(point(token) for token in guess))

    def observe(self, step: Step) -> None:
        """Remember what happened."""
        self.observed.append(step)


@dataclass
class FailingDrafter:
    """Work like another drafter, but fail at every n-th call of any kind."""

    inner: MarkovDrafter | ScriptedDrafter
    every: int
    calls: int = 0

    @property
    def name(self) -> str:
        """Give the inner name."""
        return self.inner.name

    def _call(self) -> None:
        self.calls += 1
        if self.calls % self.every == 0:
            raise LocalspecError("decode failed")

    def prefill(self, history: Tokens) -> None:
        """Fail or pass on."""
        self._call()
        self.inner.prefill(history)

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Fail or pass on."""
        self._call()
        return self.inner.propose(history, request)

    def observe(self, step: Step) -> None:
        """Fail or pass on."""
        self._call()
        self.inner.observe(step)
