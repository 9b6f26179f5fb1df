"""What the house asks of every file: size, and nothing of one machine or one network in it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HERE = Path(__file__)
FOLDERS = ("localspec", "tools", "tests", "benchmarks", "docs", "requirements", ".ci")
ENDINGS = {".py", ".md", ".toml", ".lock", ".txt", ".in", ".json", ".j2", ".html", ".sh", ""}
LINES = 300
FUNCTION_LINES = 40


def _files() -> Iterator[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in (*found, *ROOT.iterdir()):
        if path.is_file() and path.suffix in ENDINGS and "__pycache__" not in path.parts:
            yield path


FILES = sorted(path for path in _files() if path != HERE)
SOURCES = [path for path in FILES if path.suffix == ".py"]


def _label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SOURCES, ids=_label)
def test_a_source_file_stays_under_300_lines(path: Path) -> None:
    assert len(_text(path).splitlines()) < LINES


@pytest.mark.parametrize("path", [p for p in SOURCES if "localspec" in p.parts], ids=_label)
def test_a_function_stays_within_40_lines(path: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(_text(path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES} == {}


def test_locked_requirements_name_no_registry() -> None:
    locks = sorted((ROOT / "requirements").glob("*.lock"))
    assert [_label(path) for path in locks if "://" in _text(path)] == []


def test_nothing_is_pickled_to_a_disk_cache() -> None:
    """The engine's disk cache unpickles what it finds in a folder."""
    code = [path for path in SOURCES if "localspec" in path.relative_to(ROOT).parts]
    assert [_label(path) for path in code if "LlamaDiskCache" in _text(path)] == []


MACHINE_PATH = re.compile(r"(?<![\w.~])/(root|work|home/\w+|tmp/w|Users/\w+)/")


@pytest.mark.parametrize("path", FILES, ids=_label)
def test_no_file_knows_the_machine_it_was_written_on(path: Path) -> None:
    assert MACHINE_PATH.search(_text(path)) is None


@pytest.mark.parametrize("text", ["open('/root/x')", "cd /work/main", "at /home/ada/models"])
def test_a_machine_path_is_seen(text: str) -> None:
    assert MACHINE_PATH.search(text)
