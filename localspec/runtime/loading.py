"""Load a pair: headers compared first, then weights, then caches of the right shape.

Knows files, placement and context sizes. Does not know drafters or text.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from localspec.core.theory import MAX_GAMMA
from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.engine.heads import runs_prediction_layers
from localspec.engine.shape import Rollback
from localspec.engine.template import ChatTemplate
from localspec.errors import LocalspecError, PairRefused
from localspec.pairs.compat import compare
from localspec.pairs.header import read_header
from localspec.pairs.kinds import has_mtp, mtp_layers
from localspec.pairs.memory import Load
from localspec.pairs.vocabulary import template_family
from localspec.runtime.caches import (
    DISAGREES,
    can_speculate,
    draft_load,
    kept_words,
    quantised_agreement,
    refuse_useless,
    target_load,
    why_not,
)
from localspec.runtime.layerskip import with_skipped
from localspec.runtime.settings import (
    AUTO,
    DEFAULT_CONTEXT,
    LAYERSKIP,
    MODEL,
    MTP,
    Placement,
    RunSettings,
)
from localspec.runtime.shelf import HeadShelf

Notify = Callable[[str], None]
Progress = Callable[[str, float | None], object]
Opener = Callable[[Path, Placement, str], Model]


@dataclass(frozen=True)
class Loaded:
    """The models and caches of one run; `draft` is None without a draft model.

    `skipped`: a cache of the target with blocks left out, for the drafter `layerskip`.
    """

    model: Model
    target: Context
    template: ChatTemplate | None
    draft_model: Model | None
    draft: Context | None
    load_s: float
    skipped: Context | None = None
    heads: HeadShelf = field(default_factory=HeadShelf)

    @property
    def drafts(self) -> dict[str, Context]:
        """Give the caches that drafters decode with, by the drafter's name."""
        found = {MODEL: self.draft, LAYERSKIP: self.skipped}
        return {name: each for name, each in found.items() if each}

    @property
    def contexts(self) -> tuple[Context, ...]:
        """Give every cache there is."""
        return (self.target, *self.drafts.values())


def unseen(what: str, share: float | None) -> None:
    """Take in how far a load is, and show it to nobody."""
    del what, share


def load_pair(
    settings: RunSettings, notify: Notify, resources: ExitStack, *, progress: Progress = unseen
) -> Loaded:
    """Open what the settings name; everything opened is closed with `resources`.

    Raises: NotHere, PairRefused, OptionError. A draft that fits but cannot be loaded stops the run
    only if the user asked for it; otherwise `notify` says so and the target runs without it.
    """

    def opened(path: Path, placement: Placement, role: str) -> Model:
        options = ModelOptions(
            placement.gpu_layers,
            placement.device,
            prediction_layers=role == "target" and wants_prediction_layers(settings),
        )
        return resources.enter_context(_model(path, options, role=role, progress=progress))

    begun = perf_counter()
    settings = with_skipped(settings, notify)
    draft_path = _fitting_draft(settings, notify)
    model = opened(settings.files.target, settings.target, "target")
    target = resources.enter_context(_target(model, settings, notify))
    draft_model = _draft_model(model, draft_path, settings, notify, opened)
    draft = _draft(draft_model, target, settings, notify)
    if draft:
        resources.enter_context(draft)
    skipped = None
    if settings.files.skipped:
        made = opened(settings.files.skipped, settings.draft, "layerskip draft")
        skipped = _draft(made, target, settings, notify)
        if skipped:
            resources.enter_context(skipped)
    template = ChatTemplate.of(model)
    if template:
        resources.enter_context(template).start()
    else:
        notify(_no_template(settings.files.target, draft_model))
    load_s = perf_counter() - begun
    return Loaded(model, target, template, draft_model, draft, load_s, skipped)


def _no_template(target: Path, draft: Model | None) -> str:
    """Say once what it means for the target, and for a draft that was trained to chat."""
    said = f"{target.name} has no chat template: your text goes to it as it is"
    if draft is None or not template_family(read_header(draft.path)):
        return said
    return f"{said}; the draft was trained to chat: expect fewer accepted tokens"


