"""Files that are no text model, and files that mean harm: one line, the right exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

import localspec
from tests.models import write_llama

QUICK = ("-n", "4", "--temp", "0", "-c", "256", "-p", "x")
ROOT = Path(localspec.__file__).parents[1]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"general_type": "mmproj"}, "projector"),
        ({"architecture": "clip"}, "projector"),
        ({"architecture": "bert"}, "embedding"),
        ({"general_type": "adapter"}, "adapter"),
        ({"architecture": "never-heard-of"}, "never-heard-of"),
    ],
    ids=str,
)
def test_what_is_no_text_model_is_refused_in_words(changes, named, run, tmp_path: Path) -> None:
    path = write_llama(tmp_path / "odd.gguf", **changes)
    ran = run("chat", path, "--plain", *QUICK)
    assert (ran.code, ran.out) == (4, "")
    assert named in ran.err
    assert len(ran.err.splitlines()) <= 2


@pytest.mark.parametrize(
    "template",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append.__globals__ }}",
        "{% if %}",
        "{{ raise_exception('no') }}",
    ],
)
def test_a_hostile_or_broken_template_is_stopped(template: str, run, tmp_path: Path) -> None:
    path = write_llama(tmp_path / "odd.gguf", template=template)
    ran = run("chat", path, "--plain", *QUICK)
    assert ran.code in (1, 2, 4)
    assert "template" in ran.err
    assert "a bug of localspec" not in ran.err
    assert "__" not in ran.out


@pytest.mark.parametrize("words", ["models list", "config"])
def test_a_reader_that_goes_away_is_141_and_silent(words: str) -> None:
    line = f"set -o pipefail; {sys.executable} -m localspec {words} | true"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_folder_with_letters_of_many_languages_works(run, tmp_path: Path) -> None:
    """L04."""
    folder = tmp_path / "Modeller ığş 模型"
    folder.mkdir()
    path = write_llama(folder / "küçük model.gguf")
    ran = run("chat", path, "--plain", *QUICK, "--json")
    assert ran.code == 0
    assert ran.document["pair"] == "küçük model"


def _broken(kind: str, folder: Path, whole: Path) -> Path:
    path = folder / f"{kind}.gguf"
    data = whole.read_bytes()
    if kind == "text":
        path.write_text("this is no model")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "half":
        path.write_bytes(data[: len(data) // 2])
    elif kind == "header":
        path.write_bytes(data[:200])
    return path


@pytest.mark.parametrize("side", ["--target", "--draft"])
@pytest.mark.parametrize("kind", ["text", "empty", "half", "header"])
def test_a_damaged_file_is_refused_by_name(side, kind, run, tiny_pair, tmp_path: Path) -> None:
    """A16, J01: a truncated file or no GGUF at all is one line, and no native abort."""
    bad = _broken(kind, tmp_path, tiny_pair.draft)
    good = tiny_pair.target
    files = {"--target": good, "--draft": good, side: bad}
    words = [str(word) for item in files.items() for word in item]
    ran = run("chat", *words, "--drafter", "model", *QUICK)
    assert (ran.code, ran.out) == (4, "")
    assert bad.name in ran.err.splitlines()[0]


def test_a_draft_larger_than_its_target_is_mentioned(run, tiny_pair, tmp_path: Path) -> None:
    """A15: the two files are the wrong way round."""
    small = write_llama(tmp_path / "small.gguf", n_layer=1)
    ran = run("chat", "--target", small, "--draft", tiny_pair.target, *QUICK, "--json")
    assert ran.code == 0
    assert any("larger" in note or "swap" in note for note in ran.document["notes"])
