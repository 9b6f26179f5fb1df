"""Files that options name: looked for before anything is loaded, used or not."""

import os
from pathlib import Path

import pytest

from localspec.cli.bench_options import BenchOptions
from localspec.cli.bench_request import check_exports
from localspec.cli.files import write_whole
from localspec.errors import NotHere

COMMANDS = {
    "chat": ("-p", "x"),
    "bench": ("--suite", "qa"),
    "check": (),
    "check --quick": (),
    "tune": ("--max-time", "1s"),
    "trace": ("-p", "x"),
}
OPTIONS = ("--head", "--expect", "--ngram-from", "--draft", "--target")


@pytest.fixture(autouse=True)
def nothing_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded, or a download offered")

    monkeypatch.setattr("localspec.engine.model.Model.load", loaded)
    monkeypatch.setattr("localspec.cli.pairs_here.offer", loaded)
    monkeypatch.setattr("localspec.cli.firstrun.first_pair", loaded)


def _refused(ran, said: str) -> None:
    assert (ran.code, ran.out) == (5, "")
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert said in errors[0]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_not_there_is_said_by_every_command(
    command: str, option: str, tiny_pair, tmp_path: Path, run
) -> None:
    pair = () if option == "--target" else ("--target", tiny_pair.target)
    words = (*command.split(), *pair, *COMMANDS[command], option, tmp_path / "nosuch.gguf")
    if command == "tune" and option == "--head":  # refused whatever it names
        assert run(*words).code == 2
        return
    _refused(run(*words), f"{option}: no file {tmp_path / 'nosuch.gguf'}")


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("command", ["chat", "check", "tune", "trace"])
def test_a_file_that_would_not_be_used_is_looked_for_too(
    command: str, option: str, tiny_pair, tmp_path: Path, run
) -> None:
    pair = () if option == "--target" else ("--target", tiny_pair.target)
    words = (command, *pair, *COMMANDS[command], "--plain", option, tmp_path / "nosuch.gguf")
    _refused(run(*words), f"{option}: no file")


@pytest.mark.parametrize("option", ["--head", "--expect", "--ngram-from"])
def test_a_folder_is_called_one(option: str, tiny_pair, tmp_path: Path, run) -> None:
    ran = run("chat", "--target", tiny_pair.target, "-p", "x", option, tmp_path)
    _refused(ran, f"{option}: {tmp_path} is a folder")


@pytest.mark.parametrize("words", [(), ("smollm2-1.7b",)])
def test_no_download_is_offered_for_a_run_that_cannot_be(words, tmp_path: Path, run) -> None:
    ran = run("chat", *words, "-p", "x", "--head", tmp_path / "nosuch.gguf")
    _refused(ran, "--head: no file")


def test_a_place_for_events_is_looked_for_before_the_model(tiny_pair, tmp_path: Path, run) -> None:
    words = ("chat", "--target", tiny_pair.target, "-p", "x", "--events")
    _refused(run(*words, tmp_path / "no" / "events.jsonl"), "--events: there is no folder")
    folder = run(*words, tmp_path)
    assert folder.code == 2
    assert "--events" in folder.err


def test_exports_into_a_folder_that_is_not_there_are_not_here(tmp_path: Path) -> None:
    with pytest.raises(NotHere, match="there is no folder"):
        check_exports(BenchOptions(csv=tmp_path / "no" / "x.csv"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "all of it")
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
