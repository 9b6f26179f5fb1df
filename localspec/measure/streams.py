"""Several answers at the same time: plain and speculative, in turn, with so many sequences a pass.

Knows lanes and their turns. Does not know caches, or how it is shown. Speculation lives on
arithmetic that one sequence leaves idle; several use it up, and this measures how soon.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from math import ceil

from localspec.core.counted import counted
from localspec.errors import LocalspecError
from localspec.measure import noise
from localspec.measure.arms import Arm, Design, Slot
from localspec.measure.bench import Progress, first_difference
from localspec.measure.costs import Clock
from localspec.measure.findings import ArmFound, arm_found
from localspec.measure.lanes import SHARING, Lane
from localspec.measure.live import LiveRunner
from localspec.measure.result import BenchResult, Difference, tokens_per_s
from localspec.measure.verdict import Quiet, Word
from localspec.runtime.settings import HEADS

TOKENS_A_TURN = 16
PROMPTS_A_RUN = 2 / 3


def _silent(_text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class StreamsTools:
    """What the measurement works with, and whom it tells. `end`: the clock's reading to stop at."""

    clock: Clock
    meter: noise.Meter | None = None
    end: float = float("inf")
    progress: Callable[[Progress], None] | None = None
    notify: Callable[[str], None] = field(default=_silent, repr=False)


@dataclass(frozen=True)
class StreamsFound:
    """So many sequences at a time: the answers of every arm, and how quiet it was."""

    streams: int
    result: BenchResult
    quiet: Quiet

    @property
    def plain_tps(self) -> float | None:
        """Give tokens per second of all sequences together, plain."""
        return tokens_per_s(self.result.of(self.result.design.plain_arms[0]))

    @property
    def arms(self) -> tuple[ArmFound, ...]:
        """Give every arm with its word; tokens per second are those of all sequences together."""
        arms = self.result.design.arms
        return tuple(arm_found(self.result, arm, quiet=self.quiet) for arm in arms)

    @property
    def best(self) -> ArmFound | None:
        """Give the fastest arm, whether it pays or not."""
        known = [found for found in self.arms if found.speedup is not None]
        return max(known, key=lambda found: found.speedup or 0.0, default=None)


