"""A position in a memory-mapped file that cannot leave it.

Every length is checked against the file and against what a real model can need, so a damaged file
is refused in words. Does not know what the values mean.
"""

import mmap
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from localspec.errors import NotHere, PairRefused

# Far above any real file, and low enough that a damaged count can neither hang nor fill memory.
MAX_ENTRIES = 65_536
MAX_ELEMENTS = 16_000_000
MAX_TEXT_BYTES = 4_000_000

AGAIN = "download the file again, or convert it again"

U32, U64 = struct.Struct("<I"), struct.Struct("<Q")


@dataclass(slots=True)
class Cursor:
    """A position in a mapped file that refuses to leave it."""

    data: mmap.mmap
    path: Path
    at: int = 0

    def refuse(self, what: str) -> NoReturn:
        """Say what is wrong, and where."""
        raise PairRefused(f"{self.path.name} is damaged: {what} (at byte {self.at})", AGAIN)

    def claim(self, length: int, what: str) -> int:
        """Step over `length` bytes; give where they begin."""
        if length > len(self.data) - self.at:
            self.refuse(f"{what} of {length} bytes goes beyond the end of the file")
        start, self.at = self.at, self.at + length
        return start

    def u32(self, what: str) -> int:
        """Read a 32-bit number."""
        return int(U32.unpack_from(self.data, self.claim(4, what))[0])

    def u64(self, what: str) -> int:
        """Read a 64-bit number."""
        return int(U64.unpack_from(self.data, self.claim(8, what))[0])

    def count(self, limit: int, what: str) -> int:
        """Read a count that a damaged file cannot make absurd."""
        value = self.u64(what)
        if value > limit:
            self.refuse(f"{what} is {value}, at most {limit} can be right")
        return value

    def text(self, what: str) -> str:
        """Read a text; bytes that are no UTF-8 become U+FFFD."""
        start = self.claim(self.count(MAX_TEXT_BYTES, what), what)
        return self.data[start : self.at].decode("utf-8", errors="replace")

    def skip_texts(self, count: int) -> None:
        """Step over `count` texts without keeping them."""
        data, at, end, unpack = self.data, self.at, len(self.data), U64.unpack_from
        for _ in range(count):
            if end - at < 8:
                self.refuse("a list of texts goes beyond the end of the file")
            (length,) = unpack(data, at)
            at += 8 + length
            if at > end:
                self.refuse("a text goes beyond the end of the file")
        self.at = at


@contextmanager
def mapped(path: Path) -> Iterator[Cursor]:
    """Map a file for reading.

    Raises: NotHere, or PairRefused for what is no readable file.
    """
    try:
        kind = path.stat().st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):  # a pipe would be waited for
            raise PairRefused(f"{path} is a pipe or a device, not a file", "name a .gguf file")
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            yield Cursor(data, path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotHere(f"no file {path}", "check the path, or `localspec models list`") from error
    except IsADirectoryError as error:
        raise PairRefused(f"{path} is a folder", "name a .gguf file in it") from error
    except PermissionError as error:
        raise PairRefused(f"{path} may not be read", "check its permissions") from error
    except ValueError as error:  # mmap's word for an empty file
        raise PairRefused(f"{path.name} is empty", AGAIN) from error
