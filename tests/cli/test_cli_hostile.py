"""Hostile words, files, folders and streams: one clear line and the right exit code."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import localspec
from localspec.cli import prompt, streams
from localspec.errors import NotHere
from localspec.pairs.catalogue import load_catalogue
from localspec.pairs.header import read_header
from localspec.pairs.own import add_pair, drop_pair
from localspec.runtime.folders import cache_dir, config_dir, short_name, state_dir
from localspec.ui.actions import read_text
from tests.models import write_llama

QUICK = ("-n", "3", "--temp", "0", "-p", "x")
ROOT = Path(localspec.__file__).parents[1]


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (("--stop", ""), 2, "--stop is empty"),
        (("--logit-bias", "999999=1"), 2, "no token 999999"),
        (("--logit-bias", "'\udcff\udcff'=1"), 2, "not one token"),
        (("--repeat-penalty", "1e-300"), 2, "--repeat-penalty"),
        (("--events", "no/such/folder/x"), 5, "--events"),
        (("-p", "@."), 5, "cannot be read"),
        (("-p", "@" + "a" * 300), 5, "too long"),
        (("-p", "@a\0b"), 5, "cannot be the name"),
        (("-p", "@~nobody-of-this-name/x"), 5, "no file ~nobody"),
        (("-c", "2"), 2, "the context holds 2"),
        (("-c", "1"), 2, "context of 1"),
        (("--target", "/" + "a" * 300 + ".gguf"), 5, "too long"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_cannot_be_meant_is_said_in_one_line(words, code, named, run, tiny_pair) -> None:
    ran = run("chat", "--target", tiny_pair.target, "--plain", *QUICK, *words)
    assert (ran.code, ran.out) == (code, "")
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert named in errors[0]


def test_half_a_character_in_a_prompt_is_replaced(run, tiny_pair) -> None:
    ran = run("chat", "--target", tiny_pair.target, "--plain", *QUICK, "-p", "a\ud83d\udcffb")
    assert ran.code == 0


@pytest.mark.parametrize("size", [2, 5, 22])
def test_a_tiny_draft_context_works(size: int, run, tiny_pair) -> None:
    pair = ("--target", tiny_pair.target, "--draft", tiny_pair.draft)
    assert run("chat", *pair, *QUICK, "--draft-ctx", size).code == 0


def test_a_file_that_does_not_say_its_context_gets_the_usual_one(run, tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf", n_ctx=0)
    assert run("chat", "--target", path, "--plain", *QUICK).code == 0


def test_a_file_with_the_longest_name_works(run, tmp_path: Path) -> None:
    path = write_llama(tmp_path / f"{'a' * 245}.gguf")
    ran = run("chat", "--target", path, "--drafter", "lookup", *QUICK)
    assert ran.code == 0
    assert list((tmp_path / "cache" / "calibration").glob("aaa*.json"))


@pytest.mark.parametrize("field", ["block_count", "nextn_predict_layers"])
def test_a_count_that_no_model_has_neither_hangs_nor_fills_memory(
    field: str, run, tmp_path: Path
) -> None:
    path = write_llama(tmp_path / "m.gguf", extra={"llama.nextn_predict_layers": 1})
    name = f"llama.{field}".encode() + b"\x04\0\0\0"
    data = path.read_bytes()
    place = data.index(name) + len(name)
    path.write_bytes(data[:place] + b"\xfe\xff\xff\x7f" + data[place + 4 :])
    assert read_header(path).number(f"llama.{field}") == 0x7FFFFFFE
    ran = run("chat", "--target", path, "--plain", *QUICK)
    assert ran.code == 4


def test_no_control_character_of_a_file_or_template_reaches_the_terminal(
    run, tmp_path: Path
) -> None:
    template = "{{ raise_exception('\x1b[31mno \x07 way') }}"
    for number, changes in enumerate(({"architecture": "\x1b[31mx"}, {"template": template})):
        ran = run("chat", "--target", write_llama(tmp_path / f"{number}.gguf", **changes), *QUICK)
        assert ran.code == 4
        assert "\x1b" not in ran.err
        assert "\x07" not in ran.err
        assert "␛[31m" in ran.err


def test_a_model_that_computes_no_numbers_is_refused(run, tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf")
    header = read_header(path)
    data = bytearray(path.read_bytes())
    for tensor in header.tensors:
        data[tensor.offset : tensor.offset + tensor.bytes] = b"\xff" * tensor.bytes
    path.write_bytes(data)
    for plain in ((), ("--temp", "0.7")):
        ran = run("chat", "--target", path, "--plain", *QUICK, *plain)
        assert (ran.code, ran.out) == (4, "")
        assert "no numbers" in ran.err


@pytest.mark.parametrize("place", ["file", "long"])
def test_a_cache_that_cannot_be_a_folder_costs_no_answer(
    place: str, run, tiny_pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv(
        "LOCALSPEC_CACHE", str(tmp_path / ("file" if place == "file" else "a" * 300))
    )
    assert run("chat", "--target", tiny_pair.target, "--drafter", "lookup", *QUICK).code == 0


@pytest.mark.parametrize(
    ("text", "named"),
    [("temp = true\n", "temp"), ("x = " + "[" * 5000 + "]" * 5000, "is not TOML")],
    ids=["yes for a number", "deep"],
)
def test_odd_settings_files_are_refused(text, named, run, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    ran = (
        run("config", "--config", path)
        if "x" in text
        else run("chat", "demo", "-p", "x", "--config", path)
    )
    assert ran.code == 2
    assert named in ran.err


def test_yes_is_still_a_value_for_what_is_yes_or_no(run, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("quiet = true\n")
    assert run("config", "--config", path).code == 0


def test_without_any_home_nothing_is_kept_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("LOCALSPEC_CACHE", "LOCALSPEC_STATE", "LOCALSPEC_CONFIG_DIR", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # a user whom no list knows
    for folder in (cache_dir(), state_dir(), config_dir()):
        assert folder.is_relative_to(os.devnull)


def test_a_short_name_has_room_for_more_and_is_still_text() -> None:
    assert short_name("model") == "model"
    assert len(short_name("ü" * 200).encode()) <= 120


def test_a_full_disk_behind_the_answer_is_one_line(process, tiny_pair) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    command = [sys.executable, "-m", "localspec", "chat", "--target", str(tiny_pair.target)]
    with Path("/dev/full").open("w") as full:
        out = subprocess.run(
            [*command, "--plain", *QUICK],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
        )
        err = subprocess.run(
            [*command, "--plain", *QUICK],
            stdout=subprocess.PIPE,
            stderr=full,
            cwd=ROOT,
            check=False,
        )
    assert out.returncode == 1
    assert b"error: cannot read or write: No space left" in out.stderr
    assert b"Exception" not in out.stderr
    assert b"bug" not in out.stderr
    assert err.returncode == 0
    assert err.stdout


def test_a_pair_of_ones_own_survives_a_file_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "models.toml"
    shipped = next(iter(load_catalogue().pairs.values()))
    for name in ("a", "b"):
        add_pair(shipped.model_copy(update={"name": name}), path)
    before = path.read_text()

    def full(*_words: object, **_more: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(NotHere, match="No space left"):
        drop_pair("a", path)
    assert path.read_text() == before
    assert [each.name for each in tmp_path.iterdir()] == ["models.toml"]


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("words", ["x", "word " * 1500], ids=["decode", "prefill"])
def test_a_request_to_end_is_heard_inside_the_engine(
    number: str, words: str, tmp_path: Path
) -> None:
    """The signal arrives in a callback of native code as well, where no exception can pass."""
    if not hasattr(signal, number):
        pytest.skip(f"no {number} on this system")
    path = write_llama(tmp_path / "m.gguf", n_layer=12, n_embd=256, eos=None, eot=None, n_ctx=8192)
    command = [sys.executable, "-m", "localspec", "chat", "--target", str(path), "--plain"]
    running = subprocess.Popen(
        [*command, "-p", words, "-n", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    if words == "x":
        assert running.stdout is not None
        running.stdout.read(1)
    else:
        time.sleep(1.5)
    running.send_signal(getattr(signal, number))
    _out, err = running.communicate(timeout=60)
    assert running.returncode == 143
    assert b"Traceback" not in err


def test_a_stream_without_end_is_not_read_to_its_end(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt, "LONGEST_BYTES", 1 << 20)
    endless = tmp_path / "long"
    endless.write_bytes(b"a" * ((1 << 20) + 1))
    for words, stdin in (((), endless.read_bytes()), (("-p", f"@{endless}"), b"")):
        ran = run("chat", "demo", *words, stdin=stdin)
        assert (ran.code, ran.out) == (2, "")
        assert "longer than 1 MiB" in ran.err


def test_a_pipe_is_not_read_at_the_prompt(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotHere, match="no file"):
        read_text(str(tmp_path / "pipe"), "/read FILE")


@pytest.mark.parametrize("lost", [KeyboardInterrupt, streams.Terminated])
def test_a_signal_lost_in_native_code_comes_again(
    lost: type[BaseException],
) -> None:
    """A callback that raises is what a signal in the middle of one looks like."""
    callback = ctypes.CFUNCTYPE(None)(_raising(lost))
    with pytest.raises(lost), streams.terminable():
        _wait_after(callback)


def _wait_after(callback: Callable[[], None]) -> None:
    callback()
    threading.Event().wait(30)


def _raising(failure: type[BaseException]) -> Callable[[], None]:
    def fail() -> None:
        raise failure

    return fail
