"""The shape of the JSON documents about pairs, settings and this installation.

Knows names and types. Does not know where the values come from.
"""

from typing import Literal

from pydantic import Field

from localspec.report.documents import ModelsPair, OptionValue, Shape


class ModelsLayout(Shape):
    """A layout made on this machine; what its record does not tell is null."""

    file: str
    bytes: int
    recipe: str | None
    made_from: str | None
    made_from_digest: str | None
    sha256: str | None
    engine: str | None


class ModelsDocument(Shape):
    """The catalogue, and the layouts made here."""

    schema_: Literal["localspec/models/1"] = Field(
        default="localspec/models/1", validation_alias="schema", serialization_alias="schema"
    )
    pairs: list[ModelsPair]
    layouts: list[ModelsLayout] = Field(default_factory=list)


class DraftCandidate(Shape):
    """A file on this disk held against a target."""

    path: str
    tool: str
    name: str
    fits: bool
    reason: str


class DraftsDocument(Shape):
    """Which files on this disk could draft for a target."""

    schema_: Literal["localspec/drafts/1"] = Field(
        default="localspec/drafts/1", validation_alias="schema", serialization_alias="schema"
    )
    target: str
    drafts: list[DraftCandidate]


class ModelFacts(Shape):
    """One model of a pair; `path` is null when it is not here.

    `rollback` says what its cache keeps so that guesses can be taken back; null where it just
    removes them, or where the file is not here.
    """

    role: Literal["target", "draft"]
    source: str
    file: str
    quant: str
    bytes: int
    licence: str
    gated: bool
    unverified: bool
    path: str | None
    rollback: str | None = None


class PairDocument(Shape):
    """Everything known about one pair."""

    schema_: Literal["localspec/pair/1"] = Field(
        default="localspec/pair/1", validation_alias="schema", serialization_alias="schema"
    )
    pair: ModelsPair
    kind: str
    drafter: str
    context: int
    sampling: dict[str, OptionValue]
    variants: list[str]
    note: str
    models: list[ModelFacts]


class PulledFile(Shape):
    """One file of a download; `path` is null in a dry run."""

    file: str
    bytes: int
    here: int
    path: str | None


class PullDocument(Shape):
    """A download, done or only planned."""

    schema_: Literal["localspec/pull/1"] = Field(
        default="localspec/pull/1", validation_alias="schema", serialization_alias="schema"
    )
    name: str
    dry_run: bool
    bytes_total: int
    bytes_to_fetch: int
    disk_free_bytes: int
    files: list[PulledFile]


class VerifiedFile(Shape):
    """One file held against what the hub publishes, or against the catalogue alone."""

    pair: str
    file: str
    ok: bool
    detail: str


class VerifyDocument(Shape):
    """The files of one pair or of all."""

    schema_: Literal["localspec/verify/1"] = Field(
        default="localspec/verify/1", validation_alias="schema", serialization_alias="schema"
    )
    files: list[VerifiedFile]


class SettingValue(Shape):
    """One setting: its value, and who gave it."""

    name: str
    value: OptionValue
    origin: Literal["flag", "environment", "file", "pair", "default"]
    variable: str


class ConfigDocument(Shape):
    """Every setting with its origin, and the folders in use."""

    schema_: Literal["localspec/config/1"] = Field(
        default="localspec/config/1", validation_alias="schema", serialization_alias="schema"
    )
    settings: list[SettingValue]
    places: dict[str, str]


class DoctorFinding(Shape):
    """One thing looked at; `fix` says what to do where something is to be done."""

    id: str
    level: Literal["ok", "note", "warning", "error"]
    detail: str
    fix: str


class DoctorDocument(Shape):
    """The state of an installation."""

    schema_: Literal["localspec/doctor/1"] = Field(
        default="localspec/doctor/1", validation_alias="schema", serialization_alias="schema"
    )
    version: str
    findings: list[DoctorFinding]


PAIR_DOCUMENTS = (
    ModelsDocument,
    DraftsDocument,
    PairDocument,
    PullDocument,
    VerifyDocument,
    ConfigDocument,
    DoctorDocument,
)
