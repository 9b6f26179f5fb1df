"""One answer as a document, and one target pass as a line.

Knows tallies and steps. Does not know how they came about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from localspec.core.events import FinishReason, Step
from localspec.core.tally import Tally, acceptance_by_position, by_drafter, shares_of_saving
from localspec.report.documents import (
    AccountInfo,
    BaselineInfo,
    ChatDocument,
    Counts,
    EventDocument,
    Interval,
    OptionValue,
    Origin,
    Timing,
)

HOW = "median of plain passes taken during the answers"


@dataclass(frozen=True)
class AnswerFacts:
    """What is to be said of an answer besides its tally."""

    pair: str
    drafter: str
    text: str
    finish: FinishReason
    load_s: float
    options: Mapping[str, OptionValue]
    notes: Sequence[str] = field(default=())


def chat_document(facts: AnswerFacts, tally: Tally) -> ChatDocument:
    """Put an answer into the document `localspec/chat/1`."""
    return ChatDocument(
        pair=facts.pair,
        drafter=facts.drafter,
        options=dict(facts.options),
        text=facts.text,
        token_ids=list(tally.tokens),
        origins=_origins(tally.origins),
        finish=facts.finish.value,
        counts=_counts(tally),
        acceptance_rate=tally.acceptance_rate,
        acceptance_by_position=acceptance_by_position(tally.steps),
        tokens_per_pass=tally.tokens_per_pass,
        timing=_timing(tally, facts.load_s),
        tokens_per_s=tally.tokens_per_s,
        baseline=_baseline(tally),
        speedup=_speedup(tally),
        accounts=_accounts(tally),
        notes=list(facts.notes),
    )


def event_document(step: Step, *, index: int, texts: Sequence[str]) -> EventDocument:
    """Put one target pass into the document `localspec/event/1`."""
    return EventDocument(
        index=index,
        position=step.position,
        token_ids=list(step.tokens),
        origins=_origins(step.origins),
        texts=list(texts),
        drafter=step.drafter,
        draft_temperature=step.draft_temperature,
        drafted=step.drafted,
        judged=step.judged,
        accepted=step.accepted,
        cut=step.cut,
        baseline=step.baseline,
        draft_s=step.draft_s,
        verify_s=step.verify_s,
        other_s=step.other_s,
    )


def _origins(origins: Sequence[str]) -> list[Origin]:
    return [cast("Origin", str(origin)) for origin in origins]


def _counts(tally: Tally) -> Counts:
    return Counts(
        prompt=tally.prompt,
        emitted=tally.emitted,
        target_passes=tally.passes,
        drafted=tally.drafted,
        judged=tally.judged,
        accepted=tally.accepted,
        cut=tally.cut,
    )


def _accounts(tally: Tally) -> list[AccountInfo]:
    """Say for each drafter what it did and what part of the saving is its own."""
    shares = shares_of_saving(tally)
    plain_s = tally.baseline.seconds
    return [
        AccountInfo(
            drafter=name,
            rounds=it.rounds,
            drafted=it.drafted,
            judged=it.judged,
            accepted=it.accepted,
            emitted=it.emitted,
            acceptance_rate=it.acceptance_rate,
            draft_s=it.draft_s,
            seconds=it.seconds,
            saved_s=it.saved_s(plain_s),
            share_of_saving=shares.get(name),
            draft_temperature=it.temperature,
        )
        for name, it in sorted(by_drafter(tally.steps).items())
    ]


def _timing(tally: Tally, load_s: float) -> Timing:
    return Timing(
        load_s=load_s,
        prefill_s=tally.prefill_s,
        decode_s=tally.decode_s,
        draft_s=tally.draft_s,
        verify_s=tally.verify_s,
        other_s=tally.other_s,
    )


def _baseline(tally: Tally) -> BaselineInfo | None:
    speed = tally.baseline_tps
    if speed is None:
        return None
    return BaselineInfo(
        tokens_per_s=speed,
        how=HOW,
        samples=len(tally.baseline.samples),
        age_tokens=tally.baseline.age,
    )


def _speedup(tally: Tally) -> Interval | None:
    value, estimate = tally.speedup, tally.speedup_estimate()
    if value is None:
        return None
    if estimate is None:
        return Interval(value=value)
    return Interval(value=estimate.value, low=estimate.low, high=estimate.high)
