"""Heads of a loaded target, kept beside it however many drafters are made from them.

Knows what a head needs at hand. Does not know which file it is, or who guesses with it.
"""

from dataclasses import dataclass
from pathlib import Path

from localspec.drafters.head import HeadDrafter
from localspec.drafters.medusa_heads import MedusaHeads
from localspec.engine import Context, Model
from localspec.engine.features import Tap, hidden_tap
from localspec.engine.heads import Eagle3Head, MtpHead
from localspec.pairs.header import read_header
from localspec.pairs.medusa_file import read_medusa


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


class HeadShelf:
    """Heads of one loaded target: read once, with one tap, however many drafters ask.

    `running`: heads that the engine runs, by drafter, with their file and the drafter.
    """

    def __init__(self) -> None:
        self.running: dict[str, tuple[Path, HeadParts, HeadDrafter]] = {}
        self._read: dict[Path, MedusaHeads] = {}
        self._states: Tap | None = None

    def medusa(self, path: Path, target: Context) -> MedusaParts:
        """Read Medusa heads and hold them against the target.

        Raises: PairRefused.
        """
        if path not in self._read:
            self._read[path] = read_medusa(path, read_header(target.model.path))
        if self._states is None:
            self._states = hidden_tap(target)
        return MedusaParts(self._read[path], self._states)
