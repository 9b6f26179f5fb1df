"""The record beside a layout: what it was made from, how, and how many bytes make it whole.

Knows a small JSON file. A layout without a readable record is taken as it is; one whose size is
not the recorded one is not there.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localspec.engine.library import engine_version
from localspec.engine.quantise import Recipe

VERSION = 1
EDGE = 1 << 20
CHUNK = 1 << 22


@dataclass(frozen=True)
class Origin:
    """The file a layout was made from. `digest`: of its size and its first and last MiB."""

    path: str
    bytes: int
    digest: str

    @classmethod
    def of(cls, path: Path) -> "Origin":
        """Look at a file."""
        size = path.stat().st_size
        digest = hashlib.sha256(str(size).encode())
        with path.open("rb") as handle:
            digest.update(handle.read(EDGE))
            handle.seek(max(size - EDGE, 0))
            digest.update(handle.read(EDGE))
        return cls(str(path.absolute()), size, digest.hexdigest()[:16])


@dataclass(frozen=True)
class Kept:
    """A layout in the cache. What no record tells is None. Units: seconds since 1970."""

    path: Path
    bytes: int
    made_at: float
    origin: Origin | None = None
    recipe: Recipe | None = None
    sha256: str | None = None
    engine: str | None = None


def beside(path: Path) -> Path:
    """Give the place of a layout's record."""
    return path.with_name(f"{path.name}.json")


def whole(path: Path) -> bool:
    """Say whether a layout is there with every byte its record counts."""
    if not os.path.isfile(path):  # never raises, as Path does for a long name
        return False
    kept = read(path)
    return kept.sha256 is None or kept.bytes == path.stat().st_size


def write(path: Path, origin: Origin, recipe: Recipe) -> None:
    """Put the record beside a layout; a disk that is full now leaves the layout without one."""
    record = {
        "version": VERSION,
        "origin": asdict(origin),
        "recipe": asdict(recipe),
        "bytes": path.stat().st_size,
        "sha256": _digest(path),
        "engine": engine_version(),
    }
    part = path.with_name(f".{path.name}.{os.getpid()}.record.part")
    try:
        part.write_text(json.dumps(record, indent=1), encoding="utf-8")
        part.replace(beside(path))
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def read(path: Path) -> Kept:
    """Read what is known of a layout that is there."""
    facts = path.stat()
    bare = Kept(path, facts.st_size, facts.st_mtime)
    try:
        record = json.loads(beside(path).read_text(encoding="utf-8"))
        recipe = recipe_of(record["recipe"])
        return Kept(
            path,
            int(record["bytes"]),
            facts.st_mtime,
            Origin(**record["origin"]),
            recipe,
            str(record["sha256"]),
            str(record["engine"]),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return bare


def recipe_of(given: Mapping[str, Any]) -> Recipe:
    """Read a recipe from its record.

    Raises: ValueError, TypeError, KeyError for what is none.
    """
    blocks = tuple(given["prune_layers"])
    recipe = Recipe(**{**given, "prune_layers": blocks})
    words = (recipe.type, recipe.output_type or "", recipe.embedding_type or "")
    sound = all(isinstance(word, str) for word in words) and isinstance(recipe.pure, bool)
    if not sound or any(type(block) is not int or block < 0 for block in blocks):
        raise ValueError(f"no recipe: {recipe}")
    return recipe


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