def _fitting_draft(settings: RunSettings, notify: Notify) -> Path | None:
    """Compare the headers before any weight is loaded; mention what is odd."""
    target, draft = settings.files.target, settings.files.draft
    if draft is None or not settings.wants_draft_model:
        return None
    if draft == target or settings.files.derived:
        return draft
    with _optional(settings, notify):
        fit = compare(read_header(target), read_header(draft))
        if fit.refusal:
            raise PairRefused(f"{draft.name} does not fit {target.name}: {fit.refusal.detail}")
        for finding in fit.warnings:
            if finding.id != "template" or template_family(read_header(target)):
                notify(finding.detail)
        return draft
    return None


@contextmanager
def _optional(settings: RunSettings, notify: Notify) -> Iterator[None]:
    """Let a draft that fails stop the run only if the user asked for it."""
    try:
        yield
    except LocalspecError as failure:
        if settings.draft_required or MODEL in settings.drafters:
            raise
        notify(f"no draft model: {failure.message}")


def wants_prediction_layers(settings: RunSettings) -> bool:
    """Say whether to load the target's own prediction layers: named, or there and of use."""
    if AUTO not in settings.drafters:
        return MTP in settings.drafters
    return carries_prediction_layers(settings.files.target)


def carries_prediction_layers(path: Path) -> bool:
    """Say whether a file holds prediction layers that the engine can run."""
    header = read_header(path)
    return has_mtp(header) and runs_prediction_layers(header.arch, mtp_layers(header))


def _model(path: Path, options: ModelOptions, *, role: str, progress: Progress) -> Model:
    def report(share: float) -> bool:
        progress(f"loading the {role}", share)
        return True

    return Model.load(path, options, progress=report)


def _draft_model(
    target: Model, path: Path | None, settings: RunSettings, notify: Notify, opened: Opener
) -> Model | None:
    """Load the draft, or share the target's weights when it is the same file."""
    if path is None:
        return None
    if path == settings.files.target:
        return target
    with _optional(settings, notify):
        return opened(path, settings.draft, "draft")
    return None


def _target(model: Model, settings: RunSettings, notify: Notify) -> Context:
    """Make the target's cache; say it when taking guesses back costs something, or is refused."""
    header = read_header(settings.files.target)
    trained = model.n_ctx_train if model.n_ctx_train > 1 else DEFAULT_CONTEXT  # some do not say it
    load = target_load(header, settings, settings.target.context or min(trained, DEFAULT_CONTEXT))
    target = Context(model, _target_options(load, settings))
    if not can_speculate(target) and settings.drafters == (AUTO,):
        notify(f"no guessing: {why_not(target)}")
    elif said := kept_words(target, header, load):
        notify(said)
    return target


def _target_options(load: Load, settings: RunSettings) -> ContextOptions:
    return ContextOptions(
        n_ctx=load.n_ctx,
        threads=settings.threads,
        kv_type_k=load.kv_type_k,
        kv_type_v=load.kv_type_v,
        strict_rows=settings.strict_rows if settings.strict else None,
        max_rows=max(settings.max_gamma, MAX_GAMMA) + 1,
        swa_full=load.swa_full,
        flash_attn=settings.flash_attn,
        rollback=Rollback(load.snapshots),
    )


def _draft(
    model: Model | None, target: Context, settings: RunSettings, notify: Notify
) -> Context | None:
    """Make the draft's cache; one that cannot forget is as good as none."""
    if model is None:
        return None
    load = draft_load(read_header(model.path), settings, settings.draft.context or target.capacity)
    options = _draft_options(load, settings)
    with _optional(settings, notify):
        draft = Context(model, options)
        refuse_useless(draft)
        if load.kv_type_k != "f16" and (same := quantised_agreement(model, options)) < DISAGREES:
            notify(
                f"the draft's {load.kv_type_k} cache changes its guesses: {same:.0%} are those of "
                "an f16 cache; leave --draft-kv out to compare"
            )
        return draft
    return None


def _draft_options(load: Load, settings: RunSettings) -> ContextOptions:
    return ContextOptions(
        n_ctx=load.n_ctx,
        threads=settings.threads,
        kv_type_k=load.kv_type_k,
        kv_type_v=load.kv_type_v,
        max_rows=load.rows,
        swa_full=load.swa_full,
        flash_attn=settings.flash_attn,
        rollback=Rollback(guessing=True),
    )
