"""Finalists measured in turn with the given files, by the bench that everything else goes through.

Knows files, settings and loaded pairs; as many are kept open as memory allows. Chooses nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from time import perf_counter

from localspec.core.events import Event
from localspec.measure import noise
from localspec.measure.arms import Arm, Design, Kind, Slot
from localspec.measure.bench import Progress, Tools, run_bench
from localspec.measure.costs import Costs
from localspec.measure.live import LiveRunner
from localspec.measure.machine import available_bytes
from localspec.measure.result import BenchResult
from localspec.measure.survey import real_text
from localspec.measure.tune.candidates import Arrangement, Deadline
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import LAYERSKIP, MTP, NONE, PairFiles, RunSettings

ANSWER_TOKENS = 64
RUNS = 3
SPARE_BYTES = 2**30
GROWTH = 1.25  # weights that are packed anew for the processor, and a cache


@dataclass(frozen=True)
class Finalist:
    """An arrangement with its files, and the arm that measures it."""

    arrangement: Arrangement
    files: PairFiles
    arm: Arm

    def settings(self, own: RunSettings) -> RunSettings:
        """Give the run that this arrangement is.

        Prediction layers are loaded where the given target's are, since one target answers for
        every arrangement of its layout.
        """
        drafter = self.arrangement.drafter
        names = (drafter, MTP) if MTP in own.drafters and drafter != MTP else (drafter,)
        drafters = tuple(name for name in names if len(names) == 1 or name != NONE)
        return replace(own, files=self.files, drafters=drafters, gamma=self.arm.gamma)


def finalist(arrangement: Arrangement, files: PairFiles, temperature: float) -> Finalist:
    """Name the arm of an arrangement."""
    words = arrangement.target.name
    if arrangement.draft is not None:
        kind = f"{LAYERSKIP} " if arrangement.drafter == LAYERSKIP else ""
        words += f" + {kind}{arrangement.draft.name}"
    gamma = arrangement.gamma or None
    return Finalist(arrangement, files, Arm((arrangement.drafter,), gamma, temperature, words))


@dataclass
class TrialRunner:
    """Answer with the given pair, or with a finalist's files, opened when first asked for."""

    given: LiveRunner
    finalists: Sequence[Finalist]
    _open: dict[str, tuple[ExitStack, LiveRunner]] = field(default_factory=dict, repr=False)

    def answer(self, slot: Slot) -> Iterator[Event]:
        """Answer with empty caches."""
        return self._runner(slot.arm).answer(slot)

    def probe_s(self) -> float:
        """Give the seconds of one plain pass of the given target."""
        return self.given.probe_s()

    def top_two_gap(self, slot: Slot, tokens: Sequence[int]) -> float | None:
        """Give nothing: texts of different files are not compared."""
        del slot, tokens
        return None

    def close(self) -> None:
        """Close what was opened."""
        for stack, _ in self._open.values():
            stack.close()
        self._open.clear()

    def _runner(self, arm: Arm) -> LiveRunner:
        """Give the pair that answers for an arm; weights that are loaded are not loaded again."""
        if not arm.layout:
            return self.given
        chosen = self._host(next(each for each in self.finalists if each.arm == arm))
        if _covers(self.given.runtime.settings.files, chosen.files):
            return self.given
        name = chosen.arm.layout
        if name not in self._open:
            self._make_room(_bytes(chosen.files))
            self._open[name] = self._opened(chosen)
        return self._open[name][1]

    def _host(self, wanted: Finalist) -> Finalist:
        """Give the finalist whose files serve this one, too: the same target, and its draft."""
        return next(
            (
                each
                for each in self.finalists
                if (each.files.draft or each.files.skipped) and _covers(each.files, wanted.files)
            ),
            wanted,
        )

    def _make_room(self, needed: int) -> None:
        """Close the pair opened longest ago while memory is short."""
        while self._open and available_bytes() < needed + SPARE_BYTES:
            oldest = next(iter(self._open))
            self._open.pop(oldest)[0].close()

    def _opened(self, chosen: Finalist) -> tuple[ExitStack, LiveRunner]:
        own = self.given.runtime.settings
        stack = ExitStack()
        settings = chosen.settings(own)
        runtime: Runtime = stack.enter_context(open_runtime(settings, lambda _text: None))
        return stack, LiveRunner(runtime, self.given.probe_text, self.given.max_tokens)


def _covers(there: PairFiles, wanted: PairFiles) -> bool:
    same = there.target == wanted.target
    draft, skipped = wanted.draft in (None, there.draft), wanted.skipped in (None, there.skipped)
    return same and draft and skipped


def _bytes(files: PairFiles) -> int:
    paths = (files.target, files.draft, files.skipped)
    sizes = [path.stat().st_size for path in paths if path is not None]
    return int(GROWTH * sum(sizes))


@dataclass(frozen=True)
class Trial:
    """What a trial needs besides its finalists.

    `costs`: of the given files, so that longer rounds are not taken for disturbed ones.
    """

    runtime: Runtime
    kinds: tuple[Kind, ...]
    temperature: float
    deadline: Deadline
    costs: Costs | None = None
    progress: Callable[[Progress], None] | None = None
    meter: noise.Meter | None = None


def measured(finalists: Sequence[Finalist], trial: Trial) -> BenchResult:
    """Let the given files and every finalist answer in turn; an interruption keeps what there is.

    Raises: PairRefused when a finalist cannot be loaded.
    """
    given = LiveRunner(trial.runtime, real_text(trial.runtime), ANSWER_TOKENS)
    runner = TrialRunner(given, finalists)
    design = Design(
        trial.kinds,
        tuple(each.arm for each in finalists),
        RUNS,
        seed=trial.runtime.seed,
        verify=False,
    )
    tools = Tools(
        perf_counter,
        meter=trial.meter,
        costs=trial.costs,
        max_s=max(trial.deadline.left_s, 1.0),
        progress=trial.progress,
    )
    try:
        return run_bench(design, runner, tools)
    finally:
        runner.close()
