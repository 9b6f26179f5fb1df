"""The pairs that localspec knows by name: the shipped models.toml and the user's own over it.

Knows the schema and the nearest name to a wrong one. Does not know whether a file is here, and
touches no network.
"""

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from localspec.errors import NotHere, OptionError
from localspec.pairs.hub_cache import RemoteFile
from localspec.pairs.split import part_names

Kind = Literal["code", "general", "reasoning", "multilingual", "demo"]
DrafterName = Literal["model", "eagle3", "mtp", "medusa"]
Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Recipe(_Strict):
    """How a file is made on this machine from another one."""

    type: str
    pure: bool = True
    prune_layers: tuple[int, ...] = ()


class Sampling(_Strict):
    """What the makers recommend; None leaves it to the defaults."""

    temp: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None


class ModelFile(_Strict):
    """One model of a pair: on the hub, in an installed package, or anywhere on this disk.

    `unverified` says that a fact here, the size above all, could not be confirmed.
    """

    source: Literal["hub", "package", "path"] = "hub"
    repo: str = ""
    file: str
    revision: str = "main"
    quant: str
    bytes: Annotated[int, Field(gt=0)]
    sha256: Hex64 | None = None
    licence: str
    gated: bool = False
    unverified: bool = False
    package: str = ""
    recipe: Recipe | None = None

    @model_validator(mode="after")
    def _has_its_source(self) -> "ModelFile":
        if self.source == "hub" and self.repo.count("/") != 1:
            raise ValueError("repo must be owner/name")
        if self.source == "package" and not self.package:
            raise ValueError("a package source needs `package`")
        return self

    @property
    def remote(self) -> tuple[RemoteFile, ...]:
        """Give the files to fetch from the hub, all parts of a split one."""
        if self.source != "hub":
            return ()
        return tuple(RemoteFile(self.repo, n, self.revision) for n in part_names(self.file))


class HeadFile(ModelFile):
    """A head that guesses from the target's own states, and the drafter that runs it."""

    drafter: Literal["eagle3", "medusa"]


class Variant(_Strict):
    """The same pair in another layout."""

    target: ModelFile
    draft: ModelFile | None = None


class Pair(_Strict):
    """A target and what guesses for it; without a draft the target carries its own head."""

    name: Name
    kind: Kind
    drafter: DrafterName = "model"
    context: Annotated[int, Field(gt=0)]
    target: ModelFile
    draft: ModelFile | None = None
    sampling: Sampling = Sampling()
    heads: tuple[HeadFile, ...] = ()
    variants: Mapping[str, Variant] = {}
    note: str = ""

    @model_validator(mode="after")
    def _has_a_draft(self) -> "Pair":
        if self.draft is None and self.drafter != "mtp":
            raise ValueError(f"drafter {self.drafter!r} needs a [pair.draft]")
        return self

    @property
    def models(self) -> tuple[ModelFile, ...]:
        """Give target and draft."""
        return (self.target,) if self.draft is None else (self.target, self.draft)

    @property
    def bytes(self) -> int:
        """Give the bytes of all files."""
        return sum(model.bytes for model in self.models)

    @property
    def memory_bytes(self) -> int:
        """Guess the memory from the sizes, for a list; headers tell it exactly."""
        return int(1.1 * self.bytes) + 400_000_000

    @property
    def unverified(self) -> bool:
        """Tell whether a fact of a file could not be confirmed."""
        return any(model.unverified for model in self.models)

    @property
    def remote(self) -> tuple[RemoteFile, ...]:
        """Give all files to fetch from the hub."""
        return tuple(file for model in self.models for file in model.remote)

    def at(self, quant: str) -> "Pair":
        """Give this pair in another layout.

        Raises: NotHere naming the layouts there are.
        """
        names = {name.casefold(): name for name in self.variants}
        names.pop(self.target.quant.casefold(), None)
        if quant.casefold() == self.target.quant.casefold():
            return self
        if quant.casefold() not in names:
            there = ", ".join([self.target.quant, *self.variants])
            raise NotHere(f"{self.name} has no layout {quant}", f"there are {there}")
        variant = self.variants[names[quant.casefold()]]
        changed = {"target": variant.target, "draft": variant.draft or self.draft}
        return self.model_copy(update=changed)


class _File(_Strict):
    pair: tuple[Pair, ...] = ()


class Catalogue:
    """All pairs by name."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.pairs = {pair.name: pair for pair in pairs}

    def get(self, reference: str) -> Pair:
        """Find `NAME` or `NAME@QUANT`.

        Raises: NotHere naming the nearest pair.
        """
        name, at, quant = reference.partition("@")
        if name not in self.pairs:
            near = difflib.get_close_matches(name, self.pairs, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "`localspec models list`"
            raise NotHere(f"no pair {name!r}", hint)
        return self.pairs[name].at(quant) if at else self.pairs[name]

    def fitting(self, free_bytes: int) -> list[Pair]:
        """List the pairs that memory has room for, the largest first."""
        fits = (pair for pair in self.pairs.values() if pair.memory_bytes <= free_bytes)
        return sorted(fits, key=lambda pair: -pair.bytes)

    def propose(self, free_bytes: int) -> Pair | None:
        """Propose one pair for a first run: confirmed, open to all, leaving memory to spare."""
        open_to_all = (
            pair
            for pair in self.fitting(int(0.6 * free_bytes))
            if pair.kind != "demo"
            and not pair.unverified
            and not any(model.gated for model in pair.models)
        )
        return next(open_to_all, None)


def shipped_file() -> Path:
    """Find models.toml: inside the package in a wheel, at the top of a checkout."""
    package = Path(__file__).resolve().parents[1]
    places = (package / "models.toml", package.parent / "models.toml")
    return next((path for path in places if path.is_file()), places[0])


def user_file() -> Path:
    """Give the place of the user's own models.toml."""
    try:
        return user_config_path("localspec") / "models.toml"
    except RuntimeError:  # a user without a home has no pairs
        return Path(os.devnull) / "models.toml"


def load_catalogue(own: Path | None = None) -> Catalogue:
    """Read the shipped pairs and the user's own, which replace those of the same name.

    Raises: OptionError with the file, the place and the nearest right word.
    """
    pairs = read_pairs(shipped_file())
    own = own or user_file()
    return Catalogue([*pairs, *(read_pairs(own) if own.is_file() else ())])


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Read one models file.

    Raises: OptionError with the file, the place and the nearest right word.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return _File.model_validate(data).pair
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OptionError(f"{path.name}: {error}", f"mend {path}") from error
    except ValidationError as error:
        raise OptionError(*_explain(path, data, error)) from error


def _explain(path: Path, data: Mapping[str, Any], error: ValidationError) -> tuple[str, str]:
    # An unknown key explains the missing one beside it, so it is told first.
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    where = [step for step in first["loc"] if step != "pair"]
    names = data.get("pair", [])
    if where and isinstance(where[0], int) and isinstance(names, list):
        where[0] = names[where[0]].get("name", f"pair {where[0] + 1}")
    place = ".".join(str(step) for step in where)
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(first["loc"][-1]), _KEYS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(_KEYS))}"
        return f"{path.name}: unknown key {place}", hint
    return f"{path.name}: {place}: {first['msg'].removeprefix('Value error, ')}", f"mend {path}"


_KEYS = {
    key
    for model in (_File, Pair, ModelFile, HeadFile, Sampling, Recipe, Variant)
    for key in model.model_fields
}
