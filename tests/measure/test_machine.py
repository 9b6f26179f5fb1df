"""What machine this is, read from files a test can write."""

from pathlib import Path

import pytest

from localspec.measure.machine import (
    available_bytes,
    disk_free_bytes,
    memory_limit,
    read_processor,
    this_machine,
)

CPUINFO = """processor\t: 0
model name\t: Some Processor 9000
flags\t\t: fpu sse avx2 fma avx512f never_heard_of
processor\t: 1
model name\t: Some Processor 9000
flags\t\t: fpu
"""


def test_this_machine_makes_sense() -> None:
    machine = this_machine()
    assert machine.processor
    assert 1 <= machine.threads <= machine.allowed <= machine.logical
    assert 1 <= machine.cores <= machine.logical
    assert 0 < machine.available_bytes <= machine.memory_bytes
    assert machine.load is None or machine.load >= 0


def test_a_processor_has_its_name_and_the_flags_that_count(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(CPUINFO)
    found = read_processor(path)
    assert (found.name, found.flags) == ("Some Processor 9000", ("avx2", "avx512f", "fma"))


def test_without_the_kernels_file_there_is_still_a_name(tmp_path: Path) -> None:
    found = read_processor(tmp_path / "nothing")
    assert found.name
    assert found.flags == ()


def _group(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / name.replace("memory_", "memory.", 1)).write_text(f"{value}\n")
    return folder


def _own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cgroup"
    path.write_text(text)
    return path


def test_a_containers_limit_counts_and_its_page_cache_is_free(tmp_path: Path) -> None:
    root = tmp_path / "sys"
    stat = "anon 5\ninactive_file 300"
    _group(root / "a/b", memory_max=1000, memory_current=900, memory_stat=stat)
    limit = memory_limit(root, _own(tmp_path, "0::/a/b\n"))
    assert limit is not None
    assert (limit.total_bytes, limit.free_bytes) == (1000, 400)


def test_the_tightest_group_above_the_process_counts(tmp_path: Path) -> None:
    root = tmp_path / "sys"
    _group(root / "a", memory_max=500, memory_current=450)
    _group(root / "a/b", memory_max="max", memory_current=10)
    limit = memory_limit(root, _own(tmp_path, "0::/a/b\n"))
    assert limit is not None
    assert limit.free_bytes == 50


@pytest.mark.parametrize(("most", "found"), [(800, True), (2**63 - 4096, False)])
def test_the_older_interface_is_read_too(most: int, found: bool, tmp_path: Path) -> None:
    root = tmp_path / "sys"
    _group(root / "memory/x", memory_limit_in_bytes=most, memory_usage_in_bytes=100)
    limit = memory_limit(root, _own(tmp_path, "5:memory:/x\n3:cpu,cpuacct:/x\n"))
    assert (limit is not None) == found
    assert limit is None or limit.free_bytes == 700


def test_no_limit_is_none(tmp_path: Path) -> None:
    assert memory_limit(tmp_path, tmp_path / "nothing") is None


def test_free_memory_is_never_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from localspec.measure import machine

    monkeypatch.setattr(machine, "memory_limit", lambda: machine.Limit(1000, 77))
    assert available_bytes() == 77
    assert this_machine().memory_bytes == 1000


def test_the_disk_is_asked_where_a_folder_is_going_to_be(tmp_path: Path) -> None:
    assert disk_free_bytes(tmp_path / "not" / "yet") == disk_free_bytes(tmp_path)
