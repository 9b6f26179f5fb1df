"""Large pages for weights: a pass streams through all of them, and small pages cost look-ups.

Linux gives memory in pages of 4 KiB, and many systems give those of 2 MiB only to who asks. Asked
before weights are written, the system gives large ones from the start. Knows mappings of this
process. Does not know whose they are.

Source: Linux, Documentation/admin-guide/mm/transhuge.rst; madvise(2).
"""

import ctypes
import functools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

LEAST_BYTES = 4 << 20
MAPS = Path("/proc/self/maps")
_HUGEPAGE = 14
_MAPPING = re.compile(r"(?P<begin>[0-9a-f]+)-(?P<end>[0-9a-f]+) rw-p [0-9a-f]+ 00:00 0\s*$")

Advise = Callable[[int, int, int], object]


class Mapping(NamedTuple):
    """Addresses in bytes; `end` is the first one behind it."""

    begin: int
    end: int


def anonymous(maps: str, *, least: int = LEAST_BYTES) -> Iterator[Mapping]:
    """Give the private, writable mappings of no file, of `least` bytes or more, from a maps file.

    The heap and the stacks have names there and are left alone.
    """
    for line in maps.splitlines():
        if found := _MAPPING.match(line):
            mapping = Mapping(int(found["begin"], 16), int(found["end"], 16))
            if mapping.end - mapping.begin >= least:
                yield mapping


def ask_for_large_pages(advise: Advise | None = None) -> int:
    """Ask the system for large pages in all large mappings; give the bytes asked for.

    Pages that are there already stay as they are. Where the system has none, nothing happens.
    """
    advise = advise or _madvise()
    if advise is None:
        return 0
    try:
        maps = MAPS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    asked = 0
    for begin, end in anonymous(maps):
        advise(begin, end - begin, _HUGEPAGE)
        asked += end - begin
    return asked


@functools.cache
def _madvise() -> Advise | None:
    """Give the system's call; None where there is none."""
    if sys.platform != "linux":
        return None
    call: Any = ctypes.CDLL(None).madvise
    call.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    call.restype = ctypes.c_int
    advise: Advise = call
    return advise
