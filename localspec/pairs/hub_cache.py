"""The ordinary hub cache on this disk: where a file lies, and what lies there half-finished.

Knows folders and names only. Touches no network and imports no hub library.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PART_SUFFIX = ".localspec.part"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of a repository, by its exact name."""

    repo: str
    name: str
    revision: str = "main"

    def __str__(self) -> str:
        """Write it as a person names it."""
        return f"{self.repo}/{self.name}"


def cache_folder(environment: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Find the hub cache: HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, else the usual place."""
    if named := environment.get("HF_HUB_CACHE"):
        return Path(os.path.expanduser(named))
    if own := environment.get("HF_HOME"):
        return Path(os.path.expanduser(own)) / "hub"
    named = environment.get("XDG_CACHE_HOME")
    root = Path(os.path.expanduser(named or home or "~"))
    root = root if named else root / ".cache"
    return root / "huggingface" / "hub"


def repo_folder(repo: str, cache: Path) -> Path:
    """Find the folder of a repository in the cache."""
    return cache / ("models--" + repo.replace("/", "--"))


def find_cached(file: RemoteFile, cache: Path | None = None) -> Path | None:
    """Find a downloaded file, or None; a link to nothing counts as nothing."""
    folder = repo_folder(file.repo, cache or cache_folder())
    reference = folder / "refs" / file.revision
    commit = reference.read_text().strip() if reference.is_file() else file.revision
    found = folder / "snapshots" / commit / file.name
    return found if found.is_file() else None


def cached_files(cache: Path | None = None) -> Iterator[tuple[RemoteFile, Path]]:
    """Walk all GGUF files of the cache, each once per revision that holds it."""
    root = cache or cache_folder()
    for snapshot in sorted(root.glob("models--*/snapshots/*")):
        repo = snapshot.parent.parent.name.removeprefix("models--").replace("--", "/", 1)
        for path in sorted(snapshot.rglob("*.gguf")):
            if path.is_file():
                name = path.relative_to(snapshot).as_posix()
                yield RemoteFile(repo, name, snapshot.name), path


def partial_files(cache: Path | None = None) -> list[Path]:
    """List downloads that were begun and not finished."""
    return sorted((cache or cache_folder()).glob(f"models--*/blobs/*{PART_SUFFIX}"))
