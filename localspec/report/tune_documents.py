"""The shape of a tune's document; names here are stable.

Knows names and types. Does not know where the numbers come from.
"""

from typing import Literal

from pydantic import Field

from localspec.report.bench_documents import MachineInfo
from localspec.report.documents import Interval, OptionValue, Shape


class TuneGiven(Shape):
    """The files as they were given, decoding plain."""

    target: str
    draft: str | None
    tokens_per_s: float | None


class TuneQuality(Shape):
    """A new target against the given one, on the text. Units: nats a token, shares."""

    tokens: int
    kl_mean: float
    kl_mean_low: float
    kl_mean_high: float
    kl_p99: float
    kl_p99_low: float
    kl_p99_high: float
    top1_agreement: float
    top1_agreement_low: float
    top1_agreement_high: float
    perplexity_ratio: float
    perplexity_ratio_low: float
    perplexity_ratio_high: float


class TuneLayout(Shape):
    """A file: as it is, or made from it. `made_from` is null for a file as it is."""

    name: str
    file: str | None
    made_from: str | None
    bytes: int


class TuneCandidate(Shape):
    """An arrangement. Speeds are over the given files' plain one; not measured is null."""

    target_layout: TuneLayout
    draft_layout: TuneLayout | None
    drafter: str
    gamma: int | None
    predicted: Interval
    measured: Interval | None
    tokens_per_s: float | None
    word: str | None
    quality: TuneQuality | None
    beyond_max_kl: bool


class TuneBest(Shape):
    """What to use; the choice that `--tuned` runs."""

    target_layout: TuneLayout
    draft_layout: TuneLayout | None
    drafter: str
    gamma: int | None
    tokens_per_s: float | None
    speedup_over_given_plain: Interval
    quality: TuneQuality | None


class TuneLeftOut(Shape):
    """A drafter that was not tried."""

    drafter: str
    reason: str


class TuneDocument(Shape):
    """The fastest arrangement of files here; `best` is null when none surely pays."""

    schema_: Literal["localspec/tune/1"] = Field(
        default="localspec/tune/1", validation_alias="schema", serialization_alias="schema"
    )
    pair: str
    machine: MachineInfo
    options: dict[str, OptionValue]
    given: TuneGiven
    candidates: list[TuneCandidate]
    best: TuneBest | None
    verdict: str
    saved: str | None
    drafters: list[str]
    left_out: list[TuneLeftOut]
    notes: list[str]
    warnings: list[str]
    complete: bool
    stopped: str
