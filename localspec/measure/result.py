"""A bench as it stands: samples put together by kind of text and arm.

Knows how answers become numbers. Does not decide in words; that is `findings`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from localspec.core.events import Step
from localspec.core.statistics import Estimate
from localspec.measure.arms import Arm, Design
from localspec.measure.costs import Costs
from localspec.measure.intervals import Pairing, ratio, speedup_interval
from localspec.measure.sample import LOOPED, Sample

NEAR_TIE = 2.0
"""Logits of batched rows differed by up to 2.0 from single ones (five files, 15 to 700 tokens of
context): two that are closer than this may change places by rounding, others should not."""


@dataclass(frozen=True)
class Difference:
    """A text at temperature 0 (or coupled) that is not the plain one.

    `gap`: between the two largest logits there, None where it could not be read.
    """

    arm: Arm
    kind: str
    prompt: int
    position: int
    gap: float | None = None

    @property
    def rounding(self) -> bool:
        """Say whether rounding explains it."""
        return self.gap is None or self.gap <= NEAR_TIE


@dataclass(frozen=True)
class Compared:
    """Texts of one arm against the plain ones."""

    same: int = 0
    of: int = 0
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class BenchResult:
    """Everything measured so far. `stopped`: "", "settled", "time" or "interrupted"."""

    design: Design
    samples: tuple[Sample, ...] = field(repr=False)
    replaced: tuple[Sample, ...] = field(default=(), repr=False)
    costs: Costs | None = field(default=None, repr=False)
    differences: tuple[Difference, ...] = ()
    probes: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    complete: bool = False
    stopped: str = ""

    @property
    def drift(self) -> float | None:
        """Give the relative change of a plain pass from the first to the last probe."""
        if len(self.probes) < 2:
            return None
        return self.probes[-1] / self.probes[0] - 1

    def of(self, arm: Arm, kind: str | None = None) -> list[Sample]:
        """Give the answers of an arm, in one kind or in all."""
        return [
            sample
            for sample in self.samples
            if sample.arm == arm and kind in (None, sample.slot.kind)
        ]

    def plain_of(self, arm: Arm) -> Arm:
        """Give the baseline of an arm."""
        return Arm(temperature=arm.temperature)

    def pairs(self, arm: Arm, kind: str | None = None) -> Iterator[tuple[Sample, Sample]]:
        """Give plain and speculative answers to the same prompt of the same run."""
        plain = {_place(sample): sample for sample in self.of(self.plain_of(arm), kind)}
        for sample in self.of(arm, kind):
            if _place(sample) in plain:
                yield plain[_place(sample)], sample

    def pairings(self, arm: Arm, kind: str | None = None) -> list[Pairing]:
        """Give each prompt's totals; answers to the same prompt count as one prompt."""
        totals: dict[tuple[str, str], list[float]] = {}
        for plain, sample in self.pairs(arm, kind):
            if not plain.emitted or not sample.emitted:
                continue
            slot = sample.slot
            row = totals.setdefault((slot.kind, slot.prompt.ids.tobytes().hex()), [0.0] * 4)
            for i, value in enumerate(
                (plain.seconds, plain.emitted, sample.seconds, sample.emitted)
            ):
                row[i] += value
        return [
            Pairing(row[0], int(row[1]), row[2], int(row[3]), kind)
            for (kind, _), row in totals.items()
        ]

    def speedup(self, arm: Arm, kind: str | None = None) -> tuple[float, Estimate | None] | None:
        """Give the measured speed-up and its interval, if there are prompts enough for one."""
        pairings = self.pairings(arm, kind)
        return (ratio(pairings), speedup_interval(pairings)) if pairings else None

    def steps(self, arm: Arm, kind: str | None = None) -> list[Step]:
        """Give all passes of an arm."""
        return [step for sample in self.of(arm, kind) for step in sample.steps]

    def loops(self, kind: str) -> int:
        """Count the answers of a kind that were cut at a loop."""
        return sum(s.finish == LOOPED for s in self.samples if s.slot.kind == kind)

    def identical(self, arm: Arm, kind: str | None = None) -> Compared | None:
        """Say how many texts equal the plain ones; None where they need not."""
        if not self.design.comparable(arm):
            return None
        found = tuple(d for d in self.differences if d.arm == arm and kind in (None, d.kind))
        of = sum(1 for _ in self.pairs(arm, kind))
        return Compared(of - len(found), of, found) if of else None


def _place(sample: Sample) -> tuple[int, str, int]:
    return sample.slot.run, sample.slot.kind, sample.slot.index


def tokens_per_s(samples: Sequence[Sample]) -> float | None:
    """Give tokens per second of the decode phase."""
    seconds = sum(sample.seconds for sample in samples)
    return sum(sample.emitted for sample in samples) / seconds if seconds > 0 else None
