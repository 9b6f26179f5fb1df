"""Where files of ours live: the ordinary folders of the system, or where the user says.

Knows paths. Creates nothing until asked.
"""

import os
from pathlib import Path

from platformdirs import PlatformDirs

from localspec.errors import OptionError

_DIRS = PlatformDirs("localspec", appauthor=False)
_NOWHERE = Path(os.devnull) / "localspec"  # a place where nothing is found and nothing is kept
_LONGEST_NAME = 120  # bytes: file systems take 255, and more is appended


def cache_dir() -> Path:
    """Give the folder for what can be made again; LOCALSPEC_CACHE overrides."""
    return _folder("LOCALSPEC_CACHE", "user_cache_dir")


def state_dir() -> Path:
    """Give the folder for history and logs; LOCALSPEC_STATE overrides."""
    return _folder("LOCALSPEC_STATE", "user_state_dir")


def config_dir() -> Path:
    """Give the folder for settings; LOCALSPEC_CONFIG_DIR overrides."""
    return _folder("LOCALSPEC_CONFIG_DIR", "user_config_dir")


def _folder(variable: str, usual: str) -> Path:
    """Give the folder named by a variable, else the usual one; a user may have no home at all."""
    named = os.environ.get(variable)
    if named:
        return Path(named)
    try:
        return Path(str(getattr(_DIRS, usual)))
    except RuntimeError:
        return _NOWHERE


def unwritable(folder: Path) -> str:
    """Say why nothing can be kept in a folder, which need not be there yet; empty where it can."""
    try:
        place = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    except OSError as failure:
        return f"{folder}: {failure.strerror}"
    if not place.is_dir():
        return f"{place} is no folder"
    return "" if os.access(place, os.W_OK) else f"{place} cannot be written"


def cannot_write(folder: Path, failure: Exception) -> OptionError:
    """Give the error for a folder of the cache that a file cannot be made in."""
    return OptionError(
        f"cannot write in {folder}: {getattr(failure, 'strerror', None) or failure}",
        "LOCALSPEC_CACHE=FOLDER chooses another folder",
    )


def short_name(name: str) -> str:
    """Cut a name so that a longer one can be made of it."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= _LONGEST_NAME:
        return name
    return data[:_LONGEST_NAME].decode("utf-8", "ignore")
