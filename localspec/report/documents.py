"""The shape of every JSON document, `schema` first; names here are stable.

Knows names and types. Does not know where the numbers come from.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

OptionValue = str | int | float | bool | None | list[str] | dict[str, float]
Finish = Literal["stop", "length", "context", "interrupted"]
Origin = Literal["target", "draft"]


class Shape(BaseModel):
    """Settings of every document: nothing unknown, nothing changed, no nan."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        populate_by_name=True,
        json_schema_serialization_defaults_required=True,
    )


class Counts(Shape):
    """Counters of one answer: emitted + cut = accepted + target_passes."""

    prompt: int
    emitted: int
    target_passes: int
    drafted: int
    judged: int
    accepted: int
    cut: int


class Timing(Shape):
    """Seconds of one answer; decode_s = draft_s + verify_s + other_s."""

    load_s: float
    prefill_s: float
    decode_s: float
    draft_s: float
    verify_s: float
    other_s: float


class BaselineInfo(Shape):
    """Plain decoding as measured in this session; `age_tokens` since the last sample."""

    tokens_per_s: float
    how: str
    samples: int
    age_tokens: int | None


class Interval(Shape):
    """A value with the ends of its 95 % interval, which may not be known."""

    value: float
    low: float | None = None
    high: float | None = None


class AccountInfo(Shape):
    """One drafter's own account: of the rounds in which its guess was judged.

    `saved_s`: its tokens at the plain speed, less the seconds of its rounds; null without a
    baseline. `share_of_saving`: its part of all that was saved; null where nothing was.
    `draft_temperature`: s of its last draft, drawn from q^(1/s).
    """

    drafter: str
    rounds: int
    drafted: int
    judged: int
    accepted: int
    emitted: int
    acceptance_rate: float | None
    draft_s: float
    seconds: float
    saved_s: float | None
    share_of_saving: float | None
    draft_temperature: float


class ChatDocument(Shape):
    """One answer."""

    schema_: Literal["localspec/chat/1"] = Field(
        default="localspec/chat/1", validation_alias="schema", serialization_alias="schema"
    )
    pair: str
    drafter: str
    options: dict[str, OptionValue]
    text: str
    token_ids: list[int]
    origins: list[Origin]
    finish: Finish
    counts: Counts
    acceptance_rate: float | None
    acceptance_by_position: list[float]
    tokens_per_pass: float | None
    timing: Timing
    tokens_per_s: float | None
    baseline: BaselineInfo | None
    speedup: Interval | None
    accounts: list[AccountInfo] = []
    notes: list[str] = []


class EventDocument(Shape):
    """One target pass."""

    schema_: Literal["localspec/event/1"] = Field(
        default="localspec/event/1", validation_alias="schema", serialization_alias="schema"
    )
    index: int
    position: int
    token_ids: list[int]
    origins: list[Origin]
    texts: list[str]
    drafter: str
    draft_temperature: float = 1.0
    drafted: int
    judged: int
    accepted: int
    cut: int
    baseline: bool
    draft_s: float
    verify_s: float
    other_s: float


class PredictPoint(Shape):
    """What a fixed gamma is expected to give; gamma 0 is plain decoding."""

    gamma: int
    tokens_per_pass: float
    speedup: float


class PredictBest(Shape):
    """The fastest gamma."""

    gamma: int
    speedup: float


class PredictDocument(Shape):
    """The papers' formulas; `break_even_alpha` is null when even alpha 1 does not pay."""

    schema_: Literal["localspec/predict/1"] = Field(
        default="localspec/predict/1", validation_alias="schema", serialization_alias="schema"
    )
    alpha: float
    cost_ratio: float
    verify_cost: list[float]
    curve: list[PredictPoint]
    best: PredictBest
    break_even_alpha: float | None


class ModelsPair(Shape):
    """One pair of the catalogue on this machine; what is not known is null."""

    name: str
    target: str
    draft: str | None
    bytes: int | None
    memory_bytes: int | None
    here: bool
    fits: bool | None
    licence: str | None
    gated: bool | None
    speedup_here: float | None = None


class CheckFinding(Shape):
    """One thing looked at."""

    id: str
    ok: bool
    detail: str


class CostPoint(Shape):
    """Seconds of a pass over so many rows, after so many tokens of context."""

    rows: int
    context: int
    median_s: float
    iqr_s: float


class CostCurve(Shape):
    """Measured costs of target and draft."""

    target: list[CostPoint]
    draft: list[CostPoint]
    cost_ratio: float | None


class PredictedPoint(Shape):
    """The speed-up expected at a gamma, with its interval."""

    gamma: int
    speedup: float
    low: float
    high: float


class VerdictInfo(Shape):
    """What to do: the drafter to use, or null for none."""

    use: str | None
    gamma: int | None
    speedup: float | None
    reason: str


class CheckKind(Shape):
    """The best gamma that replay expects for one kind of text."""

    kind: str
    gamma: int
    speedup: float
    low: float
    high: float


class CheckCandidate(Shape):
    """One drafter that was looked at; the best comes first. What was not measured is null."""

    drafter: str
    file: str | None
    bytes: int | None
    memory_bytes: int | None
    cost_ratio: float | None
    acceptance_rate: float | None
    predicted: list[PredictedPoint]
    kinds: list[CheckKind]
    word: str
    reason: str


class CheckDocument(Shape):
    """Whether a draft fits a target, a machine and a text; `costs` is null when not measured."""

    schema_: Literal["localspec/check/1"] = Field(
        default="localspec/check/1", validation_alias="schema", serialization_alias="schema"
    )
    findings: list[CheckFinding]
    costs: CostCurve | None
    predicted: list[PredictedPoint]
    verdict: VerdictInfo
    candidates: list[CheckCandidate] = []


class ErrorDocument(Shape):
    """A failure."""

    schema_: Literal["localspec/error/1"] = Field(
        default="localspec/error/1", validation_alias="schema", serialization_alias="schema"
    )
    error: str
    hint: str
    exit_code: int


DOCUMENTS: tuple[type[BaseModel], ...] = (
    ChatDocument,
    EventDocument,
    PredictDocument,
    CheckDocument,
    ErrorDocument,
)
