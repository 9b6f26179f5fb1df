"""Screen a draft on stored plain answers, without a speculative run.

Along an answer that the target wrote, the token rule accepts a drafted token at t with chance
min(1, q_t(x_t) / p_t(x_t)), and independently from place to place. One prefill of a draft over the
answer thus gives its round lengths for every gamma. Exact for the token rule; the block rule gives
the same at temperature 0 and a little more above it. Knows laws and ids, no files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp

import numpy as np
from numpy.typing import NDArray

from localspec.core.distribution import Distribution
from localspec.core.draft import Drafter, DraftRequest
from localspec.core.sampling import Sampler
from localspec.core.tokens import Tokens, TokenSequence, sync
from localspec.measure.heads import HeadOfTarget
from localspec.measure.sample import Sample
from localspec.runtime.settings import EAGLE3, MTP

CHUNK = 32
REREADING = frozenset({EAGLE3, MTP})
"""Drafters that read what stood once more, now with the states of the target."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Transcript:
    """A plain answer. Shapes: `tokens` and `probs`, the target's p of each, equally long."""

    kind: str
    prompt: Tokens = field(repr=False)
    tokens: Tokens = field(repr=False)
    probs: Floats = field(repr=False)

    @property
    def history(self) -> Tokens:
        """Give prompt and answer."""
        return np.concatenate([self.prompt, self.tokens]).astype(np.int32)


def transcript_of(sample: Sample) -> Transcript:
    """Make a plain sample a transcript.

    Raises: ValueError when the sample kept no probabilities.
    """
    if len(sample.logps) != sample.emitted:
        raise ValueError("a transcript needs a plain answer with its log p")
    return Transcript(
        sample.slot.kind,
        sample.slot.prompt.ids,
        np.array(sample.tokens, np.int32),
        np.array([exp(value) for value in sample.logps]),
    )


@dataclass(frozen=True)
class Chances:
    """What a drafter would have done along a transcript.

    Shapes: (answer,) each. `accept[t]`: the chance that token t, had it been drafted, would have
    been accepted. `reach[t]`: how many tokens a round that starts at t can draft at all.
    """

    accept: Floats = field(repr=False)
    reach: NDArray[np.int64] = field(repr=False)
    start: int = 0
    point: bool = False


def model_chances(
    sequence: TokenSequence, sampler: Sampler, transcript: Transcript, *, chunk: int = CHUNK
) -> Chances:
    """Read an answer with a draft model once; its own laws give every chance.

    `chunk` rows of logits are asked for at a time; the sequence must allow them.
    """
    history, first = transcript.history, len(transcript.prompt)
    sync(sequence, history[: first - 1], 0)
    accept = np.empty(len(transcript.tokens))
    for at in range(0, len(accept), chunk):
        until = min(at + chunk, len(accept))
        rows = sequence.extend(history[first - 1 + at : first - 1 + until], until - at)
        for place in range(at, until):
            law = sampler.distribution(rows[place - at], history[: first + place])
            q = law.prob(int(transcript.tokens[place]))
            accept[place] = min(1.0, q / transcript.probs[place])
    reach = np.arange(len(accept) - 1, -1, -1, dtype=np.int64)
    return Chances(accept, reach, first)


def point_chances(drafter: Drafter, transcript: Transcript, *, most: int) -> list[Chances]:
    """Ask a deterministic drafter at every place; give one `Chances` a starting place.

    A copy depends on where the round began, so each start has its own chances: 1 where the guess
    is what was written, else 0.
    """
    history, first = transcript.history, len(transcript.prompt)
    drafter.prefill(history[: first - 1])
    found = []
    for at in range(len(transcript.tokens)):
        limit = min(most, len(transcript.tokens) - at - 1)
        guess: tuple[int, ...] = ()
        if limit > 0:
            request = DraftRequest(limit, lambda law, _place: int(law.ids[0]))
            guess = drafter.propose(history[: first + at], request).tokens
        right = np.array(guess, np.int64) == transcript.tokens[at : at + len(guess)]
        reach = np.array([len(guess)], np.int64)
        found.append(Chances(right.astype(np.float64), reach, first + at, point=True))
    return found


