"""Screen drafts for a loaded target: costs and replay of plain answers, nothing speculative.

Knows a runtime with the target alone, and draft files. Does not know headers or memory; those are
looked at before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from localspec.core.sampling import Sampler
from localspec.drafters.model import ModelDrafter
from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.engine.shape import Rollback
from localspec.measure.arms import Kind
from localspec.measure.costs import Costs, Survey, measure_draft
from localspec.measure.heads import heads_at_hand
from localspec.measure.live import LiveRunner
from localspec.measure.predict import Predicted, best_point
from localspec.measure.screen import (
    Screened,
    Stored,
    plain_answers,
    screen_heads,
    screen_lookup,
    screen_model,
)
from localspec.measure.survey import FRESH_S, real_text, survey, survey_of
from localspec.measure.verdict import Quiet, Word, judge
from localspec.runtime.heads import head_for
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import HEADS, LOOKUP, MODEL

REPEATS = 5
ANSWERS_EACH = 2
ANSWER_TOKENS = 48


@dataclass(frozen=True)
class Candidate:
    """A drafter and what is expected of it; `path` None for one without a file."""

    drafter: str
    path: Path | None
    screened: Screened
    cost_ratio: float | None
    word: Word
    reason: str

    @property
    def best(self) -> Predicted:
        """Give the fastest gamma."""
        return self.screened.best


@dataclass(frozen=True)
class Checked:
    """Everything a check found, the best candidate first."""

    costs: Costs
    candidates: tuple[Candidate, ...]
    age_s: float = 0.0
    loops: int = 0

    @property
    def best(self) -> Candidate | None:
        """Give the best candidate that pays."""
        return next((each for each in self.candidates if each.word is Word.PAYS), None)


@dataclass(frozen=True)
class Bench:
    """What every candidate is held against: a target's costs and its plain answers."""

    runtime: Runtime
    costs: Costs
    stored: Stored
    plan: Survey
    temperature: float
    age_s: float = 0.0


def ready(
    runtime: Runtime,
    kinds: Sequence[Kind],
    *,
    temperature: float,
    notify: Callable[[str], None],
) -> Bench:
    """Time the target's passes (or take a young curve) and write the answers to replay."""
    notify("measuring what passes cost …")
    found = survey(runtime, repeats=REPEATS, reuse_s=FRESH_S, notify=notify)
    notify("writing plain answers to replay …")
    tokens = min(runtime.settings.max_tokens or ANSWER_TOKENS, ANSWER_TOKENS)
    runner = LiveRunner(runtime, real_text(runtime), tokens)
    stored = plain_answers(
        runner, kinds, each=ANSWERS_EACH, temperature=temperature, seed=runtime.seed
    )
    plan = survey_of(runtime, (), repeats=REPEATS)
    return Bench(runtime, found.costs, stored, plan, temperature, found.age_s)


def check_lookup(bench: Bench) -> Candidate:
    """Screen lookup, which needs no file."""
    found = screen_lookup(bench.runtime, stored=bench.stored, costs=bench.costs)
    return _candidate(LOOKUP, None, found, bench.costs)


def check_draft(bench: Bench, path: Path) -> Candidate:
    """Load a draft, time a drafted token, and replay the answers.

    Raises: PairRefused when it cannot be loaded.
    """
    own = bench.runtime.settings
    options = replace(
        bench.runtime.loaded.target.options,
        max_rows=1,
        strict_rows=None,
        rollback=Rollback(guessing=True),
    )
    placement = ModelOptions(own.draft.gpu_layers, own.draft.device)
    with Model.load(path, placement) as model, Context(model, _draft_options(options, bench)) as it:
        sampler = _sampler(bench, model)
        points = measure_draft(ModelDrafter(it, sampler), bench.plan, clock=perf_counter)
        costs = replace(bench.costs, drafts={**bench.costs.drafts, MODEL: points})
        it.rewind(0)
        found = screen_model(model, it, sampler, stored=bench.stored, costs=costs)
    return _candidate(MODEL, path, found, costs)


def check_heads(bench: Bench) -> list[Candidate]:
    """Screen the heads that fit the target.

    Raises: PairRefused for a file that the user named.
    """
    runtime = bench.runtime
    sampling = replace(runtime.settings.sampling, temperature=bench.temperature)
    candidates = []
    for name, head in heads_at_hand(runtime, sampling).items():
        found = screen_heads(runtime.loaded.target, head, stored=bench.stored, costs=bench.costs)
        path = head_for(name, replace(runtime.settings, drafters=(name,)))
        candidates.append(_candidate(name, path, found, bench.costs))
    return candidates


def _draft_options(options: ContextOptions, bench: Bench) -> ContextOptions:
    own = bench.runtime.settings.draft
    return replace(options, kv_type_k=own.kv, kv_type_v=own.kv, n_ctx=own.context or options.n_ctx)


def _sampler(bench: Bench, model: Model) -> Sampler:
    ours, theirs = bench.runtime.vocabulary, model.vocabulary
    usable = min(ours.usable, theirs.usable)
    banned = tuple(sorted(t for t in ours.banned | theirs.banned if t < usable))
    sampling = replace(bench.runtime.settings.sampling, temperature=bench.temperature)
    return Sampler(sampling, usable, banned)


def _candidate(drafter: str, path: Path | None, found: Screened, costs: Costs) -> Candidate:
    word = judge(found.best.speedup, restlessness(costs))
    ratio = costs.cost_ratio(drafter)
    return Candidate(drafter, path, found, ratio, word, reason(found, ratio, costs))


def restlessness(costs: Costs) -> Quiet:
    """Say how quiet the machine was, from the spread of one-row passes."""
    ones = [point for point in costs.target if point.rows == 1]
    spread = max((point.iqr_s / point.median_s for point in ones), default=0.0) / 1.35
    return Quiet(spread=spread)


def reason(found: Screened, ratio: float | None, costs: Costs) -> str:
    """Give the numbers behind a word."""
    best = found.best
    verify = costs.pass_s(best.gamma + 1, 0) / costs.pass_s(1, 0)
    said = [
        f"γ {best.gamma} is expected to be {best.speedup.value:.2f} times as fast "
        f"(95 %: {best.speedup.low:.2f}-{best.speedup.high:.2f})",
        f"{best.tokens_per_pass:.2f} tokens a pass",
        f"a pass over {best.gamma + 1} rows costs {verify:.2f} of one",
    ]
    if found.drafter in (MODEL, *HEADS) and ratio is not None:
        said.append(f"a drafted token {ratio:.2f}")
    if found.acceptance is not None:
        said.append(f"{found.acceptance:.0%} of the guesses would stand")
    return "; ".join(said)


def ranked(bench: Bench, candidates: Sequence[Candidate]) -> Checked:
    """Put the best first: those that pay, by the lower end of their interval."""
    ordered = sorted(
        candidates, key=lambda each: (each.word is not Word.PAYS, -each.best.speedup.low)
    )
    costs = bench.costs
    loops = sum(sample.finish == "loop" for sample in bench.stored.samples)
    return Checked(costs, tuple(ordered), bench.age_s, loops)


def best_by_kind(found: Screened) -> Mapping[str, Predicted]:
    """Give the fastest gamma of each kind of text."""
    return {kind: best_point(points) for kind, points in found.by_kind.items()}
