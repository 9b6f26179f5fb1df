"""Heads on the target's states: which file, and what a drafter needs of a loaded target.

Knows files, the pair's own heads and taps. Does not know how a head guesses.
"""

from collections.abc import Collection
from pathlib import Path

from localspec.engine import ContextOptions, Model, ModelOptions
from localspec.engine.features import layer_tap, nextn_tap
from localspec.engine.heads import Eagle3Head, MtpHead, prediction_layers
from localspec.errors import OptionError, PairRefused
from localspec.pairs.compat import own_head
from localspec.pairs.eagle3_file import check_eagle3
from localspec.pairs.header import read_header
from localspec.pairs.kinds import an
from localspec.pairs.medusa_file import check_medusa
from localspec.runtime.loading import Loaded
from localspec.runtime.settings import (
    AUTO,
    EAGLE3,
    FROM_FILES,
    HEADS,
    NONE,
    RunSettings,
)
from localspec.runtime.shelf import HeadParts


def head_for(drafter: str, settings: RunSettings) -> Path | None:
    """Give the file of heads that a drafter is to use; None where there is none.

    A file that the user named goes to the drafter that the user named; under `auto` its own header
    says whose it is.
    Raises: PairRefused for a named file that is no file of heads.
    """
    if settings.head is None:
        return dict(settings.files.heads).get(drafter)
    if settings.drafters != (AUTO,):
        return settings.head
    return settings.head if kind_of(settings.head) == drafter else None


def check_heads(settings: RunSettings, names: Collection[str]) -> None:
    """Hold files of heads that a user named, or that the drafters `names` need, against the target.

    Reads headers only, so that a wrong file is refused before anything is loaded or measured.
    Raises: PairRefused; OptionError for a drafter without its file, and a file nobody would use.
    """
    if set(names) == {NONE}:
        return
    if settings.head and not {AUTO, *FROM_FILES} & set(names):
        raise OptionError(
            f"--head is for {' and '.join(FROM_FILES)}, not for {', '.join(names)}",
            "leave one of the two out",
        )
    kind = [kind_of(settings.head)] if settings.head and AUTO in names else []
    target = read_header(settings.files.target)
    for name in (name for name in FROM_FILES if name in (*names, *kind)):
        named = settings.head if AUTO not in names else None
        path = named or head_for(name, settings)
        if path is None:
            raise OptionError(f"drafter '{name}' needs a file of heads", "start with --head FILE")
        check = check_eagle3 if name == EAGLE3 else check_medusa
        check(path, target)


def eagle3_parts(loaded: Loaded, path: Path, settings: RunSettings) -> HeadParts:
    """Load an EAGLE-3 head after its header was held against the target.

    Raises: PairRefused.
    """
    layers = check_eagle3(path, read_header(loaded.model.path))
    states = layer_tap(loaded.target, layers)
    placement = settings.draft
    model = Model.load(path, ModelOptions(placement.gpu_layers, placement.device, head=True))
    try:
        head = Eagle3Head(model, loaded.target, _shape(loaded, settings))
    except BaseException:
        model.close()
        raise
    return _kept(loaded, HeadParts(head, states, model))


def mtp_parts(loaded: Loaded, settings: RunSettings) -> HeadParts:
    """Make the target's own prediction layers ready to guess.

    Raises: PairRefused.
    """
    refusal = own_head(read_header(loaded.model.path)).refusal
    if refusal is not None:
        raise PairRefused(f"{loaded.model.path.name}: {refusal.detail}", "take another drafter")
    prediction_layers(loaded.model)
    states = nextn_tap(loaded.target)
    return _kept(
        loaded, HeadParts(MtpHead(loaded.model, loaded.target, _shape(loaded, settings)), states)
    )


def _shape(loaded: Loaded, settings: RunSettings) -> ContextOptions:
    return ContextOptions(
        n_ctx=settings.draft.context or loaded.target.capacity,
        threads=settings.threads,
        kv_type_k=settings.draft.kv,
        kv_type_v=settings.draft.kv,
        flash_attn=settings.flash_attn,
    )


def _kept(loaded: Loaded, parts: HeadParts) -> HeadParts:
    """Have the head closed before its target."""
    loaded.model.attach(parts)
    return parts


def kind_of(path: Path) -> str:
    """Name the drafter that a file of heads is for.

    Raises: PairRefused for any other file, NotHere for none.
    """
    kind = read_header(path).arch
    if kind not in HEADS:
        found = f"{an(kind)} file" if kind else "of no kind that it names"
        raise PairRefused(
            f"{path.name} holds no heads: it is {found}",
            "take the head that was made for this target",
        )
    return kind
