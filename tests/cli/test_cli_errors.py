"""Exit codes, error lines and error documents."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localspec import errors
from localspec.cli import app, failures, streams
from localspec.cli.main import main

CODES = {
    errors.LocalspecError: 1,
    errors.OptionError: 2,
    errors.PairRefused: 4,
    errors.NotHere: 5,
    errors.HubError: 6,
    errors.NotIdentical: 7,
}


def _failing(monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    def fail(*_words: object, **_more: object) -> int:
        raise failure

    monkeypatch.setattr(app, "command", lambda: fail)


@pytest.mark.parametrize(("kind", "code"), CODES.items(), ids=str)
def test_each_error_has_its_exit_code_and_two_lines(kind, code, run, monkeypatch) -> None:
    _failing(monkeypatch, kind("it broke", "mend it"))
    ran = run("anything")
    assert (ran.code, ran.out, ran.err) == (code, "", "error: it broke\nhint: mend it\n")


@pytest.mark.parametrize("kind", CODES)
def test_with_json_an_error_is_a_document_on_stdout(kind, run, monkeypatch) -> None:
    _failing(monkeypatch, kind("it broke", "mend it"))
    ran = run("anything", "--json")
    assert ran.document == {
        "schema": "localspec/error/1",
        "error": "it broke",
        "hint": "mend it",
        "exit_code": CODES[kind],
    }
    assert "error: it broke" in ran.err


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (KeyboardInterrupt(), 130),
        (streams.Terminated(), 143),
        (BrokenPipeError(), 141),
        (SystemExit(9), 9),
    ],
)
def test_leaving_early_is_silent(failure, code, run, monkeypatch) -> None:
    _failing(monkeypatch, failure)
    monkeypatch.setattr(streams, "reader_gone", lambda: streams.READER_GONE)
    ran = run("anything")
    assert (ran.code, ran.out, ran.err) == (code, "", "")


def test_a_bug_says_where_its_traceback_is_kept(run, monkeypatch, tmp_path: Path) -> None:
    _failing(monkeypatch, ValueError("seven"))
    ran = run("anything")
    assert ran.code == 1
    assert ran.err.startswith("error: a bug of localspec: ValueError: seven\nhint: ")
    (kept,) = (tmp_path / "state" / "log").iterdir()
    assert str(kept) in ran.err
    assert "ValueError: seven" in kept.read_text()


def test_debug_raises_again(monkeypatch) -> None:
    _failing(monkeypatch, errors.OptionError("no"))
    monkeypatch.setenv(failures.DEBUG, "1")
    with pytest.raises(errors.OptionError):
        main(["anything"])


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["chat", "--tmp", "3"], "No such option: --tmp", "did you mean --temp?"),
        (["chat", "--gama", "3"], "No such option: --gama", "did you mean --gamma?"),
        (["chta"], "No such command 'chta'. Did you mean 'chat'?", "lists the commands"),
        (["chat", "--temp"], "Option '--temp' requires an argument", "--help lists"),
        (["chat", "--temp", "hot"], "--temp must be a number", "chat --help lists the options"),
        (["chat", "-n", "few"], "--max-tokens must be a whole number", "lists the options"),
        (["chat", "one", "two"], "unexpected extra argument", "chat --help lists the options"),
        (["models", "pull"], "PAIR", "models pull --help lists the options"),
        (["models", "add"], "NAME", "models add --help lists the options"),
    ],
)
def test_a_wrong_word_is_one_line_with_the_nearest_name(words, error, hint, run) -> None:
    ran = run(*words)
    assert ran.code == 2
    assert ran.out == ""
    first, second = ran.err.splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("hint: ")
    assert hint in second


def test_a_wrong_value_from_the_environment_names_the_variable(run, monkeypatch) -> None:
    monkeypatch.setenv("LOCALSPEC_TEMP", "hot")
    ran = run("chat", "demo")
    assert ran.code == 2
    assert ran.err.startswith("error: the variable LOCALSPEC_TEMP must be a number\n")


def test_usage_errors_are_documents_too(run) -> None:
    ran = run("chat", "--json", "--tmp", "3")
    assert ran.document["exit_code"] == 2


def test_json_behind_two_dashes_is_not_an_option() -> None:
    assert failures.wants_json(["chat", "--json"])
    assert failures.wants_json(["bench", "--json=-"])
    assert not failures.wants_json(["chat", "--", "--json"])


def test_a_closed_pipe_is_141() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "localspec", "--help"],
        stdout=write,
        stderr=subprocess.PIPE,
        cwd=_root(),
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_do_not_crash(closed: str) -> None:
    """L02: the output may have no descriptor at all."""
    shell = f"{sys.executable} -m localspec predict --alpha .7 --cost-ratio .1 --json {closed}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, cwd=_root(), check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_termination_is_143() -> None:
    code = (
        "import os, signal, sys\n"
        "from localspec.cli import app\n"
        "from localspec.cli.main import main\n"
        "app.command = lambda: lambda *a, **k: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.exit(main(['x']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=_root(), check=False)
    assert done.returncode == 143


def test_the_terminate_handler_is_put_back(run) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run("--version")
    assert signal.getsignal(signal.SIGTERM) is before


def _root() -> Path:
    import localspec

    return Path(localspec.__file__).parents[1]
