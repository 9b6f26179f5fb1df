"""The files of the catalogue's pairs on this disk: which are here, which may go, which are whole.

Knows the hub cache's layout. Deletes only what no other pair uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localspec.errors import HubError
from localspec.pairs.catalogue import Catalogue, ModelFile, Pair
from localspec.pairs.hub import DownloadPlan, FilePlan, Hub, plan_download, verify
from localspec.pairs.hub_cache import (
    PART_SUFFIX,
    RemoteFile,
    cache_folder,
    find_cached,
    repo_folder,
)
from localspec.pairs.resolve import find_model


@dataclass(frozen=True, slots=True)
class PairState:
    """A pair and its files: the paths of those that are here, in the order of `pair.models`."""

    pair: Pair
    paths: tuple[Path | None, ...]

    @property
    def here(self) -> bool:
        """Tell whether nothing is missing."""
        return all(self.paths)


@dataclass(frozen=True, slots=True)
class Removal:
    """What removing a pair deletes, and what stays because another pair uses it."""

    files: tuple[RemoteFile, ...]
    kept: tuple[tuple[RemoteFile, str], ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Check:
    """One file held against what the hub publishes."""

    file: RemoteFile
    ok: bool
    detail: str


def states(catalogue: Catalogue, cache: Path | None = None) -> list[PairState]:
    """Say for each pair which of its files are here."""
    return [
        PairState(pair, tuple(find_model(model, cache) for model in pair.models))
        for pair in catalogue.pairs.values()
    ]


def plan_pull(pair: Pair, hub: Hub) -> DownloadPlan:
    """Plan the download of a pair, held against the hashes of the catalogue.

    Raises: HubError when the hub publishes another file than the catalogue knows.
    """
    plan = plan_download(pair.remote, hub)
    known = {file: model for model in pair.models for file in model.remote}
    for item in plan.files:
        wrong = _contradiction(known[item.file], item)
        if wrong:
            raise HubError(
                f"{item.file} {wrong}", "the file was replaced: name it with `--target` to take it"
            )
    return plan


def _contradiction(model: ModelFile, plan: FilePlan) -> str:
    if model.sha256 and len(model.remote) == 1 and model.sha256 != plan.digest:
        return "is not the file the catalogue knows: its hash differs"
    return ""


def plan_removal(pair: Pair, catalogue: Catalogue, cache: Path | None = None) -> Removal:
    """Say what removing a pair would delete."""
    used = {
        file: other.name
        for other in catalogue.pairs.values()
        if other.name != pair.name and _any_here(other, cache)
        for file in _all_remote(other)
    }
    here = [file for file in _all_remote(pair) if find_cached(file, cache)]
    files = tuple(file for file in here if file not in used)
    kept = tuple((file, used[file]) for file in here if file in used)
    paths = [find_cached(file, cache) for file in files]
    return Removal(files, kept, sum(path.stat().st_size for path in paths if path))


def _all_remote(pair: Pair) -> list[RemoteFile]:
    pairs = [pair, *(pair.at(quant) for quant in pair.variants)]
    return list(dict.fromkeys(file for one in pairs for file in one.remote))


def _any_here(pair: Pair, cache: Path | None) -> bool:
    """Tell whether a pair's target is here in any layout: then its draft is in use."""
    pairs = [pair, *(pair.at(quant) for quant in pair.variants)]
    return any(find_model(one.target, cache) for one in pairs)


def remove(removal: Removal, cache: Path | None = None) -> None:
    """Delete the files of a removal: the links, and the blobs nothing else links to."""
    for file in removal.files:
        path = find_cached(file, cache)
        if path is None:
            continue
        blob = path.resolve()
        path.unlink()
        folder = repo_folder(file.repo, cache or cache_folder())
        if blob != path and not _linked(folder, blob):
            blob.unlink(missing_ok=True)
            blob.with_name(blob.name + PART_SUFFIX).unlink(missing_ok=True)


def _linked(folder: Path, blob: Path) -> bool:
    snapshots = folder.glob("snapshots/*/**/*")
    return any(path.is_symlink() and path.resolve() == blob for path in snapshots)


def verify_pair(pair: Pair, hub: Hub) -> list[Check]:
    """Hold a pair's catalogue entries, and its files on this disk, against the hub.

    Raises: HubError when the hub cannot be asked.
    """
    models = {file: model for model in pair.models for file in model.remote}
    plans: Sequence[FilePlan] = plan_download(pair.remote, hub).files
    return [_check(plan, models[plan.file], hub) for plan in plans]


def _check(plan: FilePlan, model: ModelFile, hub: Hub) -> Check:
    wrong = _contradiction(model, plan)
    if wrong:
        return Check(plan.file, ok=False, detail=wrong)
    note = ""
    if len(model.remote) == 1 and model.bytes != plan.size:
        note = f"; the catalogue says {model.bytes} bytes, it has {plan.size}"
    path = find_cached(plan.file, hub.folder)
    if path is None:
        return Check(plan.file, ok=not note, detail=f"published, not here{note}")
    if verify(path, plan):
        return Check(plan.file, ok=True, detail=f"whole{note}")
    hint = "damaged: `localspec models rm`, then `pull`"
    return Check(plan.file, ok=False, detail=hint + note)
