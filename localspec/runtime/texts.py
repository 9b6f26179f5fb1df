"""The user's own texts for the drafters that copy or count: read, tokenised, kept.

Knows files, a vocabulary and the cache. Does not know how the drafters use them.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from localspec.core.tokens import Tokens
from localspec.drafters.ngram_file import open_or_learn
from localspec.drafters.ngram_table import NgramTable
from localspec.drafters.textfile import read_text_file
from localspec.engine import Vocabulary
from localspec.runtime.folders import cache_dir

Notify = Callable[[str], None]


def text_ids(path: Path, vocabulary: Vocabulary, notify: Notify) -> Tokens:
    """Give the ids of a text file; say so if it is too long to be used whole.

    Raises: NotHere, OptionError.
    """

    def tokenize(piece: str) -> Tokens:
        return np.array(vocabulary.tokenize(piece, special=False, bos=False), np.int32)

    text = read_text_file(path, tokenize)
    if text.notice:
        notify(text.notice)
    return text.tokens


def ngram_table(paths: Sequence[Path], vocabulary: Vocabulary, notify: Notify) -> NgramTable:
    """Give the table learnt from these files with this tokenizer, kept from one run to the next.

    Raises: NotHere, OptionError.
    """
    fingerprint = _fingerprint(paths, vocabulary)
    path = cache_dir() / "ngram" / f"{fingerprint[:16]}.ngram"
    kept, line = open_or_learn(
        path, fingerprint, lambda: [text_ids(each, vocabulary, notify) for each in paths]
    )
    notify(line)
    return kept.table


def _fingerprint(paths: Sequence[Path], vocabulary: Vocabulary) -> str:
    """Digest the tokenizer's texts and the files' names, sizes and change times."""
    digest = hashlib.sha256()
    for token in range(vocabulary.size):
        digest.update(vocabulary.piece(token, special=True) + b"\0")
    for path in paths:
        facts = path.stat() if path.exists() else None
        seen = (str(path.absolute()), facts and facts.st_size, facts and facts.st_mtime_ns)
        digest.update(repr(seen).encode())
    return digest.hexdigest()
