"""What a new target loses against the given one, on the user's text.

KL divergence of the plain softmax (no transform), top-1 agreement, perplexity; each with a
bootstrap interval over stretches of text, since neighbouring tokens are alike. Knows sequences
and ids. Does not know how the layout was made.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localspec.core.statistics import BOOTSTRAP_ROUNDS, Estimate
from localspec.core.tokens import Tokens, TokenSequence

ROWS = 32
"""Rows of logits asked for at a time."""
STRETCH = 16
"""Neighbouring rows that the bootstrap draws together."""
MOST_TOKENS = 1024
MOST_BYTES = 320 * 2**20
LEAST = -1000.0
"""A log probability that half precision still holds, and nothing ever needs to be below."""
Floats = NDArray[np.float64]
Halves = NDArray[np.float16]


@dataclass(frozen=True)
class Quality:
    """A target against the given one. `perplexity_ratio`: the new one's over the given one's."""

    tokens: int
    kl_mean: Estimate
    kl_p99: Estimate
    top1: Estimate
    perplexity_ratio: Estimate


@dataclass(frozen=True)
class Reference:
    """The given target's log probabilities along a text, in half precision, in stretches.

    Shapes: each of `logps` (rows, vocabulary).
    """

    windows: tuple[Tokens, ...] = field(repr=False)
    logps: tuple[Halves, ...] = field(repr=False)


def windows_of(texts: Sequence[Tokens], *, vocabulary: int, capacity: int) -> tuple[Tokens, ...]:
    """Cut texts so that their log probabilities fit in memory; the first ones stay."""
    left = min(MOST_TOKENS, MOST_BYTES // (2 * vocabulary))
    found = []
    for text in texts:
        length = min(len(text), left, capacity)
        if length < 2:
            continue
        found.append(text[:length])
        left -= length
    return tuple(found)


def read_reference(sequence: TokenSequence, windows: tuple[Tokens, ...]) -> Reference:
    """Read the texts with the given target."""
    kept = [np.maximum(logp, LEAST).astype(np.float16) for logp in _read(sequence, windows)]
    return Reference(windows, tuple(kept))


def quality(
    sequence: TokenSequence,
    reference: Reference,
    *,
    check: Callable[[], None] = lambda: None,
    seed: int = 0,
) -> Quality:
    """Read the texts with another target, and hold it against the reference.

    `check` is called before each stretch, and may raise when the time is up.
    """
    rows = []
    places = _next_tokens(reference.windows)
    for old, new, after in zip(
        reference.logps, _read(sequence, reference.windows), places, strict=True
    ):
        check()
        for at in range(0, len(after), STRETCH):
            part = slice(at, at + STRETCH)
            rows.append(_compared(old[part].astype(np.float32), new[part], after[part]))
    return _summed(rows, seed)


def _read(sequence: TokenSequence, windows: Sequence[Tokens]) -> Iterator[NDArray[np.float32]]:
    """Give log probabilities in stretches of rows."""
    for window in windows:
        sequence.rewind(0)
        for start in range(0, len(window), ROWS):
            piece = window[start : start + ROWS]
            logits = sequence.extend(piece, len(piece))
            top = logits.max(axis=1, keepdims=True)
            spread = np.exp(logits - top, dtype=np.float32).sum(axis=1, keepdims=True)
            yield logits - top - np.log(spread)
    sequence.rewind(0)


def _next_tokens(windows: Sequence[Tokens]) -> Iterator[Tokens]:
    """Give the token after each row; -1 after the last one of a window."""
    for window in windows:
        after = np.append(window[1:], -1).astype(np.int32)
        for start in range(0, len(window), ROWS):
            yield after[start : start + ROWS]


def _compared(
    old: NDArray[np.float32], new: NDArray[np.float32], after: Tokens
) -> tuple[Floats, Floats, Floats, Floats]:
    """Give each row's KL and agreement, and both surprises where the next token is known."""
    old = old - np.log(np.exp(old).sum(axis=1, keepdims=True))  # half precision rounded it
    new = np.maximum(new, LEAST)
    kl = (np.exp(old) * (old - new)).sum(axis=1, dtype=np.float64)
    same = (old.argmax(axis=1) == new.argmax(axis=1)).astype(np.float64)
    known = np.flatnonzero(after >= 0)
    surprise = [-each[known, after[known]].astype(np.float64) for each in (old, new)]
    return np.maximum(kl, 0.0), same, surprise[0], surprise[1]


def _summed(rows: Sequence[tuple[Floats, Floats, Floats, Floats]], seed: int) -> Quality:
    kl, same = (np.concatenate([row[at] for row in rows]) for at in range(2))

    def perplexity(picked: Sequence[int]) -> float:
        old = np.concatenate([rows[at][2] for at in picked])
        new = np.concatenate([rows[at][3] for at in picked])
        return float(np.exp(new.mean() - old.mean())) if len(old) else 1.0

    everything = range(len(rows))
    picks = np.random.default_rng(seed).integers(0, len(rows), (BOOTSTRAP_ROUNDS, len(rows)))

    def estimate(value: float, of: Callable[[Sequence[int]], float]) -> Estimate:
        drawn = [of(pick) for pick in picks.tolist()]
        low, high = np.percentile(drawn, [2.5, 97.5])
        return Estimate(value, float(low), float(high))

    return Quality(
        len(kl),
        estimate(float(kl.mean()), lambda at: _mean(rows, at, 0)),
        estimate(float(np.percentile(kl, 99)), lambda at: _p99(rows, at)),
        estimate(float(same.mean()), lambda at: _mean(rows, at, 1)),
        estimate(perplexity(everything), perplexity),
    )


def _mean(rows: Sequence[Sequence[Floats]], picked: Sequence[int], column: int) -> float:
    total = sum(float(rows[at][column].sum()) for at in picked)
    return total / sum(len(rows[at][column]) for at in picked)


def _p99(rows: Sequence[Sequence[Floats]], picked: Sequence[int]) -> float:
    return float(np.percentile(np.concatenate([rows[at][0] for at in picked]), 99))
