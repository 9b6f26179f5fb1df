"""A cache that cannot be a folder: an error where files must be made, else said once."""

import os
from pathlib import Path

import pytest

from localspec.runtime.demo_pair import NAME
from localspec.runtime.folders import unwritable

KEPT_NOT = "nothing measured is kept; LOCALSPEC_CACHE=FOLDER chooses another folder"
QUICK = ("-p", "one two", "-n", "4", "--temp", "0", "--threads", "1")


@pytest.fixture(params=["a file", "in a file", "too long"])
def broken(request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    places = {
        "a file": tmp_path / "file",
        "in a file": tmp_path / "file" / "x",
        "too long": tmp_path / ("a" * 300),
    }
    monkeypatch.setenv("LOCALSPEC_CACHE", str(places[request.param]))


def _one_line(ran) -> None:
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("error: cannot write in") == 1
    assert "hint: LOCALSPEC_CACHE=FOLDER" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("words", [("chat", *QUICK), ("check", "--quick"), ("trace", *QUICK)])
def test_files_that_cannot_be_made_end_a_run_with_2_and_one_line(broken, words, run) -> None:
    _one_line(run(words[0], NAME, *words[1:]))


def test_a_layerskip_draft_that_cannot_be_made_does_too(broken, tiny_pair, run) -> None:
    _one_line(run("chat", "--target", tiny_pair.target, "--drafter", "layerskip", *QUICK))


def test_measurements_that_cannot_be_kept_are_said_once(broken, tiny_pair, run) -> None:
    ran = run("chat", "--target", tiny_pair.target, "--draft", tiny_pair.draft, *QUICK)
    assert ran.code == 0
    assert ran.err.count(KEPT_NOT) == 1
    assert ran.err.count("folder") + ran.err.count("too long") <= 3


def test_plain_decoding_keeps_nothing_and_says_nothing(broken, tiny_pair, run) -> None:
    ran = run("chat", "--target", tiny_pair.target, "--plain", *QUICK)
    assert ran.code == 0
    assert KEPT_NOT not in ran.err


def test_a_table_that_cannot_be_kept_is_used_and_said_without_numbers_of_the_system(
    broken, tiny_pair, tmp_path: Path, run
) -> None:
    own = tmp_path / "own.txt"
    own.write_text("one two three one two three\n" * 4, encoding="utf-8")
    words = ("--drafter", "ngram", "--ngram-from", own, *QUICK)
    ran = run("chat", "--target", tiny_pair.target, *words)
    assert ran.code == 0
    assert "but not kept" in ran.err
    assert "Errno" not in ran.err


@pytest.mark.parametrize("words", [("list",), ("verify", NAME)])
def test_models_need_no_cache(broken, words, run) -> None:
    assert run("models", *words).code == 0


def test_a_folder_that_is_not_there_yet_can_be_written(tmp_path: Path) -> None:
    assert unwritable(tmp_path / "a" / "b") == ""


def test_a_folder_that_forbids_writing_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert unwritable(tmp_path / "a") == f"{tmp_path} cannot be written"
