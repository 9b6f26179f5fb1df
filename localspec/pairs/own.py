"""The user's own models.toml: add a pair, drop a pair.

Knows how a pair is written as TOML. Comments of an existing file stay: pairs are appended, and
removed by their own lines.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from localspec.errors import NotHere, OptionError
from localspec.pairs.catalogue import Pair, read_pairs

MARK = "[[pair]]"


def to_toml(pair: Pair) -> str:
    """Write a pair as a `[[pair]]` table."""
    return "\n".join([MARK, *_lines(pair.model_dump(mode="json", exclude_defaults=True), "pair")])


def _lines(table: dict[str, Any], name: str) -> Iterator[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    rows = {key: value for key, value in table.items() if _is_tables(value)}
    for key, value in table.items():
        if key not in inner and key not in rows:
            yield f"{key} = {json.dumps(value)}"  # a JSON string, number or list is TOML too
    for key, value in rows.items():
        for row in value:
            yield ""
            yield f"[[{name}.{key}]]"
            yield from _lines(row, f"{name}.{key}")
    for key, value in inner.items():
        yield ""
        full = f"{name}.{key if key.isidentifier() else json.dumps(key)}"
        yield f"[{full}]"
        yield from _lines(value, full)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def add_pair(pair: Pair, path: Path) -> None:
    """Append a pair to a models file, which is made if it is not there.

    Raises: OptionError when the file already has a pair of that name.
    """
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    if before and any(known.name == pair.name for known in read_pairs(path)):
        hint = f"`localspec models rm {pair.name}` first, or take another name"
        raise OptionError(f"{path.name} already has a pair {pair.name!r}", hint)
    gap = "\n" if before else ""
    _replace(path, f"{before}{gap}{to_toml(pair)}\n")


def drop_pair(name: str, path: Path) -> None:
    """Take a pair out of a models file.

    Raises: NotHere when the file has no pair of that name.
    """
    names = [pair.name for pair in read_pairs(path)] if path.is_file() else []
    if name not in names:
        raise NotHere(f"{path.name} has no pair {name!r}", "shipped pairs stay in the catalogue")
    head, *tables = re.split(r"(?m)^\[\[pair\]\]", path.read_text(encoding="utf-8"))
    del tables[names.index(name)]
    _replace(path, MARK.join([head, *tables]))


def _replace(path: Path, text: str) -> None:
    """Write beside the file, then put it in its place: a full disk costs no pair."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as failure:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise NotHere(f"{path} cannot be written: {failure.strerror}") from failure
