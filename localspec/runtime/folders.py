"""Where files of ours live: the ordinary folders of the system, or where the user says.

Knows paths. Creates nothing until asked.
"""

import os
from pathlib import Path

from platformdirs import PlatformDirs

_DIRS = PlatformDirs("localspec", appauthor=False)


def cache_dir() -> Path:
    """Give the folder for what can be made again; LOCALSPEC_CACHE overrides."""
    return Path(os.environ.get("LOCALSPEC_CACHE") or _DIRS.user_cache_dir)


def state_dir() -> Path:
    """Give the folder for history and logs; LOCALSPEC_STATE overrides."""
    return Path(os.environ.get("LOCALSPEC_STATE") or _DIRS.user_state_dir)


def config_dir() -> Path:
    """Give the folder for settings; LOCALSPEC_CONFIG_DIR overrides."""
    return Path(os.environ.get("LOCALSPEC_CONFIG_DIR") or _DIRS.user_config_dir)
