"""One traced answer: asked, written with every draw remembered, and put together.

Knows a loaded pair. Does not know how a trace is shown.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from localspec.chat.conversation import Conversation, PromptBuilder
from localspec.cli.effective import effective_options
from localspec.cli.notes import Notes
from localspec.core.events import Event, Finish, FinishReason, Notice, Step
from localspec.core.explained import RecordingJudge
from localspec.core.judge import make_judge
from localspec.core.tally import Tally
from localspec.core.theory import MAX_GAMMA
from localspec.core.tokens import Tokens
from localspec.errors import LocalspecError
from localspec.measure.costs import Survey, measure_passes
from localspec.report.documents import CostCurve, CostPoint
from localspec.report.trace import Tracer
from localspec.report.trace_document import TraceFacts, trace_document
from localspec.report.trace_documents import TraceDocument, TraceRound

if TYPE_CHECKING:
    from localspec.runtime.pair import Runtime

COST_CONTEXT = 64
MOST_ROWS = MAX_GAMMA + 1

ShowRound = Callable[[TraceRound, int], bool]
"""Show a round and its number; False ends the answer."""


@dataclass(frozen=True)
class Ask:
    """What is asked, and how much of each law is kept."""

    text: str
    system: str
    top: int
    notes: Notes


@dataclass(frozen=True)
class Traced:
    """An answer as it was written."""

    prompt: Tokens
    tally: Tally
    tracer: Tracer
    rounds: list[TraceRound]
    finish: FinishReason
    costs: CostCurve | None = None

    def document(self, runtime: "Runtime", ask: Ask) -> TraceDocument:
        """Put it into its document."""
        facts = runtime.describe()
        return trace_document(
            TraceFacts(
                pair=facts.name,
                drafter=facts.drafter,
                rule=runtime.settings.rule.value,
                prompt=ask.text,
                text=self.tracer.text,
                finish=self.finish,
                load_s=runtime.loaded.load_s,
                options=effective_options(runtime, system=ask.system),
                costs=self.costs,
                notes=ask.notes.said,
            ),
            self.tally,
            self.rounds,
        )


@dataclass
class _Writing:
    """The parts of an answer being traced."""

    tracer: Tracer
    judge: RecordingJudge
    show: ShowRound
    notes: Notes
    tally: Tally
    rounds: list[TraceRound] = field(default_factory=list)
    finish: FinishReason | None = None

    def take(self, event: Event) -> None:
        """Fold one event in; laws are let go of as soon as they are described."""
        self.tally.add(event)
        if isinstance(event, Step):
            self.rounds.append(self.tracer.round(event, self.judge.draws))
            self.tally.steps.clear()
            if not self.show(self.rounds[-1], len(self.rounds)):
                self.finish = FinishReason.INTERRUPTED
        elif isinstance(event, Notice):
            self.notes.say(event.text)
        elif isinstance(event, Finish):
            self.finish = event.reason


def trace_answer(runtime: "Runtime", ask: Ask, show: ShowRound) -> Traced:
    """Write one answer and describe every round as it comes.

    Raises: LocalspecError, but not when the user stopped the answer.
    """
    vocabulary, settings = runtime.vocabulary, runtime.settings
    conversation = Conversation(ask.system)
    conversation.ask(ask.text)
    builder = PromptBuilder(vocabulary, runtime.template, runtime.capacity)
    prompt, _ = builder.fit(conversation, settings.max_tokens)
    judge = RecordingJudge(make_judge(settings.rule, runtime.seed, len(prompt)))
    tracer = Tracer(vocabulary.piece, settings.rule, vocabulary.eog, vocabulary.size, ask.top)
    tally = Tally(baseline=runtime.baseline)
    writing = _Writing(tracer, judge, show, ask.notes, tally)
    try:
        for event in runtime.generate(prompt, judge=judge):
            writing.take(event)
            if writing.finish is not None or runtime.cancel.is_set():
                break
    except LocalspecError:
        if not runtime.cancel.is_set():
            raise
    finish = writing.finish or FinishReason.INTERRUPTED
    return Traced(prompt, tally, tracer, writing.rounds, finish)


def measured_costs(runtime: "Runtime", traced: Traced, repeats: int) -> CostCurve | None:
    """Time passes of 1 to 16 rows over the answer's own text; None where there is no room.

    The draft's cost comes from the answer itself.
    """
    target = runtime.loaded.target
    rows = tuple(range(1, min(MOST_ROWS, target.max_rows) + 1))
    text = np.concatenate([traced.prompt, np.array(traced.tally.tokens, np.int32)])
    if len(text) <= len(rows) + 1 or target.capacity <= len(rows) + 1:
        return None
    survey = Survey(text, rows=rows, contexts=(COST_CONTEXT,), repeats=repeats)
    points = measure_passes(target, survey.fitted(target.capacity), clock=perf_counter)
    one = next(point.median_s for point in points if point.rows == 1)
    drafted = traced.tally.drafted
    return CostCurve(
        target=[
            CostPoint(rows=p.rows, context=p.context, median_s=p.median_s, iqr_s=p.iqr_s)
            for p in points
        ],
        draft=[],
        cost_ratio=traced.tally.draft_s / drafted / one if drafted and one else None,
    )
