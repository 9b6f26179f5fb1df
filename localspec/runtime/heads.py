"""Heads on the target's states: which file, and what a drafter needs of a loaded target.

Knows files, the pair's own heads and taps. Does not know how a head guesses.
"""

from dataclasses import dataclass
from pathlib import Path

from localspec.drafters.medusa_heads import MedusaHeads
from localspec.engine.features import Tap, hidden_tap
from localspec.errors import NotHere, PairRefused
from localspec.pairs.header import read_header
from localspec.pairs.medusa_file import read_medusa
from localspec.runtime.loading import Loaded
from localspec.runtime.settings import AUTO, HEADS, RunSettings


@dataclass(frozen=True)
class MedusaParts:
    """Heads that fit the loaded target, and its states."""

    heads: MedusaHeads
    states: Tap


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
