"""Cost curves of a loaded pair: measured, kept in the cache, read back with their age.

Knows a runtime and real text. What is timed and how is known by `costs`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np

from localspec.core.tokens import Tokens, sync
from localspec.engine import Context
from localspec.engine.library import engine_build
from localspec.measure import calibration
from localspec.measure.costs import (
    CONTEXTS,
    DRAFT_LENGTHS,
    CostPoint,
    Costs,
    Survey,
    measure_draft,
    measure_passes,
    plausible,
)
from localspec.measure.heads import ReadFirst, heads_at_hand
from localspec.measure.identity import identify, key_of, machine_identity
from localspec.measure.texts import builtin
from localspec.runtime.calibration import keep_costs
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import LOOKUP

FRESH_S = 24 * 3600.0
COPIED = 40
MOST_ROWS = 16


@dataclass(frozen=True)
class Surveyed:
    """Costs, and how old the target's curve is. Units: seconds; 0 for one measured just now."""

    costs: Costs
    age_s: float = 0.0


def real_text(runtime: Runtime) -> Tokens:
    """Give a thousand or so ids of real text, so that passes have real shapes."""
    words = "\n\n".join(
        text.words for kind in builtin(("summary", "edit")) for text in kind.prompts
    )
    ids = runtime.vocabulary.tokenize(words, special=False, bos=True)
    return np.array(ids, np.int32)


def survey_of(runtime: Runtime, gammas: Sequence[int], *, repeats: int) -> Survey:
    """Say what to measure: 1 to 16 rows, more where gamma asks, at two context lengths."""
    target = runtime.loaded.target
    wanted = {*range(1, MOST_ROWS + 1), *(gamma + 1 for gamma in gammas)}
    rows = tuple(sorted(n for n in wanted if n <= target.max_rows))
    text = real_text(runtime)
    return Survey(text, rows, CONTEXTS, repeats).fitted(min(target.capacity, len(text)))


def survey(
    runtime: Runtime,
    gammas: Sequence[int] = (),
    *,
    repeats: int,
    reuse_s: float = 0.0,
    notify: Callable[[str], None] = lambda _text: None,
) -> Surveyed:
    """Measure target and drafters, or take a target's curve that is young enough.

    What is measured is kept, for `check` and as the start of the adaptive policy.
    """
    plan = survey_of(runtime, gammas, repeats=repeats)
    beside = runtime.loaded.draft
    key = _key(runtime.loaded.target, f"target beside {_words(beside)}")
    kept = calibration.load(key) if reuse_s else None
    if kept and kept.age_s() <= reuse_s and _covers(kept.points, plan):
        age = kept.age_s()
        notify(f"cost of a pass: its shape was measured {_ago(age)} ago, its scale just now")
        target = rescaled(kept.points, runtime.loaded.target, plan)
    else:
        one_pass = partial(_one_pass, beside, plan.text) if beside else None
        target = measure_passes(runtime.loaded.target, plan, clock=perf_counter, draft=one_pass)
        age = 0.0
        calibration.store(key, target)
    costs = Costs(target, drafts_of(runtime, plan))
    _leave_empty(runtime)
    keep_costs(runtime.loaded, costs.seed())
    return Surveyed(costs, age)


def _covers(points: tuple[CostPoint, ...], plan: Survey) -> bool:
    """Say whether a kept curve has all rows, and was not measured on a disturbed machine."""
    return plausible(points) and {point.rows for point in points} >= set(plan.rows)


def _words(draft: Context | None) -> str:
    return identify(draft.model.path).digest if draft else "no draft"


def _one_pass(draft: Context, text: Tokens) -> None:
    """Let a draft do one pass, as before every pass that judges what it guessed."""
    sync(draft, text[:2], 1)


def rescaled(points: tuple[CostPoint, ...], target: Context, plan: Survey) -> tuple[CostPoint, ...]:
    """Scale a kept curve to what a one-row pass takes now; its shape outlives the load."""
    ones = replace(plan, rows=(1,))
    now = {point.context: point for point in measure_passes(target, ones, clock=perf_counter)}
    then = {point.context: point.median_s for point in points if point.rows == 1}
    return tuple(
        now[p.context]
        if p.rows == 1
        else replace(p, median_s=p.median_s * now[p.context].median_s / then[p.context])
        for p in points
        if p.context in now and p.context in then
    )


def drafts_of(runtime: Runtime, plan: Survey) -> dict[str, tuple[CostPoint, ...]]:
    """Time a drafted token of each draft model and head there is, and a copy by lookup."""
    found = {
        name: measure_draft(runtime.drafter(name), plan, clock=perf_counter)
        for name in runtime.loaded.drafts
    }
    for name, head in heads_at_hand(runtime).items():
        reading = ReadFirst(head, runtime.loaded.target)
        lengths = sorted({min(length, head.most) for length in DRAFT_LENGTHS})
        found[name] = measure_draft(reading, plan, clock=perf_counter, lengths=lengths)
    copied = np.tile(plan.text[:COPIED], 1 + max(plan.contexts) // COPIED)
    own = replace(plan, text=copied)
    points = measure_draft(runtime.drafter(LOOKUP), own, clock=perf_counter)
    return {**found, LOOKUP: points} if points else found


def _leave_empty(runtime: Runtime) -> None:
    for context in runtime.loaded.contexts:
        context.rewind(0)


def _key(context: Context, what: str) -> str:
    options = {
        "context": repr(context.options),
        "gpu": context.model.size_bytes,
        "threads": context.threads,
        "engine": engine_build(),
    }
    return key_of(machine_identity(), identify(context.model.path), options, what)


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
