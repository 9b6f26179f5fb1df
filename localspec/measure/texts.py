"""What is measured on: the built-in kinds of text, and the user's own.

Knows files and paragraphs. Does not know models; turning texts into ids is given to it.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localspec.errors import NotHere, OptionError

SUITE = Path(__file__).parent / "suite"
KINDS = ("code", "edit", "summary", "json", "qa", "story", "turkish")
MOST_PARAGRAPHS = 64
LONGEST_PARAGRAPH = 1200
SHORTEST_PARAGRAPH = 40
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Text:
    """A text to answer, or (`continued`) to be carried on as it is."""

    words: str
    continued: bool = False


@dataclass(frozen=True)
class Texts:
    """A kind of text: its name and its prompts."""

    name: str
    prompts: tuple[Text, ...]


def builtin(names: Sequence[str] = KINDS) -> tuple[Texts, ...]:
    """Give built-in kinds by name.

    Raises: NotHere for an unknown kind.
    """
    return tuple(_builtin(name) for name in names)


def _builtin(name: str) -> Texts:
    if name not in KINDS:
        raise NotHere(f"no kind of text '{name}'", f"one of: {', '.join(KINDS)}, or --text FILE")
    with (SUITE / f"{name}.toml").open("rb") as handle:
        prompts = tomllib.load(handle)["prompts"]
    return Texts(name, tuple(Text(words.strip()) for words in prompts))


def suite_file(path: Path) -> Texts:
    """Read a suite of the user's: a TOML file with `prompts`, like the built-in ones.

    Raises: NotHere, OptionError.
    """
    try:
        prompts = tomllib.loads(_decoded(read_bytes(path), str(path))).get("prompts")
    except (tomllib.TOMLDecodeError, RecursionError) as failure:
        raise OptionError(f"{path} is not TOML: {failure}", "see --suite in the help") from failure
    good = isinstance(prompts, list) and prompts and all(isinstance(p, str) for p in prompts)
    if not good or not isinstance(prompts, list):
        raise OptionError(f"{path}: no prompts", 'it needs a list: prompts = ["…", "…"]')
    return Texts(path.stem, tuple(Text(words.strip()) for words in prompts if words.strip()))


def read_bytes(path: Path) -> bytes:
    """Read a file that a user names.

    Raises: NotHere; OptionError for one that is far too large.
    """
    if not path.is_file():
        what = "is a pipe or a device, not a file" if path.exists() else "is not there"
        what = "is a folder" if path.is_dir() else what
        raise NotHere(f"--text: {path} {what}")
    if path.stat().st_size > MOST_BYTES:
        raise OptionError(f"--text: {path} has more than {MOST_BYTES >> 20} MB", "give an excerpt")
    try:
        return path.read_bytes()
    except OSError as failure:
        raise NotHere(f"--text: {path} cannot be read: {failure.strerror}") from failure


def own_text(data: bytes, name: str) -> Texts:
    """Cut the user's text into paragraphs, each to be continued.

    Raises: OptionError for what is empty or no text.
    """
    words = _decoded(data, name)
    paragraphs = _paragraphs(words)
    if not paragraphs:
        raise OptionError(f"--text: {name} is empty", "give a file with at least a paragraph")
    step = max(len(paragraphs) / MOST_PARAGRAPHS, 1.0)
    spaced = [paragraphs[int(i * step)] for i in range(int(len(paragraphs) / step))]
    return Texts(name, tuple(Text(each, continued=True) for each in spaced))


def _decoded(data: bytes, name: str) -> str:
    if b"\0" in data[: 1 << 20]:
        raise OptionError(f"{name} is a binary file, not a text", "give a file of words, in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise OptionError(
            f"{name} is not UTF-8 (byte {failure.start} is {data[failure.start]:#04x})",
            "convert it, or check that it is a text",
        ) from failure


def _paragraphs(words: str) -> list[str]:
    """Split at blank lines; long ones at sentences, short ones join what follows."""
    pieces: list[str] = []
    waiting = ""
    for block in re.split(r"\n\s*\n", words):
        waiting = f"{waiting}\n\n{block.strip()}" if waiting else block.strip()
        if len(waiting) >= SHORTEST_PARAGRAPH:
            pieces += _bounded(waiting)
            waiting = ""
    if waiting:
        pieces.append(waiting)
    return list(dict.fromkeys(pieces))


def _bounded(block: str) -> list[str]:
    """Cut a long paragraph into pieces that end at a sentence or a word where they can."""
    pieces: list[str] = []
    while len(block) > LONGEST_PARAGRAPH and len(pieces) < 4 * MOST_PARAGRAPHS:
        window = block[:LONGEST_PARAGRAPH]
        end = max(window.rfind(mark) for mark in (". ", "\n", "! ", "? "))
        end = end + 1 if end > LONGEST_PARAGRAPH // 2 else window.rfind(" ")
        end = end if end > LONGEST_PARAGRAPH // 2 else LONGEST_PARAGRAPH
        pieces.append(block[:end].strip())
        block = block[end:].lstrip()
    return [*pieces, block[:LONGEST_PARAGRAPH]] if block else pieces
