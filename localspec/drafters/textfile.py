"""A user's text file as token ids, in pieces, with a bound on memory.

Knows bytes, UTF-8 and a tokenizer it is handed. Does not know models, or what the ids are for.
"""

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localspec.core.tokens import Tokens
from localspec.errors import NotHere, OptionError

Tokenize = Callable[[str], Tokens]

TEXT_LIMIT_BYTES = 8 << 20
"""About 2 million tokens: more than a lookup or an n-gram table gains from."""

_CHUNK_BYTES = 1 << 18


@dataclass(frozen=True)
class TextFile:
    """What was read. Units: `read_bytes` of the file's `size_bytes`, the rest is left out."""

    path: Path
    tokens: Tokens
    read_bytes: int
    size_bytes: int

    @property
    def notice(self) -> str | None:
        """Say that not all was read, if so."""
        if self.read_bytes >= self.size_bytes:
            return None
        read, size = (f"{count / (1 << 20):.0f}" for count in (self.read_bytes, self.size_bytes))
        return f"{self.path}: only the first {read} of {size} MiB are used"


def read_text_file(
    path: Path, tokenize: Tokenize, *, limit_bytes: int = TEXT_LIMIT_BYTES
) -> TextFile:
    """Read the first `limit_bytes` of a text file as ids, a piece at a time.

    Raises: NotHere when there is no such file; OptionError when it is a folder, cannot be read, is
    empty, or is not UTF-8 text.
    """
    if not path.exists():
        raise NotHere(f"there is no file {path}", "check the spelling and the folder")
    if path.is_dir():
        raise OptionError(f"{path} is a folder, not a text file", "name one file")
    try:
        parts = [tokenize(piece) for piece in _pieces(path, limit_bytes)]
        size = path.stat().st_size
    except UnicodeDecodeError as wrong:
        raise _not_text(path, "is not UTF-8 text") from wrong
    except OSError as failure:
        raise OptionError(f"cannot read {path}: {failure.strerror}") from failure
    if not parts:
        raise OptionError(f"{path} is empty", "name a file with some text in it")
    return TextFile(path, np.concatenate(parts).astype(np.int32), min(size, limit_bytes), size)


def _not_text(path: Path, what: str) -> OptionError:
    return OptionError(f"{path} {what}", "give a plain text file, saved as UTF-8")


def _pieces(path: Path, limit_bytes: int) -> Iterator[str]:
    """Give pieces of text that end at a line where they can, so that words stay whole."""
    left = ""
    for text in _decoded(path, limit_bytes):
        whole, newline, rest = (left + text).rpartition("\n")
        if newline or len(rest) > _CHUNK_BYTES:
            piece, left = (whole + newline, rest) if newline else (rest, "")
            yield piece
        else:
            left = rest
    if left:
        yield left


def _decoded(path: Path, limit_bytes: int) -> Iterator[str]:
    """Decode chunk by chunk; a character that the limit cuts in two is dropped."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    read = 0
    with path.open("rb") as file:
        while chunk := file.read(min(_CHUNK_BYTES, limit_bytes - read)):
            if b"\0" in chunk:
                raise _not_text(path, "is a binary file")
            read += len(chunk)
            yield decoder.decode(chunk)
        if read < limit_bytes:
            yield decoder.decode(b"", final=True)
