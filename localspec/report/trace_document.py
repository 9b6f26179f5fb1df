"""A whole trace as the document `localspec/trace/1`.

Knows rounds, the tally and the measured passes. Does not know how they came about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from localspec.core.events import FinishReason
from localspec.core.tally import Tally
from localspec.report import answer
from localspec.report.documents import CostCurve, OptionValue
from localspec.report.trace_documents import TraceDocument, TraceRound


@dataclass(frozen=True)
class TraceFacts:
    """What is to be said of a traced answer besides its rounds and its tally."""

    pair: str
    drafter: str
    rule: str
    prompt: str
    text: str
    finish: FinishReason
    load_s: float
    options: Mapping[str, OptionValue]
    costs: CostCurve | None = None
    notes: Sequence[str] = field(default=())


def trace_document(facts: TraceFacts, tally: Tally, rounds: Sequence[TraceRound]) -> TraceDocument:
    """Put a traced answer into its document."""
    told = answer.chat_document(
        answer.AnswerFacts(
            facts.pair, facts.drafter, facts.text, facts.finish, facts.load_s, facts.options
        ),
        tally,
    )
    return TraceDocument(
        pair=facts.pair,
        drafter=facts.drafter,
        rule=cast("Literal['block', 'token', 'coupled']", facts.rule),
        options=told.options,
        prompt=facts.prompt,
        text=facts.text,
        finish=told.finish,
        counts=told.counts,
        acceptance_rate=told.acceptance_rate,
        tokens_per_pass=told.tokens_per_pass,
        tokens_per_s=told.tokens_per_s,
        timing=told.timing,
        baseline=told.baseline,
        costs=facts.costs,
        rounds=list(rounds),
        notes=list(facts.notes),
    )
