"""Where files of ours live: the ordinary folders of the system, or where the user says.

Knows paths. Creates nothing until asked.
"""

import os
from pathlib import Path

from platformdirs import PlatformDirs

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


def short_name(name: str) -> str:
    """Cut a name so that a longer one can be made of it."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= _LONGEST_NAME:
        return name
    return data[:_LONGEST_NAME].decode("utf-8", "ignore")