def arms_for_streams(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Give the arms that can share their passes, at the first temperature.

    `auto` is left out: it weighs the cost of its own rows, and here a pass costs what all rows do.
    """
    first = arms[0].temperature if arms else 0.0
    return tuple(
        arm
        for arm in arms
        if arm.gamma is not None and arm.temperature == first and set(arm.drafters) <= SHARING
    )


def measure_streams(
    runner: LiveRunner, design: Design, counts: Sequence[int], tools: StreamsTools
) -> Iterator[StreamsFound]:
    """Measure each number of sequences in turn; Ctrl-C and the time limit give what there is."""
    arms = arms_for_streams(design.arms)
    heads = sorted({name for arm in design.arms for name in arm.drafters} & set(HEADS))
    if heads:
        tools.notify(
            f"--streams: {', '.join(heads)} left out: heads read the states of one sequence alone"
        )
    elif not arms:
        tools.notify("--streams: no drafter here has a fixed γ and can share its passes")
    if not arms:
        return
    for count in counts:
        if tools.clock() >= tools.end:
            tools.notify(f"--streams: no time was left for {count} at once")
            return
        try:
            found = _measured(runner, replace(design, arms=arms), count, tools)
        except LocalspecError as failure:
            tools.notify(f"--streams: {count} at once: {failure.message}")
            return
        yield found
        if found.result.stopped:
            return


def _measured(runner: LiveRunner, design: Design, count: int, tools: StreamsTools) -> StreamsFound:
    """Let plain and every arm write the same answers, a little each in turn."""
    slots = slots_of(design, count)
    arms = (*design.plain_arms, *design.arms)
    stopped = "interrupted"
    lanes: list[Lane] = []
    turns = _Turns(lanes, count, tools, total=runner.max_tokens * len(slots) * len(arms))
    try:
        with ExitStack() as resources:
            for arm in arms:
                lanes.append(resources.enter_context(Lane(runner, arm, slots, count)))
            stopped = turns.take()
    except KeyboardInterrupt:
        pass
    samples = tuple(sample for lane in lanes for sample in lane.samples if sample.steps)
    result = BenchResult(design, samples, complete=not stopped, stopped=stopped)
    if not stopped:
        result = replace(result, differences=tuple(_differences(runner, result)))
    return StreamsFound(count, result, Quiet(affected=turns.affected))


def slots_of(design: Design, count: int) -> list[Slot]:
    """Give the answers to be written: a prompt of every kind in turn, at least two a seat.

    A prompt that comes again has another seed, and counts as one prompt.
    """
    each = max(1, ceil(PROMPTS_A_RUN * design.runs))
    wanted = max(2 * count, each * len(design.kinds))
    turns = ((at, kind) for at in range(wanted) for kind in design.kinds)
    return [
        Slot(0, kind.name, at, kind.prompts[at % len(kind.prompts)], Arm(), design.seed + 7919 * at)
        for at, kind in islice(turns, wanted)
    ]


class _Turns:
    """Lanes that write about the same number of tokens in turn, so that a slow moment hits all."""

    def __init__(
        self, lanes: Sequence[Lane], count: int, tools: StreamsTools, *, total: int
    ) -> None:
        self._lanes, self._count, self._tools, self._total = lanes, count, tools, total
        self._turns = self._disturbed = 0
        self._began = tools.clock()

    @property
    def affected(self) -> float:
        """Give the share of turns during which other programs used the processors."""
        return self._disturbed / self._turns if self._turns else 0.0

    def take(self) -> str:
        """Take turns until every lane has run out of answers; say what stopped it, if anything."""
        order = list(self._lanes)
        while any(not lane.drained for lane in self._lanes):
            for lane in order:
                if self._tools.clock() >= self._tools.end:
                    return "time"
                if not lane.drained:
                    self._turn(lane)
            order.reverse()
        return ""

    def _turn(self, lane: Lane) -> None:
        self._tell(lane)
        meter = self._tools.meter
        before = meter.read() if meter else None
        lane.advance(TOKENS_A_TURN * self._count)
        self._turns += 1
        if meter and before:
            others = noise.others_share(before, meter.read(), meter.processors)
            self._disturbed += (others or 0.0) > noise.OTHERS_LIMIT

    def _tell(self, lane: Lane) -> None:
        if self._tools.progress is not None:
            done = sum(each.written for each in self._lanes)
            slot = Slot(0, f"{self._count} at once", 0, lane.slots[0].prompt, lane.arm, 0)
            spent = self._tools.clock() - self._began
            left = spent / done * (self._total - done) if done else None
            self._tools.progress(Progress(done, self._total, slot, None, None, left))


def _differences(runner: LiveRunner, result: BenchResult) -> Iterator[Difference]:
    """Hold each text against the plain one that was written beside as many others."""
    for arm in result.design.arms:
        if not result.design.comparable(arm):
            continue
        for plain, sample in result.pairs(arm):
            place = first_difference(plain, sample)
            if place is not None:
                slot = sample.slot
                gap = runner.top_two_gap(slot, sample.tokens[:place])
                yield Difference(arm, slot.kind, slot.index, place, gap)


def streams_sentence(found: Sequence[StreamsFound]) -> str:
    """Say up to how many sequences a draft pays, and where the gain is gone; "" without any."""
    known = [(each.streams, each.best) for each in found if each.best is not None]
    pays = [(count, best) for count, best in known if best.word is Word.PAYS]
    gone = next((each for each in known if each[1].word in (Word.SLOWER, Word.UNCLEAR)), None)
    if not known:
        return ""
    if gone is None:
        most = pays[-1] if pays else None
        return f"A draft still pays with {_at_once(most)}." if most else "Too noisy to say."
    lead = f"A draft pays with {_at_once(pays[-1])}; " if pays and pays[-1][0] < gone[0] else ""
    text = f"{lead}the gain is gone with {_at_once(gone)}."
    return text[0].upper() + text[1:]


def _at_once(point: tuple[int, ArmFound]) -> str:
    count, best = point
    sequences = counted(count, "sequence", plural="sequences at once")
    return f"{sequences} ({best.arm.label}: {best.speedup:.2f} times as fast)"
