"""The shape of a trace: one answer, every round, with the laws that were compared.

Knows names and types. Does not know where the numbers come from.
"""

from typing import Literal

from pydantic import Field

from localspec.report.documents import (
    BaselineInfo,
    CostCurve,
    Counts,
    Finish,
    OptionValue,
    Shape,
    Timing,
)

WayName = Literal["token", "block", "points", "coupled", "plain"]


class TraceGuess(Shape):
    """One drafted token; what was not looked at has no p, no chance and no draw."""

    id: int
    text: str
    p: float | None
    q: float
    chance: float | None
    draw: float | None
    judged: bool
    accepted: bool


class TraceWritten(Shape):
    """The token that the target added; `chance` is its probability in the law it was drawn from."""

    id: int
    text: str
    p: float
    chance: float
    draw: float | None


class TraceLaw(Shape):
    """The likeliest tokens where one token was written, the others summed up.

    `q` is null where nothing was guessed. `rest_both`: the mass of min(p, q) among the others.
    """

    ids: list[int]
    texts: list[str]
    p: list[float]
    q: list[float] | None
    rest_p: float
    rest_q: float | None
    rest_both: float | None


class TraceRound(Shape):
    """One target pass; `replacement` or `bonus` is the target's own token.

    Both are null when an end of text came before it. `way`: how the guesses were judged.
    """

    position: int
    drafter: str
    way: WayName
    baseline: bool
    drafted: list[TraceGuess]
    replacement: TraceWritten | None
    bonus: TraceWritten | None
    token_ids: list[int]
    texts: list[str]
    laws: list[TraceLaw]
    draft_s: float
    verify_s: float
    other_s: float

    @property
    def accepted(self) -> int:
        """Count the guesses that stand."""
        return sum(guess.accepted for guess in self.drafted)

    @property
    def judged(self) -> int:
        """Count the guesses looked at, up to and including the first that fell."""
        return min(self.accepted + 1, len(self.drafted))

    @property
    def seconds(self) -> float:
        """Give the whole time of the round."""
        return self.draft_s + self.verify_s + self.other_s


class TraceDocument(Shape):
    """One answer, round by round; `costs` is null when no pass was measured apart from it."""

    schema_: Literal["localspec/trace/1"] = Field(
        default="localspec/trace/1", validation_alias="schema", serialization_alias="schema"
    )
    pair: str
    drafter: str
    rule: Literal["block", "token", "coupled"]
    options: dict[str, OptionValue]
    prompt: str
    text: str
    finish: Finish
    counts: Counts
    acceptance_rate: float | None
    tokens_per_pass: float | None
    tokens_per_s: float | None
    timing: Timing
    baseline: BaselineInfo | None
    costs: CostCurve | None
    rounds: list[TraceRound]
    notes: list[str]