def head_chances(
    drafter: HeadOfTarget, target: TokenSequence, transcript: Transcript, *, chunk: int
) -> list[Chances]:
    """Ask heads at every place of an answer; give one `Chances` a starting place.

    The target reads the answer `chunk` tokens at a time, each with its state; a head that draws
    token by token is led along what was really written.
    """
    history, first = transcript.history, len(transcript.prompt)
    sync(target, history[: first - 1], 0)
    found: list[Chances] = []
    for at in range(0, len(transcript.tokens), chunk):
        until = min(at + chunk, len(transcript.tokens))
        target.extend(history[first - 1 + at : first - 1 + until], until - at)
        for start in range(at, until):
            limit = min(drafter.most, len(transcript.tokens) - start - 1)
            # The state of the last token read: at the very start of an answer there is none.
            laws = _laws_along(drafter, transcript, start, limit if start else 0)
            chances = [
                min(1.0, law.prob(int(transcript.tokens[start + i])) / transcript.probs[start + i])
                for i, law in enumerate(laws)
            ]
            found.append(Chances(np.array(chances), np.array([len(laws)], np.int64), first + start))
    return found


def _laws_along(
    drafter: Drafter, transcript: Transcript, start: int, limit: int
) -> tuple[Distribution, ...]:
    """Give the laws of a round that begins at `start`, along what was really written."""
    if limit <= 0:
        return ()
    request = DraftRequest(limit, lambda _law, place: int(transcript.tokens[start + place]))
    return drafter.propose(transcript.history[: len(transcript.prompt) + start], request).laws


@dataclass(frozen=True)
class Rounds:
    """The rounds of one gamma along one answer. Shapes: (answer,) each.

    `visits[t]`: the chance that a round starts at t; `drafted[t]`: how much it would draft;
    `whole[t]`: the chance that it starts there after a draft of which all stood; `stood[t]`: the
    tokens expected to have stood in the round before it, times `visits[t]`.
    """

    visits: Floats = field(repr=False)
    drafted: NDArray[np.int64] = field(repr=False)
    whole: Floats = field(repr=False)
    stood: Floats = field(repr=False)
    start: int = 0

    def unread(self, drafter: str) -> float:
        """Give how many ids a drafter is expected to read besides the newest of every round."""
        return float((self.stood if drafter in REREADING else self.whole)[:-1].sum())

    @property
    def count(self) -> float:
        """Give the expected number of rounds."""
        return float(self.visits.sum())

    @property
    def tokens(self) -> int:
        """Count the tokens written."""
        return len(self.visits)


def model_rounds(chances: Chances, gamma: int) -> Rounds:
    """Follow every way the rounds of a model drafter can fall along an answer."""
    drafted = np.minimum(chances.reach, gamma)
    rounds = _unvisited(drafted, chances.start)
    for at in range(len(drafted)):
        _spread(rounds, at, chances.accept[at : at + drafted[at]])
    return rounds


def point_rounds(chances: Sequence[Chances], gamma: int) -> Rounds:
    """Follow the rounds of a deterministic drafter."""
    drafted = np.array([min(int(each.reach[0]), gamma) for each in chances], np.int64)
    rounds = _unvisited(drafted, chances[0].start)
    for at, each in enumerate(chances):
        _spread(rounds, at, each.accept[: drafted[at]])
    return rounds


def _unvisited(drafted: NDArray[np.int64], start: int) -> Rounds:
    visits, whole, stood = np.zeros((3, len(drafted)))
    visits[0] = 1.0
    return Rounds(visits, drafted, whole, stood, start)


def _spread(rounds: Rounds, at: int, accept: Floats) -> None:
    """Pass the chance of a start on to where the next round may start."""
    visits = rounds.visits
    if visits[at] <= 0:
        return
    alive = np.concatenate([[1.0], np.cumprod(accept)])
    ends = alive.copy()
    ends[:-1] -= alive[1:]
    ends *= visits[at]
    stop = min(at + 1 + len(ends), len(visits))
    reached = ends[: stop - at - 1]
    visits[at + 1 : stop] += reached
    rounds.stood[at + 1 : stop] += np.arange(len(reached)) * reached
    if len(accept) and len(reached) == len(ends):
        rounds.whole[stop - 1] += ends[-1]
