"""What a tune found: every candidate as far as it got, the best one, and what to say of it.

Knows numbers and the rule by which one is chosen. Does not know how they are shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from localspec.core.statistics import Estimate
from localspec.measure.findings import quietness
from localspec.measure.result import BenchResult, tokens_per_s
from localspec.measure.tune.candidates import Arrangement
from localspec.measure.tune.quality import Quality
from localspec.measure.tune.trial import Finalist
from localspec.measure.verdict import PAYS_ABOVE, Word, judge
from localspec.runtime.settings import PairFiles


@dataclass(frozen=True)
class Tried:
    """An arrangement, and what was measured of it; None for what was not.

    `speedup` and `interval` are over the given files' plain decoding. `loses_too_much`: its target
    is further from the given one than the user allows.
    """

    arrangement: Arrangement
    files: PairFiles | None = None
    tokens_per_s: float | None = None
    speedup: float | None = None
    interval: Estimate | None = None
    word: Word | None = None
    quality: Quality | None = None
    loses_too_much: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A drafter that was not tried, and why."""

    drafter: str
    reason: str


@dataclass(frozen=True)
class Tuned:
    """Everything a tune found; candidates that were measured come first, the fastest before.

    `stopped`: "", "time" or "interrupted". `notes`: what was left out, and why. `drafters`: those
    that were tried; `left_out`: the others.
    """

    given_tps: float | None
    tried: tuple[Tried, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    stopped: str = ""
    drafters: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def measured(self) -> tuple[Tried, ...]:
        """Give what was measured."""
        return tuple(each for each in self.tried if each.speedup is not None)

    @property
    def best(self) -> Tried | None:
        """Give the fastest arrangement that surely pays and keeps the quality asked for."""
        pays = [
            each for each in self.measured if each.word is Word.PAYS and not each.loses_too_much
        ]
        return max(pays, key=lambda each: each.speedup or 0.0, default=None)

    @property
    def alone(self) -> Tried | None:
        """Give the best target's layout without a draft, if it was measured."""
        best = self.best
        wanted = best.arrangement.target if best else None
        fitting = [
            each
            for each in self.measured
            if each.arrangement.guesser is None and wanted in (None, each.arrangement.target)
        ]
        return max(fitting, key=lambda each: each.speedup or 0.0, default=None)


def from_bench(
    finalists: Sequence[Finalist],
    result: BenchResult,
    *,
    losses: Mapping[Path, Quality],
    most_kl: float,
) -> list[Tried]:
    """Give each finalist with its measurements, the fastest first."""
    temperature = result.design.arms[0].temperature if result.design.arms else 0.0
    quiet = quietness(result, None, temperature)
    found = []
    for each in finalists:
        speed = result.speedup(each.arm)
        lost = losses.get(each.files.target)
        found.append(
            Tried(
                each.arrangement,
                each.files,
                tokens_per_s(result.of(each.arm)),
                speed[0] if speed else None,
                speed[1] if speed else None,
                judge(speed[1], quiet) if speed else None,
                lost,
                loses_too_much=lost is not None and lost.kl_mean.value > most_kl,
            )
        )
    return sorted(found, key=lambda each: -(each.speedup or 0.0))


def sentence(tuned: Tuned) -> str:
    """Say in words what to do."""
    best = tuned.best
    if best is not None and best.interval is not None:
        said = (
            f"{best.arrangement.label}: {best.speedup:.2f} times the given files' plain speed "
            f"(95 %: {best.interval.low:.2f}-{best.interval.high:.2f})"
        )
        return f"{said}; {_share(best, tuned)}"
    if not tuned.measured:
        return f"keep the files as they are: {_unmeasured(tuned)}"
    return f"keep the files as they are: {_why_not(tuned)}"


def _unmeasured(tuned: Tuned) -> str:
    if any(each.loses_too_much for each in tuned.tried):
        return "what may be faster is further from the given target than --max-kl allows"
    return "nothing was measured"


def _share(best: Tried, tuned: Tuned) -> str:
    """Say what of it comes from the layout, and what from the draft."""
    if best.arrangement.guesser is None:
        return "the layout alone; no draft"
    alone = tuned.alone
    if best.arrangement.target.as_given:
        return "the draft alone; the target stays as it is"
    if alone is None or not alone.speedup or not best.speedup:
        return "layout and draft together"
    return f"layout alone {alone.speedup:.2f}, the draft {best.speedup / alone.speedup:.2f} on top"


def _why_not(tuned: Tuned) -> str:
    top = max(tuned.measured, key=lambda each: each.speedup or 0.0)
    if top.word is Word.NOISY:
        return "the machine was too busy to say"
    if top.word is Word.FEW:
        return "too little text to say; give more with --text"
    if top.loses_too_much and top.quality:
        return (
            f"{top.arrangement.label} is {top.speedup:.2f} times as fast, but its text is further "
            f"from the given target's than --max-kl allows (KL {top.quality.kl_mean.value:.3f})"
        )
    return (
        f"the best, {top.arrangement.label}, is {top.speedup:.2f} times as fast, "
        f"which is not surely more than {PAYS_ABOVE:g}"
    )
