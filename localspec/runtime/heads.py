"""Heads on the target's states: which file, and what a drafter needs of a loaded target.

Knows files, the pair's own heads and taps. Does not know how a head guesses.
"""

from dataclasses import dataclass
from pathlib import Path

from localspec.drafters.medusa_heads import MedusaHeads
from localspec.engine import ContextOptions, Model, ModelOptions
from localspec.engine.features import Tap, hidden_tap, layer_tap, nextn_tap
from localspec.engine.heads import Eagle3Head, MtpHead, prediction_layers
from localspec.errors import NotHere, PairRefused
from localspec.pairs.compat import own_head
from localspec.pairs.eagle3_file import check_eagle3
from localspec.pairs.header import read_header
from localspec.pairs.medusa_file import read_medusa
from localspec.runtime.loading import Loaded
from localspec.runtime.settings import AUTO, HEADS, RunSettings


@dataclass(frozen=True)
class MedusaParts:
    """Heads that fit the loaded target, and its states."""

    heads: MedusaHeads
    states: Tap


@dataclass(eq=False)
class HeadParts:
    """A head that the engine runs beside the loaded target, and the states that it reads."""

    head: Eagle3Head | MtpHead
    states: Tap
    model: Model | None = None

    def close(self) -> None:
        """Free the head, and its weights if they are its own."""
        self.head.close()
        if self.model is not None:
            self.model.close()


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
    return settings.head if _kind(settings.head) == drafter else None


def medusa_parts(loaded: Loaded, path: Path, before: MedusaParts | None) -> MedusaParts:
    """Read heads and hold them against the target; a tap that is there already stays.

    Raises: PairRefused.
    """
    heads = read_medusa(path, read_header(loaded.model.path))
    return MedusaParts(heads, before.states if before else hidden_tap(loaded.target))


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
    )


def _kept(loaded: Loaded, parts: HeadParts) -> HeadParts:
    """Have the head closed before its target."""
    loaded.model.attach(parts)
    return parts


def _kind(path: Path) -> str:
    try:
        kind = read_header(path).arch
    except NotHere as absent:
        raise PairRefused(f"no heads: {absent.message}", "check --head") from absent
    if kind not in HEADS:
        found = f"a {kind} file" if kind else "of no kind that it names"
        raise PairRefused(
            f"{path.name} holds no heads: it is {found}", f"--head is for {', '.join(HEADS)}"
        )
    return kind
