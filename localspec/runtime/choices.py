"""What a tune chose for a pair, kept so that later runs can use it.

Knows small JSON files, one for each pair of given files. A choice names files by what they are
made from, so a layout that is gone is made anew; one whose given files or engine changed is none.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from localspec.core.theory import MAX_GAMMA
from localspec.engine.library import engine_build
from localspec.engine.quantise import Recipe
from localspec.errors import NotHere, OptionError
from localspec.runtime.folders import short_name, state_dir
from localspec.runtime.layout_records import recipe_of
from localspec.runtime.layouts import Notify, ensure_layout, recipe_words
from localspec.runtime.settings import LAYERSKIP, MODEL, READY, PairFiles, with_draft

VERSION = 1


@dataclass(frozen=True)
class ChosenFile:
    """A file of a choice: `source` as it is, or after `recipe`."""

    source: str
    recipe: Recipe | None = None

    @property
    def words(self) -> str:
        """Name it for a line on the screen."""
        name = Path(self.source).name
        return f"{name} as {recipe_words(self.recipe)}" if self.recipe else name


@dataclass(frozen=True)
class Choice:
    """An arrangement that was measured. `always`: runs use it without being asked to.

    `speedup` over the given files' plain decoding; `kl_mean` to the given target, 0 for itself.
    """

    target: ChosenFile
    draft: ChosenFile | None
    drafter: str
    gamma: int | None
    speedup: float
    kl_mean: float = 0.0
    always: bool = False


def folder() -> Path:
    """Give the folder of all choices."""
    return state_dir() / "tuned"


def save_choice(given: PairFiles, choice: Choice) -> Path:
    """Keep a choice for these given files, whole or not at all.

    Raises: OptionError when the folder cannot be written.
    """
    path = _path(given)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made_for = {"version": VERSION, "engine": engine_build(), "given": _identity(given)}
        record = {**made_for, **asdict(choice)}
        part.write_text(json.dumps(record, indent=1), encoding="utf-8")
        part.replace(path)
    except OSError as failure:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise OptionError(
            f"the choice cannot be kept in {path.parent}: {failure.strerror}",
            "LOCALSPEC_STATE=FOLDER chooses another folder",
        ) from failure
    return path


def drop_choice(given: PairFiles) -> None:
    """Forget what was chosen for these files."""
    with suppress(OSError):
        _path(given).unlink(missing_ok=True)


def load_choice(given: PairFiles) -> Choice | None:
    """Give what was chosen for these files with this build of the engine; None without it."""
    try:
        record = json.loads(_path(given).read_text(encoding="utf-8"))
        if record["version"] != VERSION or record["engine"] != engine_build():
            return None
        if record["given"] != _identity(given):
            return None
        return _choice(record)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _choice(record: Mapping[str, Any]) -> Choice:
    """Take a record for a choice.

    Raises: ValueError, TypeError, KeyError, AttributeError for one that no tune wrote.
    """
    draft, gamma = record["draft"], record["gamma"]
    choice = Choice(
        _file(record["target"]),
        _file(draft) if draft else None,
        str(record["drafter"]),
        gamma,
        float(record["speedup"]),
        float(record["kl_mean"]),
        always=record["always"] is True,
    )
    counted = gamma is None or (type(gamma) is int and 1 <= gamma <= MAX_GAMMA)
    file_needed = choice.drafter in (MODEL, LAYERSKIP)
    usable = choice.drafter in READY and (choice.draft is not None or not file_needed)
    if not (counted and usable and isfinite(choice.speedup) and isfinite(choice.kl_mean)):
        raise ValueError(f"no choice: {choice}")
    return choice


def chosen_files(given: PairFiles, choice: Choice, notify: Notify) -> PairFiles:
    """Give a choice's files, made first if they are gone; the pair's heads go with any target.

    Raises: LocalspecError when a file cannot be made, or is not there any more.
    """
    target = _made(choice.target, notify)
    files = PairFiles(target, name=given.name, derived=True, heads=given.heads)
    if choice.draft is None:
        return files
    return with_draft(files, choice.drafter, _made(choice.draft, notify))


def _made(chosen: ChosenFile, notify: Notify) -> Path:
    source = Path(chosen.source)
    if not source.is_file():
        raise NotHere(
            f"the tuned choice needs {source}, which is not there", "tune again, or --no-tuned"
        )
    return ensure_layout(source, chosen.recipe, notify) if chosen.recipe else source


def _file(record: Mapping[str, Any]) -> ChosenFile:
    given = record["recipe"]
    recipe = recipe_of(given) if given else None
    return ChosenFile(str(record["source"]), recipe)


def _path(given: PairFiles) -> Path:
    digest = hashlib.sha256(json.dumps(_names(given)).encode()).hexdigest()[:12]
    return folder() / f"{short_name(given.target.stem)}-{digest}.json"


def _names(given: PairFiles) -> list[str]:
    return [str(path.resolve()) for path in _paths(given)]


def _paths(given: PairFiles) -> list[Path]:
    heads = (path for _, path in given.heads)
    return [path for path in (given.target, given.draft, *heads) if path]


def _identity(given: PairFiles) -> list[list[str | int]]:
    """Say which files these are, and in which state."""
    return [
        [str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns]
        for path in _paths(given)
    ]
