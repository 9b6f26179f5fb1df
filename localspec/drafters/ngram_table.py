"""A table of which token follows which few, learnt from token arrays, with honest probabilities.

Knows ids and counts. Does not know files, tokenizers, or how a draft is drawn.

Interpolated modified Kneser-Ney: each context keeps its likeliest continuations with discounted
probabilities, and the mass that is left weighs the law of the context one token shorter. What a
cap throws away goes to that mass, so that every law still sums to 1.
Source: Chen and Goodman, "An empirical study of smoothing techniques for language modeling".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.core.distribution import Distribution
from localspec.core.tokens import Tokens

ORDER = 5
"""Tokens in the longest gram: four known, one guessed."""

SUPPORT = 32
"""Ids in a law; the draft is drawn from these, renormalised."""

KEPT = 16
"""Continuations kept for one context."""

MAX_ENTRIES = 500_000
"""Kept continuations of one order: with their contexts at most 14 MB."""

MAX_TOKENS = 1 << 24

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_BREAK = -1
_ID_BITS = np.uint64(20)
_ID_MASK = np.uint64((1 << 20) - 1)


@dataclass(frozen=True)
class Level:
    """All contexts of one length.

    Shapes: `contexts` uint64 ascending and `left` float32 (contexts,); `starts` int64
    (contexts + 1,) into `ids` int32 and `probs` float32 (entries,), likeliest first.
    """

    contexts: NDArray[np.uint64]
    left: NDArray[np.float32]
    starts: NDArray[np.int64]
    ids: NDArray[np.int32]
    probs: NDArray[np.float32]

    def find(self, context: np.uint64) -> int | None:
        """Give the row of a context, if it was seen."""
        at = int(self.contexts.searchsorted(context))
        return at if at < len(self.contexts) and self.contexts[at] == context else None


@dataclass(frozen=True)
class NgramTable:
    """One id's law, and the levels above it from contexts of one token up.

    Shapes: `ids` int32 ascending, `probs` float32, both (ids seen,).
    """

    ids: NDArray[np.int32]
    probs: NDArray[np.float32]
    levels: tuple[Level, ...]

    @property
    def order(self) -> int:
        """Count the tokens of the longest gram."""
        return len(self.levels) + 1

    @property
    def size_bytes(self) -> int:
        """Give the bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays())

    def arrays(self) -> list[NDArray[Any]]:
        """Give every array, in the order in which `from_arrays` takes them."""
        found: list[NDArray[Any]] = [self.ids, self.probs]
        for level in self.levels:
            found += [level.contexts, level.left, level.starts, level.ids, level.probs]
        return found

    def law(self, context: Sequence[int]) -> Distribution | None:
        """Give the law after `context`; None when even its last token was never seen."""
        rows = self._rows(context)
        if not rows:
            return None
        spans = [slice(*level.starts[row : row + 2]) for level, row in rows]
        found = [level.ids[span] for (level, _), span in zip(rows, spans, strict=True)]
        ids = np.unique(np.concatenate(found)).astype(np.int64)
        probs = self._alone(ids)
        for (level, row), span in zip(rows, spans, strict=True):
            probs *= float(level.left[row])
            probs[ids.searchsorted(level.ids[span])] += level.probs[span]
        return _likeliest(ids, probs)

    def prob(self, context: Sequence[int], token: int) -> float:
        """Give the probability of one id under the whole law, not only its likeliest ids."""
        chance = float(self._alone(np.array([token], np.int64))[0])
        for level, row in self._rows(context):
            span = slice(*level.starts[row : row + 2])
            chance = chance * float(level.left[row])
            chance += float(level.probs[span][level.ids[span] == token].sum())
        return chance

    def _rows(self, context: Sequence[int]) -> list[tuple[Level, int]]:
        """Find the context at each length, the shortest first, until one was never seen."""
        rows: list[tuple[Level, int]] = []
        for length, level in enumerate(self.levels, 1):
            if length > len(context):
                break
            row = level.find(np.uint64(hash_context(context[-length:])))
            if row is None:
                break
            rows.append((level, row))
        return rows

    def _alone(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Look up the law without a context."""
        at = np.minimum(self.ids.searchsorted(ids), len(self.ids) - 1)
        return np.where(self.ids[at] == ids, self.probs[at], 0.0).astype(np.float64)


def from_arrays(arrays: Sequence[NDArray[Any]]) -> NgramTable:
    """Put a table together from `NgramTable.arrays`."""
    ids, probs, *rest = arrays
    return NgramTable(ids, probs, tuple(Level(*rest[at : at + 5]) for at in range(0, len(rest), 5)))


def train(
    texts: Sequence[Tokens], *, order: int = ORDER, max_entries: int = MAX_ENTRIES
) -> NgramTable:
    """Count every gram of the texts and turn the counts into laws.

    Raises: ValueError when there is no token at all, or more than 2**24, or an id of 2**20.
    """
    tokens = np.concatenate([np.append(text, np.int32(_BREAK)) for text in texts])
    places = np.flatnonzero(tokens != _BREAK)
    if not len(places):
        raise ValueError("no token to learn from")
    if len(tokens) > MAX_TOKENS or int(tokens.max()) > int(_ID_MASK):
        raise ValueError("more tokens or larger ids than the packed counts can hold")
    before = _before(tokens, places)
    levels: list[Level] = []
    counted = places[before >= order - 1]
    for length in range(order - 1, 0, -1):
        hashes = np.zeros(len(tokens), np.uint64)
        hashes[length:] = hash_contexts(tokens, length)[:-1]
        level, kinds = _count(hashes, tokens, counted, max_entries=max_entries)
        levels.append(level)
        counted = np.concatenate([kinds, places[before == length - 1]])
    ids, counts = np.unique(tokens[counted], return_counts=True)
    return NgramTable(ids, (counts / counts.sum()).astype(np.float32), tuple(reversed(levels)))


def hash_contexts(tokens: Tokens, length: int) -> NDArray[np.uint64]:
    """Hash every run of `length` ids to 44 bits, in order of where it begins.

    Of 4 million contexts some two share a hash; they then share a law, which only costs acceptance.
    """
    count = max(len(tokens) - length + 1, 0)
    hashes = np.zeros(count, np.uint64)
    for offset in range(length):
        hashes ^= tokens[offset : offset + count].astype(np.uint64) + np.uint64(offset + 1)
        hashes *= _MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
    return hashes >> _ID_BITS


def hash_context(context: Sequence[int]) -> int:
    """Hash one context as `hash_contexts` does: plain integers are faster for a single one."""
    value = 0
    for offset, token in enumerate(context, 1):
        value = ((value ^ (token + offset)) * int(_MULTIPLIER)) & (2**64 - 1)
        value ^= value >> 29
    return value >> int(_ID_BITS)


def _before(tokens: Tokens, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the ids of the same text before each place."""
    breaks = np.concatenate([[-1], np.flatnonzero(tokens == _BREAK)])
    begins: NDArray[np.int64] = np.repeat(breaks[:-1], np.diff(breaks) - 1) + 1
    return places - begins


def _count(
    hashes: NDArray[np.uint64], tokens: Tokens, places: NDArray[np.int64], *, max_entries: int
) -> tuple[Level, NDArray[np.int64]]:
    """Group places by context and next id; give the level and one place of each gram."""
    grams = hashes[places] << _ID_BITS | tokens[places].astype(np.uint64)
    order = np.argsort(grams)
    grams, places = grams[order], places[order]
    first = np.flatnonzero(_changes(grams))
    counts = np.diff(np.append(first, len(grams)))
    return _level(grams[first], counts, max_entries=max_entries), places[first]


def _changes(values: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Mark where a sorted array goes on to another value."""
    changed = np.ones(len(values), np.bool_)
    changed[1:] = values[1:] != values[:-1]
    return changed


def _level(grams: NDArray[np.uint64], counts: NDArray[np.int64], *, max_entries: int) -> Level:
    """Discount, and keep each context's likeliest continuations up to the caps."""
    contexts = grams >> _ID_BITS
    new = _changes(contexts)
    rows = np.cumsum(new) - 1
    names, totals = contexts[new], np.bincount(rows, counts)
    discounts = _discounts(counts)
    rows, counts, ids = _ranked(rows, counts, grams & _ID_MASK)
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    kept = np.flatnonzero(rank < KEPT)
    kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:max_entries]])
    rows, counts, ids = rows[kept], counts[kept], ids[kept]
    probs = (counts - discounts[np.minimum(counts, 3)]) / totals[rows]
    present, starts = np.unique(rows, return_index=True)
    mass = np.bincount(rows, probs, len(names))[present]
    return Level(
        names[present],
        np.maximum(1.0 - mass, 0.0).astype(np.float32),
        np.append(starts, len(rows)).astype(np.int64),
        ids,
        probs.astype(np.float32),
    )


