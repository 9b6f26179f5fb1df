"""Guessers of the given pair: lookup, its heads, its draft as it is, and other layouts of that.

Knows a loaded pair and stored answers. What a layout changes is what a token costs; that it
guesses nearly the same is checked when the best are measured.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import cast

from localspec.core.sampling import Sampler
from localspec.drafters.model import ModelDrafter
from localspec.engine import Context, Model, ModelOptions
from localspec.errors import LocalspecError
from localspec.measure.costs import CostPoint, measure_draft
from localspec.measure.heads import HeadOfTarget
from localspec.measure.replay import head_chances, point_chances
from localspec.measure.screen import share_accepted, told_by_model
from localspec.measure.tune.candidates import Deadline, Ground, Guesser, Layout, Told
from localspec.measure.tune.layout_costs import Sampler as LayoutSampler
from localspec.measure.tune.layout_costs import relative_costs
from localspec.measure.tune.recipes import Considered, consider
from localspec.runtime.loading import carries_prediction_layers
from localspec.runtime.settings import LOOKUP, MODEL, MTP, RunSettings


def lookup_guesser(ground: Ground) -> Guesser:
    """Ask lookup at every place of the stored answers."""
    drafter = ground.runtime.drafter(LOOKUP)
    most = ground.runtime.loaded.target.max_rows - 1
    told: list[Told] = [
        tuple(point_chances(drafter, each, most=most)) for each in ground.stored.transcripts
    ]
    costs = ground.costs.drafts.get(LOOKUP, ())
    return Guesser(LOOKUP, None, tuple(costs), tuple(told), first_accepted(told))


def given_draft(ground: Ground, layout: Layout) -> Guesser:
    """Replay the draft that is loaded."""
    loaded = ground.runtime.loaded
    assert loaded.draft_model is not None
    assert loaded.draft is not None
    sampler = sampler_for(ground, loaded.draft_model)
    loaded.draft.rewind(0)
    told = told_by_model(loaded.draft_model, loaded.draft, sampler, ground.stored)
    costs = tuple(ground.costs.drafts[MODEL])
    return Guesser(MODEL, layout, costs, tuple(told), share_accepted(told))


def guesser_of_file(ground: Ground, path: Path, layout: Layout, drafter: str = MODEL) -> Guesser:
    """Load a draft's file, time a drafted token, and replay the answers.

    Raises: PairRefused when it cannot be loaded.
    """
    own = ground.runtime.settings.draft
    like = ground.runtime.loaded.target.options
    options = replace(
        like,
        max_rows=1,
        strict_rows=None,
        kv_type_k=own.kv,
        kv_type_v=own.kv,
        n_ctx=own.context or like.n_ctx,
    )
    with Model.load(path, draft_placement(ground)) as model, Context(model, options) as context:
        sampler = sampler_for(ground, model)
        points = measure_draft(ModelDrafter(context, sampler), ground.plan, clock=perf_counter)
        context.rewind(0)
        told = told_by_model(model, context, sampler, ground.stored)
    return Guesser(drafter, layout, points, tuple(told), share_accepted(told))


def target_placement(ground: Ground) -> ModelOptions:
    """Say where targets run."""
    own = ground.runtime.settings.target
    return ModelOptions(own.gpu_layers, own.device)


def draft_placement(ground: Ground) -> ModelOptions:
    """Say where drafts run."""
    own = ground.runtime.settings.draft
    return ModelOptions(own.gpu_layers, own.device)


def sampler_for(ground: Ground, draft: Model) -> Sampler:
    """Give the transforms that a draft's logits go through."""
    ours, theirs = ground.runtime.vocabulary, draft.vocabulary
    usable = min(ours.usable, theirs.usable)
    banned = tuple(sorted(t for t in ours.banned | theirs.banned if t < usable))
    sampling = replace(ground.runtime.settings.sampling, temperature=ground.temperature)
    return Sampler(sampling, usable, banned)


def head_guessers(ground: Ground) -> Iterator[Guesser]:
    """Replay the pair's own heads; the target reads the answers again for its states."""
    runtime = ground.runtime
    target = runtime.loaded.target
    sampling = replace(runtime.settings.sampling, temperature=ground.temperature)
    for name in heads_of(runtime.settings):
        ground.deadline.check()
        ground.say(f"replaying the head of {name}")
        try:
            drafter = cast(HeadOfTarget, runtime.drafter(name, sampling))
        except LocalspecError as failure:
            ground.note(f"drafter {name} was left out: {failure.message}")
            continue
        told: list[Told] = []
        for each in ground.stored.transcripts:
            target.rewind(0)
            told.append(tuple(head_chances(drafter, target, each, chunk=target.max_rows)))
        target.rewind(0)
        costs = tuple(ground.costs.drafts.get(name, ()))
        if costs:
            yield Guesser(name, None, costs, tuple(told), first_accepted(told))


def heads_of(settings: RunSettings) -> tuple[str, ...]:
    """Name the heads that come with a pair: files of its own, and layers of the target."""
    own = (MTP,) if carries_prediction_layers(settings.files.target) else ()
    return (*(name for name, _ in settings.files.heads), *own)


def first_accepted(told: Sequence[Told]) -> float | None:
    """Give the share of first guesses that would have stood; None without any."""
    firsts = [
        float(chances.accept[0])
        for each in told
        if isinstance(each, tuple)
        for chances in each
        if len(chances.accept)
    ]
    return sum(firsts) / len(firsts) if firsts else None


def draft_guessers(ground: Ground) -> Iterator[Guesser]:
    """Give lookup, the given draft, and its other layouts as their samples promise."""
    yield lookup_guesser(ground)
    model = ground.runtime.loaded.draft_model
    if model is None:
        return
    considered = consider(model.path)
    given = given_draft(ground, considered.given.layout)
    yield given
    ground.say(f"timing layouts of the draft, {model.path.name}")
    try:
        yield from _other_layouts(ground, given, considered, ground.deadline.share(0.35))
    except LocalspecError as failure:
        ground.note(f"the draft stays as it is: {failure.message}")


def _other_layouts(
    ground: Ground, given: Guesser, considered: Considered, deadline: Deadline
) -> Iterator[Guesser]:
    """Time a one-row pass of every layout that is no larger than the given one."""
    loaded = ground.runtime.loaded
    assert loaded.draft is not None
    worth = [
        each
        for each in considered.others
        if each.layout.bytes <= WORTH * considered.given.layout.bytes
    ]
    options, place = loaded.draft.options, draft_placement(ground)
    sampler = LayoutSampler(options, ground.plan.text, (1,), deadline, ground.say, place)
    for layout, ratios in relative_costs(considered.given, worth, sampler):
        yield given.with_layout(layout, scaled(given.costs, ratios[1]))
    for each in sampler.failed:
        ground.note(f"the draft's layouts: {each}")


WORTH = 1.25
"""Times the given draft: a drafted token is one row, which costs its bytes."""


def scaled(points: Sequence[CostPoint], ratio: float) -> tuple[CostPoint, ...]:
    """Give the costs of drafting with a file whose passes take `ratio` times as long."""
    return tuple(
        replace(point, median_s=point.median_s * ratio, iqr_s=point.iqr_s * ratio)
        for point in points
    )
