"""Fetch one file into a part file that survives being killed, and prove it is whole.

Knows byte ranges, hashes and retries. Does not know the hub: bytes come from a callable that opens
a stream at an offset.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Protocol

from localspec.errors import HubError

READ_BYTES = 1 << 20


class Hasher(Protocol):
    """What hashlib gives."""

    def update(self, data: bytes, /) -> None:
        """Take more bytes in."""
        ...

    def hexdigest(self) -> str:
        """Give the digest so far."""
        ...


class Broken(Exception):
    """The connection broke or stalled; trying again may help. The text says how."""


class Damaged(Exception):
    """All bytes came, and they are not the file that was promised."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An open answer: `start` is the offset of its first byte, `total` the size it claims."""

    start: int
    total: int | None
    chunks: Iterator[bytes]


Open = Callable[[int], AbstractContextManager[Stream]]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The file that is to come; `digest` is a sha256, or the git id of a small file."""

    name: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a byte, and how often to try when none comes.

    Units: seconds.
    """

    stall_s: float = 30.0
    attempts: int = 4
    pause_s: float = 1.0


def fetch(
    part: Path, wanted: Wanted, open_at: Open, progress: Progress, patience: Patience
) -> None:
    """Bring `part` to the whole file, going on where an earlier run stopped.

    Raises: HubError when the bytes stop coming, or come damaged twice.
    """
    try:
        _fetch_once(part, wanted, open_at, progress, patience)
    except Damaged:
        part.unlink()
        try:
            _fetch_once(part, wanted, open_at, progress, patience)
        except Damaged as error:
            part.unlink()
            raise HubError(
                f"{wanted.name} arrived damaged twice: its hash is not the published one",
                "something on the way changes the file: try another network or HF_ENDPOINT",
            ) from error


def _fetch_once(
    part: Path, wanted: Wanted, open_at: Open, progress: Progress, patience: Patience
) -> None:
    writer = _Writer(part, wanted, progress)
    left, reason = patience.attempts, ""
    with writer:
        while writer.have < wanted.size:
            before = writer.have
            try:
                with open_at(before) as stream:
                    writer.take(stream)
                reason = "the connection ended early"
            except Broken as error:
                reason = str(error)
            left = patience.attempts if writer.have > before else left - 1
            if left <= 0:
                raise HubError(
                    f"{wanted.name}: {reason}, {patience.attempts} times without a new byte",
                    f"run it again: it goes on after {writer.have} of {wanted.size} bytes",
                )
            if writer.have < wanted.size:
                sleep(patience.pause_s)
        if writer.digest() != wanted.digest:
            raise Damaged


class _Writer:
    """Append to the part file and hash along."""

    def __init__(self, part: Path, wanted: Wanted, progress: Progress) -> None:
        self.part, self.wanted, self.progress = part, wanted, progress
        self.have = 0
        self.hasher = _hasher(wanted)

    def __enter__(self) -> "_Writer":
        # Unbuffered: what has arrived is in the file even if this process is killed.
        self.file = self.part.open("a+b", buffering=0)
        self.file.seek(0)
        while self.have <= self.wanted.size and (data := self.file.read(READ_BYTES)):
            self.hasher.update(data)
            self.have += len(data)
        if self.have > self.wanted.size:
            self.restart()
        self.progress(self.have)
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def restart(self) -> None:
        self.file.truncate(0)
        self.have, self.hasher = 0, _hasher(self.wanted)

    def take(self, stream: Stream) -> None:
        size = self.wanted.size
        if stream.total is not None and stream.total != size:
            raise HubError(
                f"{self.wanted.name} was announced with {size} bytes and sent with {stream.total}",
                "the server contradicts itself: try again later, or another HF_ENDPOINT",
            )
        if stream.start != self.have:
            self.restart()  # the server ignored the range: better from the start than wrong
            if stream.start:
                raise Broken("the server sent another range than asked for")
        for chunk in stream.chunks:
            if self.have + len(chunk) > size:
                raise HubError(f"{self.wanted.name}: more than the {size} bytes announced came", "")
            self.file.write(chunk)
            self.hasher.update(chunk)
            self.have += len(chunk)
            self.progress(self.have)

    def digest(self) -> str:
        os.fsync(self.file.fileno())
        return self.hasher.hexdigest()


def _hasher(wanted: Wanted) -> Hasher:
    if len(wanted.digest) == 64:
        return hashlib.sha256()
    # Small files are kept by git itself, under the hash of a header and the content.
    return hashlib.sha1(b"blob %d\0" % wanted.size, usedforsecurity=False)


def digest_of(path: Path, kind: Wanted) -> str:
    """Hash a file on disk the way its published digest was made."""
    hasher = _hasher(kind)
    with path.open("rb") as file:
        while data := file.read(READ_BYTES):
            hasher.update(data)
    return hasher.hexdigest()
