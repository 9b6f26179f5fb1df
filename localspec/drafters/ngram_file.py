"""An n-gram table as one file, and what it is expected to be worth.

Knows the format: a magic word, the length of a JSON header, the header, the arrays' bytes, and the
SHA-256 of all that. Nothing in it is ever executed. Does not know tokenizers: it is handed the
fingerprint of one, and a table is good for no other.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.core.counted import counted
from localspec.core.tokens import Tokens
from localspec.drafters.ngram_table import NgramTable, from_arrays, train
from localspec.errors import LocalspecError, OptionError, PairRefused

_MAGIC = b"LSNGRAM1"
_DIGEST_BYTES = 32
_TYPES = {"<u8": np.uint64, "<i8": np.int64, "<i4": np.int32, "<f4": np.float32}
MAX_LEARNT = 2_000_000
"""Tokens a table is learnt from: about 8 MB of text, and 0.6 GB of memory while learning."""

_HELD_OUT = 0.1
_JUDGED = 2_000
_FLOOR = 2.0**-20
_MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True)
class NgramReport:
    """What was learnt, and how it did on text that it had not seen.

    `top1` is the share of held-out tokens that were the likeliest guess: the acceptance rate of a
    greedy draft if the answers are like the texts. `mean_prob` is the mean probability of the
    right token, a lower bound of a sampled draft's acceptance. Missing when there was too little
    text to hold any out.
    """

    tokens: int
    left_out: int
    size_bytes: int
    top1: float | None = None
    mean_prob: float | None = None
    bits_per_token: float | None = None


@dataclass(frozen=True)
class KeptTable:
    """A table with what is known about it. `fingerprint`: of tokenizer and texts."""

    table: NgramTable
    report: NgramReport
    fingerprint: str


def learn(texts: Sequence[Tokens], fingerprint: str) -> KeptTable:
    """Learn a table, judging it first on the last tenth of each text.

    Of more than `MAX_LEARNT` tokens the first are taken; the report says how many were left out.

    Raises: OptionError when the texts hold no token.
    """
    if not any(len(text) for text in texts):
        raise OptionError("there is no text to learn from", "give --ngram-from a file with text")
    taken = _bounded(texts)
    judged = _judge(taken)
    table = train(taken)
    learnt = sum(map(len, taken))
    left_out = sum(map(len, texts)) - learnt
    report = NgramReport(learnt, left_out, table.size_bytes, *judged)
    return KeptTable(table, report, fingerprint)


def _bounded(texts: Sequence[Tokens]) -> list[Tokens]:
    """Take texts from the first on, up to the cap."""
    room = MAX_LEARNT
    taken: list[Tokens] = []
    for text in texts:
        taken.append(text[:room])
        room -= len(taken[-1])
    return taken


def _judge(texts: Sequence[Tokens]) -> tuple[float, float, float] | tuple[()]:
    """Learn from the first nine tenths of each text, and guess at the rest."""
    cuts = [len(text) - int(len(text) * _HELD_OUT) for text in texts]
    seen = [text[:cut] for text, cut in zip(texts, cuts, strict=True) if cut]
    held = sum(len(text) - cut for text, cut in zip(texts, cuts, strict=True))
    if not held or not seen:
        return ()
    table = train(seen)
    hits: list[bool] = []
    probs: list[float] = []
    for text, at in _spread(texts, cuts, max(1, held // _JUDGED)):
        context = text[max(at + 1 - table.order, 0) : at].tolist()
        law = table.law(context)
        hits.append(law is not None and int(law.ids[law.probs.argmax()]) == int(text[at]))
        probs.append(table.prob(context, int(text[at])))
    bits = -np.log2(np.maximum(probs, _FLOOR))
    return float(np.mean(hits)), float(np.mean(probs)), float(bits.mean())


def _spread(
    texts: Sequence[Tokens], cuts: Sequence[int], every: int
) -> Iterator[tuple[Tokens, int]]:
    """Give every so many of the held-out places."""
    places = (
        (text, at) for text, cut in zip(texts, cuts, strict=True) for at in range(cut, len(text))
    )
    return islice(places, 0, None, every)


def save(path: Path, kept: KeptTable) -> None:
    """Write a table so that a reader finds all of it or the file that was there before."""
    arrays = [_little_endian(array) for array in kept.table.arrays()]
    header = json.dumps(
        {
            "fingerprint": kept.fingerprint,
            "report": asdict(kept.report),
            "arrays": [[array.dtype.str, len(array)] for array in arrays],
        }
    ).encode()
    parts = [_MAGIC, len(header).to_bytes(8, "little"), header, *(a.tobytes() for a in arrays)]
    digest = hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                digest.update(part)
                file.write(part)
            file.write(digest.digest())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: Path, fingerprint: str) -> KeptTable:
    """Read a table, checking every byte of it before use.

    Raises: PairRefused when the file is damaged, or was made for other texts or another tokenizer;
    OSError when it cannot be read.
    """
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise _damaged(path, "it is too large")
    data = path.read_bytes()
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if not body.startswith(_MAGIC):
        raise _damaged(path, "it is not an n-gram table of this version")
    if hashlib.sha256(body).digest() != digest:
        raise _damaged(path, "its checksum is wrong")
    try:
        kept = _parse(body)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as wrong:
        raise _damaged(path, f"its contents do not fit together ({wrong})") from wrong
    if kept.fingerprint != fingerprint:
        raise PairRefused(
            f"{path} was learnt from other texts or for another tokenizer",
            "name the texts with --ngram-from to learn it again",
        )
    return kept


def open_or_learn(
    path: Path, fingerprint: str, texts: Callable[[], Sequence[Tokens]]
) -> tuple[KeptTable, str]:
    """Give the kept table, or learn and keep a new one; and one line on what was done and why.

    A table that cannot be kept is used all the same.
    """
    try:
        kept = load(path, fingerprint)
        return kept, _summary("read", kept)
    except (FileNotFoundError, NotADirectoryError):
        why = "learnt"
    except (LocalspecError, OSError) as failure:
        why = f"learnt again ({getattr(failure, 'strerror', None) or failure})"
    kept = learn(texts(), fingerprint)
    try:
        save(path, kept)
    except OSError as failure:
        why = f"{why}, but not kept ({failure.strerror})"
    return kept, _summary(why, kept)


def _summary(how: str, kept: KeptTable) -> str:
    """Say size and expected acceptance in a line."""
    report = kept.report
    line = (
        f"n-gram table {how}: {counted(report.tokens, 'token')}, {report.size_bytes / 1e6:.1f} MB"
    )
    if report.left_out:
        line += f", {counted(report.left_out, 'token')} left out"
    if report.top1 is None:
        return line
    return f"{line}, expected acceptance {report.top1:.0%} on text like it"


def _parse(body: bytes) -> KeptTable:
    """Take header and arrays apart, every length checked."""
    begin = len(_MAGIC) + 8
    end = begin + int.from_bytes(body[len(_MAGIC) : begin], "little")
    header = json.loads(body[begin:end])
    arrays, end = _arrays(body, header["arrays"], end)
    if end != len(body):
        raise ValueError("bytes are left over")
    table = from_arrays(arrays)
    _check(table)
    return KeptTable(table, NgramReport(**header["report"]), header["fingerprint"])


def _arrays(body: bytes, kinds: list[tuple[str, int]], at: int) -> tuple[list[NDArray[Any]], int]:
    """Take the arrays from the bytes; the second is where they end."""
    arrays: list[NDArray[Any]] = []
    for kind, count in kinds:
        array = np.frombuffer(body, np.dtype(kind), count, at).astype(_TYPES[kind], copy=False)
        arrays.append(array)
        at += array.nbytes
    return arrays, at


def _check(table: NgramTable) -> None:
    """Refuse arrays that would be read out of bounds or give no law."""
    if len(table.ids) != len(table.probs) or not len(table.ids):
        raise ValueError("the law without a context")
    for level in table.levels:
        fits = (
            len(level.contexts) == len(level.left) == len(level.starts) - 1
            and len(level.ids) == len(level.probs) == int(level.starts[-1])
            and int(level.starts[0]) == 0
            and bool((np.diff(level.starts) > 0).all())
            and bool((level.probs > 0).all())
        )
        if not fits:
            raise ValueError("a level's lengths")


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    """Give the array in the byte order of the file."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def _damaged(path: Path, why: str) -> PairRefused:
    return PairRefused(f"cannot use {path}: {why}", "delete it; it is learnt again when needed")
