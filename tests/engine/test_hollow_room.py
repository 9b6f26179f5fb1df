"""Samples on a disk without room: an error in one line, and no file that could end a process."""

import errno
import os
from pathlib import Path

import pytest

from localspec.engine import hollow
from localspec.errors import LocalspecError
from localspec.measure.tune.recipes import consider
from tests.conftest import TinyPair


def test_the_room_of_a_sample_is_reserved(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserved: list[tuple[int, int]] = []
    real = getattr(os, "posix_fallocate", None)

    def noted(handle: int, start: int, length: int) -> None:
        reserved.append((start, length))
        (real or (lambda fd, _start, whole: os.ftruncate(fd, whole)))(handle, start, length)

    monkeypatch.setattr(os, "posix_fallocate", noted, raising=False)
    plan = consider(tiny_pair.target).given.plan
    blocks = 1 + max(tensor.block or 0 for tensor in plan)
    whole = hollow.write_hollow(tiny_pair.target, tmp_path / "sample.gguf", plan, blocks)
    assert reserved == [(0, whole)]
    assert (tmp_path / "sample.gguf").stat().st_size == whole


def test_a_system_that_cannot_reserve_gets_the_file_all_the_same(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    plan = consider(tiny_pair.target).given.plan
    blocks = 1 + max(tensor.block or 0 for tensor in plan)
    whole = hollow.write_hollow(tiny_pair.target, tmp_path / "sample.gguf", plan, blocks)
    assert (tmp_path / "sample.gguf").stat().st_size == whole


def test_a_full_disk_is_an_error_before_anything_maps_the_file(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int, _start: int, _length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    plan = consider(tiny_pair.target).given.plan
    with pytest.raises(LocalspecError, match="No space left on device"):
        hollow.write_hollow(tiny_pair.target, tmp_path / "sample.gguf", plan, 1)
