"""Proof that a cache forgets: decode, take back, decode again, compare the logits.

Knows token sequences only. Does not know how a cache forgets, and believes none that says it did.
"""

from dataclasses import dataclass

import numpy as np

from localspec.core.tokens import Logits, Tokens, TokenSequence
from localspec.errors import LocalspecError

# As a share of a row's own spread. Rounding moves a row by up to .03, a wrong token before it by .3
# and more; the passes compared are equally wide, so most of the time nothing moves at all.
TOLERANCE = 0.1


@dataclass(frozen=True)
class Trial:
    """Ids to try a cache with, and the logits of the last of them in an untouched cache.

    Shapes: `truth` (rows, vocabulary).
    """

    ids: Tokens
    truth: Logits


def trial(sequence: TokenSequence, ids: Tokens, rows: int) -> Trial:
    """Decode the first id, then the others in one pass; what comes out is the truth."""
    sequence.rewind(0)
    sequence.extend(ids[:1], 0)
    return Trial(ids, sequence.extend(ids[1:], rows).copy())


def takes_back_a_pass(sequence: TokenSequence, tried: Trial) -> bool:
    """Take all but the first id back and decode them again."""
    return _agrees_after_rewind(sequence, tried)


def takes_back_a_part(sequence: TokenSequence, tried: Trial) -> bool:
    """Decode the first id together with a wrong one, take the wrong one back, and go on."""
    sequence.rewind(0)
    sequence.extend(np.array([tried.ids[0], tried.ids[-1]], np.int32), 0)
    return _agrees_after_rewind(sequence, tried)


def reads_again(sequence: TokenSequence, tried: Trial) -> bool:
    """Empty the cache and decode everything again."""
    sequence.rewind(0)
    return _read(sequence, tried.ids[:1], 0) is not None and _agrees(sequence, tried)


def _agrees_after_rewind(sequence: TokenSequence, tried: Trial) -> bool:
    return sequence.rewind(1) == 1 and _agrees(sequence, tried)


def _agrees(sequence: TokenSequence, tried: Trial) -> bool:
    rows = len(tried.truth)
    found = _read(sequence, tried.ids[1:], rows)
    return found is not None and agree(tried.truth, found)


def _read(sequence: TokenSequence, ids: Tokens, rows: int) -> Logits | None:
    """Decode; None where the engine refuses positions that do not follow on those it holds."""
    try:
        return sequence.extend(ids, rows)
    except (LocalspecError, ValueError):
        return None


def agree(truth: Logits, found: Logits) -> bool:
    """Tell whether two blocks of logits mean the same history."""
    finite = np.isfinite(truth)
    if not np.array_equal(finite, np.isfinite(found)):
        return False
    expected = np.where(finite, truth, 0).astype(np.float64)
    moved = np.sqrt(((np.where(finite, found, 0) - expected) ** 2).mean(axis=-1))
    return bool((moved <= TOLERANCE * expected.std(axis=-1) + 1e-6).all())
