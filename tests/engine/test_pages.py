"""Large pages are asked for where weights will lie, and nowhere else."""

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

from localspec.engine import Model, pages
from localspec.engine.pages import Mapping, anonymous, ask_for_large_pages

MAPS = """\
55d0c0000000-55d0d0000000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0001000000 rw-p 00000000 00:00 0 
7f0001000000-7f0001001000 rw-p 00000000 00:00 0 
7f0002000000-7f0004000000 r--s 00000000 fd:00 17                         /models/a.gguf
7f0004000000-7f0005000000 r-xp 00000000 fd:00 18                         /lib/libllama.so
7f0006000000-7f0007000000 rw-p 00001000 fd:00 18                         /lib/libllama.so
7f0008000000-7f0009000000 ---p 00000000 00:00 0 
7f000a000000-7f000b000000 rw-s 00000000 00:01 99                         /dev/zero (deleted)
7ffc00000000-7ffc01000000 rw-p 00000000 00:00 0                          [stack]
nonsense
"""
MARKED = "hg"
POSSIBLE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def test_only_large_private_memory_of_no_file_is_taken() -> None:
    assert list(anonymous(MAPS)) == [Mapping(0x7F0000000000, 0x7F0001000000)]
    small = list(anonymous(MAPS, least=4096))
    assert Mapping(0x7F0001000000, 0x7F0001001000) in small
    assert len(small) == 2


def test_without_a_table_of_mappings_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAPS", Path("/proc/self/no such file"))
    assert ask_for_large_pages(lambda *_: pytest.fail("asked")) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux asks page by page")
def test_memory_is_marked_for_large_pages() -> None:
    if not POSSIBLE.exists():
        pytest.skip("this kernel has no large pages at all")
    with mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        array = np.frombuffer(memory, np.uint8)
        before = _flags(array.ctypes.data)
        asked = ask_for_large_pages()
        after = _flags(array.ctypes.data)
        size = array.size
        del array
    assert asked >= size
    assert MARKED not in before
    assert MARKED in after


def _flags(address: int) -> list[str]:
    """Give the kernel's flags of the mapping that holds an address."""
    inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        head, *words = line.split()
        if "-" in head:
            begin, end = (int(word, 16) for word in head.split("-"))
            inside = begin <= address < end
        elif inside and head == "VmFlags:":
            return words
    raise LookupError("no mapping holds this address")


def test_a_load_asks_once_before_weights_are_written(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    shares: list[float] = []

    def ask() -> int:
        asked.append(len(shares))
        return 0

    def progress(share: float) -> bool:
        shares.append(share)
        return True

    monkeypatch.setattr("localspec.engine.weights.ask_for_large_pages", ask)
    with Model.load(tiny, progress=progress):
        pass
    assert asked == [0]
    assert shares
    assert shares[0] == 0.0
