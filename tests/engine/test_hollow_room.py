"""Samples on a disk without room: an error in one line, and no file that could end a process."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.engine import hollow
from localspec.errors import LocalspecError
from localspec.measure.tune.recipes import consider
from tests.conftest import TinyPair

Reserve = Callable[[int, int, int], None]


def _written(source: Path, folder: Path) -> tuple[int, int]:
    """Write a sample of the whole model; give the bytes it says and those it has."""
    plan, path = consider(source).given.plan, folder / "sample.gguf"
    blocks = 1 + max(tensor.block or 0 for tensor in plan)
    return hollow.write_hollow(source, path, plan, blocks), path.stat().st_size


def _refusing(number: int) -> Reserve:
    def refuse(_handle: int, _start: int, _length: int) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


def test_the_room_of_a_sample_is_reserved(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserved: list[tuple[int, int]] = []
    monkeypatch.setattr(
        os,
        "posix_fallocate",
        lambda _handle, start, length: reserved.append((start, length)),
        raising=False,
    )
    said, has = _written(tiny_pair.target, tmp_path)
    assert (reserved, has) == ([(0, said)], said)


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL, None])
def test_where_room_cannot_be_reserved_the_file_is_made_all_the_same(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    if number is None:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    else:
        monkeypatch.setattr(os, "posix_fallocate", _refusing(number), raising=False)
    said, has = _written(tiny_pair.target, tmp_path)
    assert said == has


def test_a_full_disk_is_an_error_before_anything_maps_the_file(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", _refusing(errno.ENOSPC), raising=False)
    with pytest.raises(LocalspecError, match="No space left on device"):
        _written(tiny_pair.target, tmp_path)
