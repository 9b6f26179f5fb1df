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
from localspec.engine.template import ChatTemplate
from localspec.errors import LocalspecError, PairRefused
from localspec.pairs.compat import compare
from localspec.pairs.header import read_header
from localspec.pairs.kinds import has_mtp, mtp_layers
from localspec.runtime.settings import (
    AUTO,
    DEFAULT_CONTEXT,
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
    """The models and caches of one run; `draft` is None without a draft model."""

    model: Model
    target: Context
    template: ChatTemplate | None
    draft_model: Model | None
    draft: Context | None
    load_s: float
    heads: HeadShelf = field(default_factory=HeadShelf)


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
    draft_path = _fitting_draft(settings, notify)
    model = opened(settings.files.target, settings.target, "target")
    target = resources.enter_context(Context(model, _target_options(model, settings)))
    draft_model = _draft_model(model, draft_path, settings, notify, opened)
    draft = None
    if draft_model:
        draft = resources.enter_context(Context(draft_model, _draft_options(target, settings)))
    template = ChatTemplate.of(model)
    if template:
        resources.enter_context(template).start()
    else:
        notify(f"{settings.files.target.name} has no chat template: your text goes to it as it is")
    return Loaded(model, target, template, draft_model, draft, perf_counter() - begun)


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


def _target_options(model: Model, settings: RunSettings) -> ContextOptions:
    trained = model.n_ctx_train if model.n_ctx_train > 1 else DEFAULT_CONTEXT  # some do not say it
    wanted = settings.target.context or min(trained, DEFAULT_CONTEXT)
    return ContextOptions(
        n_ctx=wanted,
        threads=settings.threads,
        kv_type_k=settings.target.kv,
        kv_type_v=settings.target.kv,
        strict_rows=settings.strict_rows if settings.strict else None,
        max_rows=max(settings.max_gamma, MAX_GAMMA) + 1,
    )


def _draft_options(target: Context, settings: RunSettings) -> ContextOptions:
    return ContextOptions(
        n_ctx=settings.draft.context or target.capacity,
        threads=settings.threads,
        kv_type_k=settings.draft.kv,
        kv_type_v=settings.draft.kv,
        max_rows=1,
    )
