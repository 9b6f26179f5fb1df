"""Layouts in the cache: made once, recorded, and never half there, whatever happens meanwhile."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import localspec
from localspec.engine.quantise import Recipe
from localspec.errors import LocalspecError, PairRefused
from localspec.runtime import layout_records
from localspec.runtime.layouts import (
    ensure_layout,
    kept_layouts,
    layout_path,
    recipe_words,
    remove_layout,
)

ROOT = Path(localspec.__file__).parents[1]
Q4 = Recipe("q4_0", pure=True)
CHILD = """
import os, signal, sys
from pathlib import Path
from localspec.engine import quantise as room
from localspec.engine.quantise import Recipe
from localspec.runtime import layouts

source = Path(sys.argv[1])
{before}
path = layouts.ensure_layout(source, Recipe("q4_0", pure=True), print)
print(path)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "cache"))


def _child(source: Path, before: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD.format(before=before), str(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_a_layout_is_made_once_and_its_record_says_of_what(tiny: Path) -> None:
    said: list[str] = []
    path = ensure_layout(tiny, Q4, said.append)
    assert ensure_layout(tiny, Q4, said.append) == path
    assert len(said) == 1
    kept = kept_layouts()
    assert [each.path for each in kept] == [path]
    assert kept[0].recipe == Q4
    assert kept[0].origin == layout_records.Origin.of(tiny)
    assert kept[0].bytes == path.stat().st_size
    assert kept[0].sha256 is not None


def test_a_layout_that_was_cut_is_made_anew(tiny: Path) -> None:
    path = ensure_layout(tiny, Q4, print)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert ensure_layout(tiny, Q4, print).read_bytes() == whole


@pytest.mark.parametrize("record", ["", "[]", "{", '{"recipe": null}', '{"recipe": {"x": 1}}'])
def test_a_layout_with_a_broken_record_is_listed_and_used(record: str, tiny: Path) -> None:
    path = ensure_layout(tiny, Q4, print)
    layout_records.beside(path).write_text(record, encoding="utf-8")
    assert kept_layouts()[0].recipe is None
    assert ensure_layout(tiny, Q4, pytest.fail) == path


@pytest.mark.parametrize(
    "before",
    [
        "def half(source, temporary, params):\n"
        "    temporary.write_bytes(source.read_bytes()[:9000])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "room._write = half",
        "room._sync = lambda path: os.kill(os.getpid(), signal.SIGKILL)",
        "layouts.records.write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)",
    ],
    ids=["half written", "written, not named", "named, not recorded"],
)
def test_a_kill_at_any_moment_leaves_nothing_half_made(before: str, tiny: Path) -> None:
    child = _child(tiny, before)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    path = layout_path(tiny, Q4)
    if path.exists():
        assert path.stat().st_size > 50_000
    made = ensure_layout(tiny, Q4, print)
    assert _names(made.parent) <= {made.name, layout_records.beside(made).name}


@pytest.mark.parametrize("allowed", [0, 1, 100, 8_000, 30_000, 60_000])
def test_a_disk_that_fills_at_any_byte_leaves_nothing(allowed: int, tiny: Path) -> None:
    """A file may grow to so many bytes, then writing fails as on a full disk."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({allowed}, {allowed}))"
    child = _child(tiny, limit)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 1
    assert "PairRefused" in said or "cannot write" in said, said
    path = layout_path(tiny, Q4)
    assert not path.exists()
    assert _names(path.parent) == set()


def test_two_programs_that_want_a_layout_make_it_once(tiny: Path) -> None:
    slow = (
        "import time; write = room._write\n"
        "room._write = lambda *given: (time.sleep(0.5), write(*given))[1]"
    )
    both = [_child(tiny, slow) for _ in range(2)]
    said = [child.communicate(timeout=60)[0] for child in both]
    assert [child.returncode for child in both] == [0, 0]
    assert sum("making" in each for each in said) == 1
    assert {each.splitlines()[-1] for each in said} == {str(layout_path(tiny, Q4))}


def test_a_cache_that_cannot_be_written_is_said_with_the_way_out(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "file"))
    with pytest.raises(LocalspecError, match="cannot write in") as caught:
        ensure_layout(tiny, Q4, print)
    assert "LOCALSPEC_CACHE" in caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind the superuser")
def test_a_read_only_cache_still_gives_what_is_in_it(tiny: Path) -> None:
    path = ensure_layout(tiny, Q4, print)
    path.parent.chmod(0o500)
    try:
        assert ensure_layout(tiny, Q4, pytest.fail) == path
        with pytest.raises(LocalspecError, match="cannot write"):
            ensure_layout(tiny, Recipe("q8_0"), print)
    finally:
        path.parent.chmod(0o700)


def test_removing_a_layout_takes_its_record_and_leftovers_along(tiny: Path) -> None:
    path = ensure_layout(tiny, Q4, print)
    (path.parent / f".{path.name}.abc.part").write_bytes(b"half")
    size = path.stat().st_size
    assert remove_layout(path) > size
    assert _names(path.parent) == set()


def test_a_file_that_cannot_be_requantised_says_why(tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(PairRefused, match=r"bad\.gguf"):
        ensure_layout(bad, Q4, print)


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (Q4, "Q4_0"),
        (Recipe("q4_k_s", pure=True), "Q4_K"),
        (Recipe("q4_k_m"), "Q4_K_M mix"),
        (Recipe("q4_0", pure=True, output_type="q6_k"), "Q4_0, head Q6_K"),
        (Recipe("q4_0", pure=True, output_type="q4_0", embedding_type="q8_0"), "Q4_0"),
        (Recipe("q4_0", pure=True, embedding_type="q6_k"), "Q4_0, embedding Q6_K"),
        (Recipe("q4_0", pure=True, prune_layers=(1, 2)), "Q4_0 without 2 blocks"),
        (Recipe("q4_0", pure=True, prune_layers=(1,)), "Q4_0 without 1 block"),
    ],
)
def test_a_recipe_has_a_name(recipe: Recipe, words: str) -> None:
    assert recipe_words(recipe) == words


def test_a_record_is_plain_json(tiny: Path) -> None:
    path = ensure_layout(tiny, Q4, print)
    record = json.loads(layout_records.beside(path).read_text(encoding="utf-8"))
    assert record["recipe"]["type"] == "q4_0"
    assert record["origin"]["path"] == str(tiny)


def test_what_is_no_file_among_the_layouts_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path))
    kept = tmp_path / "layouts"
    (kept / "folder.gguf").mkdir(parents=True)
    (kept / "dangling.gguf").symlink_to(tmp_path / "gone")
    (kept / "whole.gguf").write_bytes(b"GGUF")
    assert [each.path.name for each in kept_layouts()] == ["whole.gguf"]
