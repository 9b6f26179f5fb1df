"""A conversation in a pseudo-terminal, through the real command; and what never happens."""

import os
import socket
import stat
import sys
from pathlib import Path

import pytest

import localspec
from tests.cli.hubs import hub_pair, in_cache, own_pairs
from tests.models_heads import write_eagle3, write_target
from tests.ui.terminal import run as in_terminal

ROOT = Path(localspec.__file__).parents[1]
QUICK = ("-n", "8", "--temp", "0", "-c", "512", "--seed", "1")


@pytest.fixture
def talk(tiny_pair, monkeypatch):
    monkeypatch.chdir(ROOT)

    def start(*words: str, **env: str):
        pair = ["--target", str(tiny_pair.target), "--draft", str(tiny_pair.draft)]
        command = [sys.executable, "-m", "localspec", "chat", *pair, *QUICK, *words]
        return in_terminal(command, 24, 90, env)

    return start


def test_a_conversation_is_held_and_left(talk, tmp_path: Path) -> None:
    """G08, J05: both contexts are tried before the prompt comes; a draft can be unset."""
    chat = talk("--events", str(tmp_path / "events.jsonl"))
    chat.ready()
    assert "amber" in chat.text()
    chat.ask("hello")
    assert "8 tokens" in chat.text()
    chat.ask("/drafter none")
    assert "drafter none" in chat.text()
    chat.ask("/stats")
    assert "target passes" in chat.text()
    chat.ask("/nonsense")
    assert "no command /nonsense" in chat.text()
    chat.send("\x04")
    assert chat.finish() == 0
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) > 1
    history = tmp_path / "state" / "history"
    assert "hello" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


REFUSED = {
    "eagle3": "'eagle3' needs a file of its head",
    "medusa": "'medusa' needs a file of heads",
    "mtp": "carries no prediction layer",
    "lookup+model": "a chain is written with commas: lookup,model",
    "MODEL": "did you mean 'model'?",
    "eagle": "did you mean 'eagle3'?",
    "layerskip": "start again with --drafter layerskip",
    "ngram": "start with --ngram-from FILE",
    "auto,lookup": "stand alone",
}


def test_a_drafter_that_is_not_to_be_had_is_refused_and_the_talk_goes_on(talk) -> None:
    chat = talk()
    chat.ask("/drafter model,lookup")
    for drafter, said in REFUSED.items():
        chat.ask(f"/drafter {drafter}")
        assert said in chat.text()
    assert chat.text().count("error:") == len(REFUSED)
    chat.ask("/drafter")
    assert chat.text().count(" drafter model,lookup") == 2
    chat.ask("hello")
    assert "8 tokens" in chat.text()
    chat.send("\x04")
    assert chat.finish() == 0


def test_a_head_is_switched_to_and_another_one_is_not_had(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    target, head = write_target(tmp_path / "t.gguf"), write_eagle3(tmp_path / "h.gguf")
    files = ("--target", str(target), "--head", str(head), "-g", "2")
    chat = in_terminal([sys.executable, "-m", "localspec", "chat", *files, *QUICK], 24, 90)
    chat.ask("/drafter eagle3")
    chat.ask("hello")
    chat.ask("/drafter medusa")
    assert "holds no Medusa heads: it is an eagle3 file" in chat.text()
    chat.ask("/drafter")
    assert chat.text().count("\n drafter eagle3\n") == 2
    chat.ask("/drafter lookup")
    chat.ask("hello")
    assert chat.text().count("8 tokens") == 2
    chat.send("\x04")
    assert chat.finish() == 0


def test_no_history_leaves_no_file(talk, tmp_path: Path) -> None:
    chat = talk("--no-history")
    chat.ask("hello")
    chat.send("/quit\r")
    assert chat.finish() == 0
    assert not (tmp_path / "state" / "history").exists()


def test_stats_are_shown_after_each_answer(talk) -> None:
    chat = talk("--stats", "--view", "plain")
    chat.ask("hello")
    assert "target passes" in chat.text()
    chat.send("\x04")
    assert chat.finish() == 0


def test_the_terminal_is_asked_before_a_download_and_no_is_no(
    monkeypatch, tmp_path: Path, tiny_pair
) -> None:
    monkeypatch.chdir(ROOT)
    files = {"target": tiny_pair.target, "draft": tiny_pair.draft}
    own_pairs(tmp_path / "config", hub_pair("mine", files))
    chat = in_terminal([sys.executable, "-m", "localspec", "chat", "mine"], 24, 100)
    chat.wait_for("[Y/n]")
    assert "licence mit and apache-2.0" in chat.text()
    chat.send("n\r")
    assert chat.finish() == 5
    assert "localspec models pull mine" in chat.text()


def test_from_the_cache_no_socket_is_opened(
    run, tiny_pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"target": tiny_pair.target, "draft": tiny_pair.draft}
    own_pairs(tmp_path / "config", hub_pair("mine", files))
    in_cache(tmp_path / "hub", "mine", files)

    def refuse(*_a: object, **_k: object) -> None:
        raise AssertionError("a socket")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    ran = run("chat", "mine", *QUICK, "-p", "x", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["pair"] == "mine"
    assert run("models", "list", "--downloaded").code == 0
    assert run("models", "show", "mine").code == 0
    short = ("-n", "16", "--runs", "1", "--warmup", "0", "--ctx", "1024", "--suite", "qa")
    assert run("bench", "mine", *short, "--gammas", "2").code == 0


def test_the_engines_log_is_silent_unless_asked_for(process, tiny_pair) -> None:
    """L01: nothing of it on stderr; -vv shows it, -v the memory needed."""
    words = ("chat", tiny_pair.target, "--plain", *QUICK, "-p", "x")
    quiet = process(*words, "--quiet")
    assert (quiet.returncode, quiet.stderr) == (0, b"")
    some = process(*words, "-v").stderr
    assert b"memory needed" in some
    assert b"llama_" not in some
    assert b"llama_" in process(*words, "-vv").stderr


def test_a_closed_output_is_no_crash(tiny_pair, process) -> None:
    """L02: the engine loads and answers where stdout has no descriptor."""
    import subprocess

    words = ["chat", tiny_pair.target, "--plain", *QUICK, "-p", "x", "-q"]
    line = " ".join([sys.executable, "-m", "localspec", *map(str, words), ">&-"])
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_file_for_a_newer_engine_is_one_friendly_line(run, tmp_path: Path) -> None:
    """A19."""
    from tests.models import write_llama

    path = write_llama(tmp_path / "future.gguf", pre="future-tok")
    ran = run("chat", path, "--plain", *QUICK, "-p", "x")
    assert ran.code == 4
    assert "future-tok" in ran.err
    assert "llama-cpp-python" in ran.err
    assert len(ran.err.splitlines()) <= 2


def test_the_demo_pair_answers(run, monkeypatch) -> None:
    """J02: one command, a real model."""
    ran = run("chat", "demo", "-p", "What is the capital of France?", "-n", "12", "--json")
    assert ran.code == 0
    assert ran.document["options"]["top_p"] == 0.9
    assert os.path.isfile(ran.document["options"]["target"])
