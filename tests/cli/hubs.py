"""Pairs of the user's own on a stand-in hub, written into the user's models file."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

LICENCES = {"target": "mit", "draft": "apache-2.0"}


def own_pairs(folder: Path, *entries: str) -> Path:
    """Write the user's models file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "models.toml"
    path.write_text("\n".join(entries), encoding="utf-8")
    return path


def hub_pair(name: str, files: Mapping[str, Path], *, more: str = "", hashed: bool = True) -> str:
    """Describe a pair of two files in the repository me/NAME."""
    lines = ["[[pair]]", f'name = "{name}"', 'kind = "code"', "context = 256", more]
    for role, path in files.items():
        data = path.read_bytes()
        lines += [f"[pair.{role}]", f'repo = "me/{name}"', f"file = {json.dumps(path.name)}"]
        lines += ['quant = "F32"', f"bytes = {len(data)}", f'licence = "{LICENCES[role]}"']
        if hashed:
            lines.append(f'sha256 = "{hashlib.sha256(data).hexdigest()}"')
    return "\n".join(lines) + "\n"


def in_cache(cache: Path, name: str, files: Mapping[str, Path], commit: str = "c" * 40) -> None:
    """Put a pair's files where the hub's own cache keeps them."""
    folder = cache / f"models--me--{name}"
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(commit)
    for path in files.values():
        place = folder / "snapshots" / commit / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        blob = folder / "blobs" / hashlib.sha256(path.read_bytes()).hexdigest()
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(path.read_bytes())
        place.symlink_to(blob)
