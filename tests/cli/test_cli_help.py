"""What help says, what it costs to say it, and shell completion."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import localspec
from localspec.cli.complete import draft_names, drafter_names, pair_names
from localspec.runtime.settings import DRAFTERS, READY

ROOT = Path(localspec.__file__).parents[1]
HEAVY = {"numpy", "llama_cpp", "huggingface_hub", "prompt_toolkit", "jinja2", "psutil"}


def _imported(*words: str) -> set[str]:
    code = (
        "import json, sys\n"
        "from localspec.cli.main import main\n"
        f"code = main({list(words)!r})\n"
        "sys.stderr.write(json.dumps([code, *sys.modules]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    code, *modules = json.loads(done.stderr)
    assert code == 0
    return set(modules)


def test_the_version_costs_no_library() -> None:
    modules = _imported("--version")
    assert not modules & (HEAVY | {"typer", "rich", "importlib.metadata"})


@pytest.mark.parametrize("words", [["--help"], ["chat", "--help"], ["predict", "-h"]])
def test_help_imports_no_engine_no_numbers_and_no_screens(words: list[str]) -> None:
    assert not _imported(*words) & (HEAVY | {"rich"})


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_shown(flag: str, run) -> None:
    ran = run(flag)
    assert (ran.code, ran.out, ran.err) == (0, f"localspec {localspec.__version__}\n", "")


def test_no_words_at_all_show_the_help(run) -> None:
    assert run().out == run("-h").out


def test_chat_help_explains_draft_and_lookup_with_two_examples(run) -> None:
    """J01: `--draft` takes a second model, lookup is another word; two examples show both."""
    text = run("chat", "--help").out
    assert "--draft FILE        a draft model: a second, smaller GGUF file" in text
    assert "--drafter lookup    no second model" in text
    examples = [line.strip() for line in text.splitlines() if "localspec chat --target" in line]
    assert examples == [
        "localspec chat --target big.gguf --draft small.gguf",
        'localspec chat --target big.gguf --drafter lookup -p "Fix the typos." < notes.txt',
    ]


def test_help_names_every_drafter_and_the_variables(run) -> None:
    text = run("chat", "--help").out
    for name in DRAFTERS:
        assert name in text
    assert "LOCALSPEC_TOP_K" in text


def test_help_has_no_escape_byte_whatever_the_terminal_says(process) -> None:
    done = process("chat", "--help", env={"FORCE_COLOR": "1", "TERM": "xterm-256color"})
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_does_not_crash(shell: str, process) -> None:
    words = "localspec chat --temp"
    env = {
        "_LOCALSPEC_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": "2",
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = process(env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"--temp" in done.stdout


def test_drafters_complete_within_a_comma_list() -> None:
    assert drafter_names("lo") == ["lookup"]
    assert drafter_names("lookup,mo") == ["lookup,model"]
    assert set(drafter_names("")) == set(READY)
    assert "lookup,lookup" not in drafter_names("lookup,")


def test_files_complete_by_their_ending(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.txt", "c.gguf"):
        (tmp_path / name).touch()
    (tmp_path / "models").mkdir()
    found = draft_names(f"{tmp_path}/")
    assert [f"{tmp_path}/a.gguf", f"{tmp_path}/c.gguf"] == found[:2]
    assert f"{tmp_path}/models/" in found
    assert f"{tmp_path}/b.txt" not in found


def test_pair_names_complete_and_never_fail() -> None:
    assert pair_names("no such pair at all") == []
