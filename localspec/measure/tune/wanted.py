"""What a tune is asked for, who is told, and which drafters it does not try, and why.

Knows values and settings. Measures nothing.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from localspec.measure import noise
from localspec.measure.arms import Kind
from localspec.measure.bench import Progress
from localspec.measure.tune.candidates import FindGuessers, Layout
from localspec.measure.tune.guessers import heads_of
from localspec.measure.tune.layerskip import layerskip_guessers
from localspec.measure.tune.result import LeftOut
from localspec.runtime.settings import (
    AUTO,
    HEADS,
    LAYERSKIP,
    MODEL,
    MTP,
    NGRAM,
    NONE,
    READY,
    RunSettings,
)

MOST_KL = 0.05


def _nothing(_text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Told:
    """Who is told: what goes on now, what is done, and where the trial stands."""

    say: Callable[[str], None] = _nothing
    done: Callable[[str], None] = _nothing
    progress: Callable[[Progress], None] | None = None


@dataclass(frozen=True)
class Wanted:
    """What to tune for. `published`: files of the target's makers in other layouts, at hand.

    `sources`: what else may draft, besides the given pair's drafters. `drafters`: the only ones
    that may; all if empty. Units: `max_s` seconds, `most_kl` nats a token.
    """

    kinds: tuple[Kind, ...]
    temperature: float = 0.0
    max_s: float = 600.0
    most_kl: float = MOST_KL
    published: tuple[Layout, ...] = ()
    sources: tuple[FindGuessers, ...] = ()
    drafters: tuple[str, ...] = ()
    told: Told = field(default_factory=Told, repr=False)
    meter: noise.Meter | None = field(default=None, repr=False)


def left_out(settings: RunSettings, wanted: Wanted, tried: Collection[str]) -> tuple[LeftOut, ...]:
    """Name the drafters that were not tried, each with its reason."""
    names = [name for name in READY if name not in (AUTO, NONE, *tried)]
    return tuple(LeftOut(name, _reason(name, settings, wanted)) for name in names)


def _reason(name: str, settings: RunSettings, wanted: Wanted) -> str:
    if name == NGRAM:
        return "not searched"
    if name == LAYERSKIP and layerskip_guessers not in wanted.sources:
        return "only with --layerskip"
    if name == MODEL and settings.files.draft is None:
        return "no draft model"
    if name in HEADS and name not in heads_of(settings):
        return "no prediction layers" if name == MTP else "no such head"
    if wanted.drafters and name not in wanted.drafters:
        return "not asked for"
    return "no time for it, or of no use: see the notes"
