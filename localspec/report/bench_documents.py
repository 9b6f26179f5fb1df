"""The shape of a bench as a document; names here are stable.

Knows names and types. Does not know how anything was measured.
"""

from typing import Literal

from pydantic import Field

from localspec.report.documents import CostCurve, Interval, OptionValue, Shape, VerdictInfo


class MachineInfo(Shape):
    """The machine: what must agree before two documents are compared."""

    system: str
    processor: str
    cores: int
    allowed: int
    memory_gib: int
    flags: str
    engine: str


class FileInfo(Shape):
    """A model file; `digest` covers its size, its first and its last MiB."""

    role: Literal["target", "draft"]
    name: str
    bytes: int
    digest: str


class PairInfo(Shape):
    """What was measured."""

    name: str
    files: list[FileInfo]


class FirstDifference(Shape):
    """The first place where a text is not the plain one; `gap` between the top two logits."""

    prompt: int
    position: int
    gap: float | None


class Identical(Shape):
    """How many texts equal the plain ones."""

    same: int
    of: int
    first_differences: list[FirstDifference]


class TimeSplit(Shape):
    """Shares of the time of an arm's rounds."""

    draft: float
    verify: float
    other: float


class PlainInfo(Shape):
    """Plain decoding."""

    tokens_per_s: float | None


class ArmInfo(Shape):
    """One arm in one kind of text. `gamma` null: chosen by the policy."""

    drafter: str
    gamma: int | None
    temp: float
    tokens_per_s: float | None
    speedup: Interval | None
    word: str
    predicted_speedup: float | None
    acceptance_rate: float | None
    acceptance_by_position: list[float]
    tokens_per_pass: float | None
    break_even_acceptance: float | None
    time: TimeSplit | None
    identical: Identical | None


class KindInfo(Shape):
    """One kind of text at one temperature."""

    kind: str
    temp: float
    prompts: int
    plain: PlainInfo
    arms: list[ArmInfo]
    verdict: VerdictInfo
    word: str
    helps: list[str]
    loops: int
    affected: float


class ExpectedPoint(Shape):
    """What replay expects of a gamma before it is run."""

    drafter: str
    gamma: int
    tokens_per_pass: float
    speedup: Interval


class SampleInfo(Shape):
    """One answer, raw. `others`: other programs' share of the processors; `kept`: it counts.

    `streams`: answers written at the same time; seconds are then the share of this one.
    """

    run: int
    kind: str
    prompt: int
    drafter: str
    gamma: int | None
    temp: float
    seed: int
    tokens: int
    passes: int
    drafted: int
    judged: int
    accepted: int
    prefill_s: float
    draft_s: float
    verify_s: float
    other_s: float
    finish: str
    loop_tokens: int
    others: float | None
    attempts: int
    affected: str
    kept: bool
    streams: int


class StreamInfo(Shape):
    """One arm with so many sequences decoded together; tokens per second of all of them."""

    streams: int
    drafter: str
    gamma: int | None
    prompts: int
    plain_tokens_per_s: float
    tokens_per_s: float
    speedup: Interval
    word: str
    acceptance_rate: float | None
    tokens_per_pass: float | None
    identical: Identical | None


class BenchDocument(Shape):
    """A bench; `complete` is false after an interruption or when the time was up."""

    schema_: Literal["localspec/bench/1"] = Field(
        default="localspec/bench/1", validation_alias="schema", serialization_alias="schema"
    )
    machine: MachineInfo
    pair: PairInfo
    options: dict[str, OptionValue]
    costs: CostCurve | None
    kinds: list[KindInfo]
    overall: list[KindInfo]
    expected: list[ExpectedPoint]
    streams: list[StreamInfo]
    streams_verdict: str
    verdict: VerdictInfo
    warnings: list[str]
    samples: list[SampleInfo]
    probes_s: list[float]
    complete: bool
    stopped: str
    measured_at: str
