"""Run a bench: every arm in turn, disturbed answers again, and stop when there is no more to learn.

Knows a runner, a clock and a meter, all given to it. Does not know models, files or screens. An
interruption at any moment keeps what was measured.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from localspec.measure import noise
from localspec.measure.arms import Arm, Design, Slot
from localspec.measure.costs import Clock, Costs, averaged
from localspec.measure.intervals import ratio
from localspec.measure.oddities import oddities
from localspec.measure.result import BenchResult, Difference
from localspec.measure.runner import Runner
from localspec.measure.sample import CUT, Sample, take
from localspec.measure.verdict import settled

ATTEMPTS = 3
MOST_REPEATS = 0.5
EARLIEST_STOP = 2
COSTS_SHARE = 0.25


@dataclass(frozen=True)
class Progress:
    """Where a bench stands. Units: seconds; `left_s` None before anything can be said."""

    done: int
    total: int
    slot: Slot
    estimate: float | None
    best: Arm | None
    left_s: float | None


@dataclass(frozen=True)
class Tools:
    """What a bench works with, and whom it tells. `max_s` None sets no limit.

    `costs_again` measures the costs once more, after every run, or, where that takes long beside a
    run, after the first and the last: a prediction goes by all of them, as a machine that drifts
    was between them.
    """

    clock: Clock
    meter: noise.Meter | None = None
    costs: Costs | None = None
    max_s: float | None = None
    warmup: int = 1
    early_stop: bool = True
    progress: Callable[[Progress], None] | None = None
    saved: Callable[[BenchResult], None] | None = None
    costs_again: Callable[[], Costs] | None = None


class _TimeUp(Exception):
    """The time is used up."""


def run_bench(design: Design, runner: Runner, tools: Tools) -> BenchResult:
    """Measure the design; Ctrl-C and the time limit give what there is."""
    bench = _Bench(design, runner, tools)
    try:
        bench.warm_up()
        for number in range(design.runs):
            bench.run(number)
            settled = bench.settled(number)
            bench.measure_costs_again(last=settled or number + 1 == design.runs)
            if settled:
                bench.stopped = "settled"
                break
            bench.save()
        bench.complete = True
    except _TimeUp:
        bench.stopped = "time"
    except KeyboardInterrupt:
        bench.stopped = "interrupted"
    return bench.save()


class _Bench:
    """One bench being run."""

    def __init__(self, design: Design, runner: Runner, tools: Tools) -> None:
        self.design, self.runner, self.tools = design, runner, tools
        self.samples: list[Sample] = []
        self.replaced: list[Sample] = []
        self.differences: list[Difference] = []
        self.probes: list[float] = []
        self.clocks: list[float] = []
        self.complete, self.stopped = False, ""
        self._calibrations = [tools.costs] if tools.costs else []
        self._calibration_s = self._run_s = 0.0
        self._began = tools.clock()

    def save(self) -> BenchResult:
        """Hand out what there is."""
        result = self.result()
        if self.tools.saved:
            self.tools.saved(result)
        return result

    def warm_up(self) -> None:
        """Answer a little with every arm, and count none of it."""
        for block in self._first_blocks():
            for slot in block:
                take(slot, self.runner.answer(slot))

    def _first_blocks(self) -> Iterator[tuple[Slot, ...]]:
        blocks = self.design.run(0)
        for _ in range(self.tools.warmup):
            block = next(blocks, None)
            if block is not None:
                yield block

    def run(self, number: int) -> None:
        """Do one run over all kinds and arms, then again what a delay spoiled."""
        began = self.tools.clock()
        self._look()
        for block in self.design.run(number):
            begun = len(self.samples)
            try:
                for slot in block:
                    self._undisturbed(slot)
            finally:
                self._compare(self.samples[begun:])
        self._repeat_outliers(number)
        self._look()
        self._run_s = self.tools.clock() - began

    def measure_costs_again(self, *, last: bool) -> None:
        """Let the costs after a run count as much as those before it."""
        again, began = self.tools.costs_again, self.tools.clock()
        if again is None or not self._calibrations:
            return
        if last or self._calibration_s <= COSTS_SHARE * self._run_s:
            self._check_time()
            self._calibrations.append(again())
            self._calibration_s = self.tools.clock() - began

    def _look(self) -> None:
        """Note what a plain pass takes now, and the processors' clock."""
        self.probes.append(self.runner.probe_s())
        now = noise.clock_mhz() if self.tools.meter else None
        self.clocks += [now] if now else []

    def _undisturbed(self, slot: Slot) -> None:
        """Measure an answer, again while other programs used the processors.

        The first measurement is kept at once: an end during the second must not lose it.
        """
        self.samples.append(self._measure(slot))
        while (old := self.samples[-1]).affected and old.attempts < ATTEMPTS:
            if not self._may_repeat():
                return
            new = self._measure(slot, attempt=old.attempts + 1)
            self.samples[-1] = self._better(old, new)

    def _better(self, old: Sample, new: Sample) -> Sample:
        kept, lost = (new, old) if (new.others or 0) <= (old.others or 0) else (old, new)
        self.replaced.append(lost)
        return replace(kept, attempts=max(old.attempts, new.attempts))

    def _may_repeat(self) -> bool:
        return len(self.replaced) < max(MOST_REPEATS * self.design.answers, 1)

    def _measure(self, slot: Slot, *, attempt: int = 1) -> Sample:
        self._check_time()
        self._tell(slot)
        meter = self.tools.meter
        before = meter.read() if meter else None
        sample = take(slot, self.runner.answer(slot))
        others = None
        if meter and before:
            others = noise.others_share(before, meter.read(), meter.processors)
        affected = "others" if (others or 0.0) > noise.OTHERS_LIMIT else ""
        return replace(sample, others=others, attempts=attempt, affected=affected)

    def _check_time(self) -> None:
        limit = self.tools.max_s
        if limit is not None and self.tools.clock() - self._began >= limit:
            raise _TimeUp

    def _tell(self, slot: Slot) -> None:
        if self.tools.progress is None:
            return
        done, total = len(self.samples), self.design.answers
        spent = self.tools.clock() - self._began
        left = spent / done * (total - done) if done else None
        if left is not None and self.tools.max_s is not None:
            left = min(left, self.tools.max_s - spent)
        best, value = self._best(slot.kind)
        self.tools.progress(Progress(done, total, slot, value, best, left))

    def _best(self, kind: str) -> tuple[Arm | None, float | None]:
        result = self.result()
        pairings = [(arm, result.pairings(arm, kind)) for arm in self.design.arms]
        known = [(ratio(found), arm) for arm, found in pairings if found]
        value, arm = max(known, key=lambda item: item[0], default=(None, None))
        return arm, value

    def _repeat_outliers(self, number: int) -> None:
        """Measure answers again whose passes took far longer than those of their arm."""
        for arm in (*self.design.plain_arms, *self.design.arms):
            mine = [place for place, s in enumerate(self.samples) if s.arm == arm and s.steps]
            late = noise.outliers([self.pace(self.samples[place]) for place in mine])
            for place in (mine[at] for at in late):
                if self.samples[place].slot.run == number and self._may_repeat():
                    self._repeat(place)

    def _repeat(self, place: int) -> None:
        old = self.samples[place]
        new = self._measure(old.slot, attempt=old.attempts + 1)
        faster = self.pace(new) < self.pace(old)
        kept, lost = (new, old) if faster else (old, new)
        self.replaced.append(lost)
        self.samples[place] = replace(kept, attempts=new.attempts)

    def pace(self, sample: Sample) -> float:
        """Give seconds over those expected, or seconds a pass where no cost is known."""
        costs = self.tools.costs
        if costs is None:
            return sample.seconds / len(sample.steps)
        return sample.seconds / sum(costs.step_s(step) for step in sample.steps)

    def settled(self, number: int) -> bool:
        """Say whether every arm of every kind has its word."""
        if not self.tools.early_stop or number + 1 < EARLIEST_STOP:
            return False
        if number + 1 >= self.design.runs:
            return False
        result = self.result()
        found = [
            result.speedup(arm, kind.name) for kind in self.design.kinds for arm in self.design.arms
        ]
        return all(each is not None and settled(each[1]) for each in found)

    def _compare(self, block: list[Sample]) -> None:
        """Hold each text against the plain one, where they must be equal."""
        plain = {sample.arm.temperature: sample for sample in block if sample.arm.plain}
        for sample in block:
            arm, slot = sample.arm, sample.slot
            if arm.plain or not self.design.comparable(arm) or arm.temperature not in plain:
                continue
            place = first_difference(plain[arm.temperature], sample)
            if place is not None:
                gap = self.runner.top_two_gap(slot, sample.tokens[:place])
                self.differences.append(Difference(arm, slot.kind, slot.index, place, gap))

    def result(self) -> BenchResult:
        """Give what there is."""
        return BenchResult(
            self.design,
            self._flagged(),
            replaced=tuple(self.replaced),
            costs=averaged(self._calibrations) if self._calibrations else None,
            differences=tuple(self.differences),
            probes=tuple(self.probes),
            warnings=tuple(oddities(self.replaced, self.probes, self.clocks)),
            complete=self.complete,
            stopped=self.stopped,
        )

    def _flagged(self) -> tuple[Sample, ...]:
        """Mark what is still far too slow after its repeat."""
        flagged = list(self.samples)
        for arm in {sample.arm for sample in flagged}:
            mine = [place for place, s in enumerate(flagged) if s.arm == arm and s.steps]
            for at in noise.outliers([self.pace(flagged[place]) for place in mine]):
                place = mine[at]
                flagged[place] = replace(
                    flagged[place], affected=flagged[place].affected or "delay"
                )
        return tuple(flagged)


def first_difference(plain: Sample, sample: Sample) -> int | None:
    """Give the first place where two texts differ; None if they agree.

    A text that was cut, at a loop or when time was up, is compared as far as it goes.
    """
    ours, theirs = plain.tokens, sample.tokens
    shared = min(len(ours), len(theirs))
    for place in range(shared):
        if ours[place] != theirs[place]:
            return place
    if len(ours) == len(theirs) or CUT & {plain.finish, sample.finish}:
        return None
    return shared
