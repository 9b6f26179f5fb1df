"""Traces for the page's tests: made by the real loop over fakes, with text that bites."""

from dataclasses import dataclass

from localspec.core.draft import Draft, DraftRequest
from localspec.core.events import Finish, FinishReason, Step
from localspec.core.explained import RecordingJudge
from localspec.core.generate import Speculation, generate
from localspec.core.judge import make_judge
from localspec.core.options import GenerateOptions
from localspec.core.policy import BaselineSchedule, FixedPolicy
from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.core.tokens import Tokens
from localspec.report.documents import CostCurve, CostPoint
from localspec.report.trace import Tracer
from localspec.report.trace_document import TraceFacts, trace_document
from localspec.report.trace_documents import TraceDocument
from tests.core.fakes import FakeClock, MarkovDrafter, MarkovSequence, ids, random_markov

HOSTILE = (
    "</script>",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "[red]",
    "{{ 7 * 7 }}",
    "&amp;",
    "👩‍👩‍👧",
    " שלום",
    " مرحبا",
    "\u202eevil",
    "\x00\x1b[31m",
    "\n",
    "\u2028",
    "'\"`",
)
PLAIN = (" the", " river", " runs", " down", " to", " a", " sea", ",", ".")
WORDS = (*HOSTILE, *PLAIN)
SIZE = len(WORDS)


@dataclass(frozen=True)
class Wish:
    """What trace to make."""

    tokens: int = 256
    rule: RuleName = RuleName.TOKEN
    gamma: int = 4
    temperature: float = 1.0
    costs: bool = True
    drafted: bool = True


@dataclass
class TimedDrafter(MarkovDrafter):
    """Take time for every guess."""

    clock: FakeClock | None = None

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draw as the other one does."""
        draft = super().propose(history, request)
        assert self.clock
        self.clock.advance(0.001 * len(draft))
        return draft


def pass_s(rows: int) -> float:
    """Give the seconds of a pass of this world: a staircase, as on real machines."""
    return 0.010 * (1 + 0.15 * (rows - 1) + 0.1 * (rows % 4 == 3))


def piece(token: int, special: bool = False) -> bytes:
    """Give a token's bytes."""
    del special
    return WORDS[token].encode()


def make_trace(wish: Wish = Wish()) -> TraceDocument:
    """Write an answer in a small world and trace it."""
    clock = FakeClock()
    target = MarkovSequence(
        random_markov(SIZE, 11, sharpness=8),
        capacity=wish.tokens + 64,
        on_pass=lambda rows: clock.advance(pass_s(rows)),
    )
    draft = TimedDrafter(random_markov(SIZE, 11, sharpness=5), clock=clock)
    law = SamplingParams(temperature=wish.temperature, top_k=0, top_p=1.0, min_p=0.0)
    options = GenerateOptions(
        max_tokens=wish.tokens, rule=wish.rule, sampling=law, seed=2, usable=SIZE, keep_laws=True
    )
    judge = RecordingJudge(make_judge(wish.rule, 2, 2))
    policy = FixedPolicy(
        wish.gamma, ("model",) if wish.drafted else (), schedule=BaselineSchedule()
    )
    speculation = Speculation(policy, [draft] if wish.drafted else [], clock)
    tally, tracer, rounds = Tally(), Tracer(piece, wish.rule, usable=SIZE), []
    finish = FinishReason.LENGTH
    for event in generate(target, ids(0, 1), options, speculation=speculation, judge=judge):
        tally.add(event)
        if isinstance(event, Step):
            rounds.append(tracer.round(event, judge.draws))
        elif isinstance(event, Finish):
            finish = event.reason
    return trace_document(_facts(wish, tracer.text, finish), tally, rounds)


def _facts(wish: Wish, text: str, finish: FinishReason) -> TraceFacts:
    points = [CostPoint(rows=n, context=64, median_s=pass_s(n), iqr_s=0.0) for n in range(1, 17)]
    return TraceFacts(
        pair="<b>pair</b>",
        drafter="model",
        rule=wish.rule.value,
        prompt="Say </script> and [red] and שלום.",
        text=text,
        finish=finish,
        load_s=0.1,
        options={"temp": wish.temperature, "seed": 2},
        costs=CostCurve(target=points, draft=[], cost_ratio=0.1) if wish.costs else None,
    )
