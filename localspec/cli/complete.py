"""What the shell may offer: pair names, drafters, GGUF files here. Never fails, never prints.

Knows the catalogue and the current folder. Does not touch the network.
"""

import glob
import os

MOST = 200


def pair_names(incomplete: str) -> list[str]:
    """Offer the catalogue's names."""
    try:
        from localspec.pairs.catalogue import load_catalogue  # noqa: PLC0415  (slow)
        from localspec.runtime.folders import config_dir  # noqa: PLC0415

        names = load_catalogue(config_dir() / "models.toml").pairs
    except Exception:
        return []
    return [name for name in names if name.startswith(incomplete)]


def drafter_names(incomplete: str) -> list[str]:
    """Offer the drafter that comes next in a comma list."""
    try:
        from localspec.runtime.settings import READY  # noqa: PLC0415  (numpy)
    except Exception:
        return []
    before, comma, last = incomplete.rpartition(",")
    names = [name for name in READY if name.startswith(last) and name not in before.split(",")]
    return [f"{before}{comma}{name}" for name in names]


def draft_names(incomplete: str) -> list[str]:
    """Offer GGUF files and folders under what was typed."""
    try:
        found = glob.glob(glob.escape(incomplete) + "*")
    except OSError:
        return []
    folders = [f"{path}/" for path in found if os.path.isdir(path)]
    return sorted([path for path in found if path.endswith(".gguf")] + folders)[:MOST]
