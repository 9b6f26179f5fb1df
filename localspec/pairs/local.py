"""Model files that other tools have already put on this disk, and which of them fit a target.

Knows where LM Studio, Ollama, llama.cpp and the hub cache keep GGUF files. Reads headers only, and
changes nothing.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from localspec.errors import LocalspecError
from localspec.pairs.compat import compare
from localspec.pairs.header import Header, read_header
from localspec.pairs.hub_cache import cache_folder
from localspec.pairs.split import is_later_part

OLLAMA_MODEL = "application/vnd.ollama.image.model"


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A GGUF on this disk, whose tool put it there, and what that tool calls it."""

    path: Path
    tool: str
    name: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A local file held against a target: does it fit, and why (not), in one line."""

    file: LocalFile
    ok: bool
    reason: str


def local_files(home: Path | None = None, extra: Iterable[Path] = ()) -> list[LocalFile]:
    """List the GGUF files of other tools, and of any folders given; each file once."""
    home = home or Path(os.path.expanduser("~"))
    models, cache = os.environ.get("OLLAMA_MODELS"), os.environ.get("LLAMA_CACHE")
    found = [
        *_folder(home / ".lmstudio" / "models", "LM Studio"),
        *_folder(home / ".cache" / "lm-studio" / "models", "LM Studio"),
        *_ollama(Path(models) if models else home / ".ollama" / "models"),
        *_folder(Path(cache) if cache else home / ".cache" / "llama.cpp", "llama.cpp"),
        *_folder(cache_folder(home=home), "hub"),
        *(file for folder in extra for file in _folder(folder, str(folder))),
    ]
    unique: dict[Path, LocalFile] = {}
    for file in found:
        unique.setdefault(file.path.resolve(), file)
    return list(unique.values())


def _folder(folder: Path, tool: str) -> Iterator[LocalFile]:
    for path in sorted(folder.rglob("*.gguf")):
        if path.is_file() and not is_later_part(path.name):
            yield LocalFile(path, tool, path.name)


def _ollama(folder: Path) -> Iterator[LocalFile]:
    root = folder / "manifests"
    for manifest in sorted(path for path in root.rglob("*") if path.is_file()):
        try:
            layers = json.loads(manifest.read_text(encoding="utf-8"))["layers"]
            digests = [layer["digest"] for layer in layers if layer["mediaType"] == OLLAMA_MODEL]
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            continue  # not a manifest: nothing of ours to complain about
        name = f"{manifest.parent.name}:{manifest.name}"
        for digest in digests:
            blob = folder / "blobs" / str(digest).replace(":", "-")
            if blob.is_file():
                yield LocalFile(blob, "Ollama", name)


def fits_for(target: Header, files: Iterable[LocalFile]) -> list[Candidate]:
    """Hold every file but the target itself against a target: one line each, with a reason."""
    own = {part.resolve() for part in target.parts}
    return [_candidate(target, file) for file in files if file.path.resolve() not in own]


def _candidate(target: Header, file: LocalFile) -> Candidate:
    try:
        draft = read_header(file.path)
        fit = compare(target, draft)
    except LocalspecError as error:
        return Candidate(file, ok=False, reason=error.message)
    if fit.refusal:
        return Candidate(file, ok=False, reason=fit.refusal.detail)
    if draft.weights >= target.weights:
        return Candidate(file, ok=False, reason="it is not smaller than the target")
    return Candidate(file, ok=True, reason=fit.verdict)