def _ranked(
    rows: NDArray[np.int64], counts: NDArray[np.int64], ids: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Sort each context's continuations, the most frequent first, then by id.

    One sort of packed integers is several times as fast as a sort by three keys.
    """
    most = (1 << int(_ID_BITS)) - 1
    rare = (most - np.minimum(counts, most)).astype(np.uint64)
    packed = rows.astype(np.uint64) << (_ID_BITS * np.uint64(2)) | rare << _ID_BITS | ids
    packed.sort()
    frequent = most - (packed >> _ID_BITS & _ID_MASK).astype(np.int64)
    above = (packed >> (_ID_BITS * np.uint64(2))).astype(np.int64)
    return above, frequent, (packed & _ID_MASK).astype(np.int32)


def _discounts(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give what to take off a count of 1, 2, and 3 or more; entry 0 is not used.

    Source: Chen and Goodman, equation 17.
    """
    seen = np.bincount(np.minimum(counts, 5), minlength=5)[:5].astype(np.float64)
    if not seen[1:].all():
        return np.array([0.0, 0.5, 0.75, 0.75])
    share = seen[1] / (seen[1] + 2 * seen[2])
    exact = [k - (k + 1) * share * seen[k + 1] / seen[k] for k in (1, 2, 3)]
    return np.array([0.0, *np.clip(exact, 0.05, [0.95, 1.5, 2.0])])


def _likeliest(ids: NDArray[np.int64], probs: NDArray[np.float64]) -> Distribution:
    """Keep the likeliest ids and renormalise."""
    if len(ids) > SUPPORT:
        kept = np.sort(np.argpartition(probs, -SUPPORT)[-SUPPORT:])
        ids, probs = ids[kept], probs[kept]
    return Distribution(ids, probs / probs.sum())
