"""The whole of a tune, within a time: costs and answers, layouts, guessers, search, trial.

Knows the order of things. Every part leaves what it found when the time is up or the user stops it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from localspec.core.counted import counted
from localspec.errors import LocalspecError
from localspec.measure.costs import Costs, fastest
from localspec.measure.live import LiveRunner
from localspec.measure.result import tokens_per_s
from localspec.measure.screen import plain_answers
from localspec.measure.survey import real_text, survey, survey_of
from localspec.measure.tune.candidates import (
    Arrangement,
    Deadline,
    Ground,
    Guesser,
    Layout,
    OutOfTime,
    TargetCosts,
)
from localspec.measure.tune.guessers import draft_guessers, head_guessers, target_placement
from localspec.measure.tune.layerskip import verdict as skipping
from localspec.measure.tune.layout_costs import ROWS, Ratios, Sampler, applied, relative_costs
from localspec.measure.tune.losses import Reading, Scales
from localspec.measure.tune.making import Maker, ready_finalists
from localspec.measure.tune.quality import Quality
from localspec.measure.tune.recipes import Considered, consider, is_quantised
from localspec.measure.tune.result import Tried, Tuned, from_bench
from localspec.measure.tune.search import search
from localspec.measure.tune.trial import Finalist, Trial, measured
from localspec.measure.tune.wanted import Wanted, left_out
from localspec.pairs.header import read_header
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import NONE

REPEATS = 3
FEWEST_ANSWERS = 4
ANSWER_TOKENS = 48
SHORTEST_ANSWER = 12
SURVEY_PASSES = 512
"""About how many one-row passes the survey of the given files takes."""
SHARES = {"given": 0.15, "drafts": 0.3, "layouts": 0.3, "making": 0.65}
"""Of the time that is left when each part begins."""
TWICE = (
    "the given target is quantised already, so its new layouts have lost twice; one quantised from "
    "the original weights would lose less"
)


def tune(runtime: Runtime, wanted: Wanted) -> Tuned:
    """Find the fastest arrangement for a loaded pair on this machine and these texts.

    Raises: LocalspecError when not even the given pair can be measured.
    """
    return _Tune(runtime, wanted).run()


class _Tune:
    """One tune being run."""

    def __init__(self, runtime: Runtime, wanted: Wanted) -> None:
        self.runtime, self.wanted = runtime, wanted
        self.deadline = Deadline(perf_counter() + wanted.max_s, perf_counter)
        self.notes: list[str] = []
        self.maker = Maker(self.deadline, wanted.told.say, self.notes.append)
        self.ready: list[Finalist] = []
        self.given_costs: Costs | None = None
        self.survey = REPEATS, 0.0
        self.warnings: list[str] = []
        self.guessers: list[Guesser] = []
        self.layouts: dict[Layout, Ratios] = {}
        self.found: list[Arrangement] = []
        self.tried: list[Tried] = []
        self.given_tps: float | None = None
        self.stopped = ""
        header = read_header(runtime.loaded.model.path)
        self.twice = is_quantised(header)

    def run(self) -> Tuned:
        """Go as far as time and the user let it."""
        try:
            self._run()
        except OutOfTime:
            self.stopped = self.stopped or "time"
        except KeyboardInterrupt:
            self.stopped = "interrupted"
        finally:
            used = [each.files for each in self.ready]
            self.maker.keep_only([p for it in used for p in (it.target, it.draft, it.skipped)])
        return self.result()

    def _run(self) -> None:
        ground = self._ground()
        self._find_targets(ground)
        ground = self._timed_again(ground)
        self._find_guessers(ground)
        self._search(ground)
        scales = self._scales()
        self._try(ground, self._files(scales), scales.found)

    def _ground(self) -> Ground:
        """Measure the given pair and write the answers that everything is held against."""
        told, runtime = self.wanted.told, self.runtime
        told.say("timing passes of the given files")
        runner = LiveRunner(runtime, real_text(runtime), ANSWER_TOKENS)
        part, one_s = SHARES["given"] * self.deadline.left_s, runner.probe_s()
        repeats = REPEATS if one_s * SURVEY_PASSES < part else 1
        began = perf_counter()
        self.given_costs = costs = survey(runtime, repeats=repeats).costs
        self.survey = repeats, perf_counter() - began
        told.say("writing plain answers to replay")
        each = max(-(-FEWEST_ANSWERS // len(self.wanted.kinds)), 1)
        room = int(part / (one_s * each * len(self.wanted.kinds)))
        runner.max_tokens = min(max(room, SHORTEST_ANSWER), ANSWER_TOKENS)
        stored = plain_answers(
            runner,
            self.wanted.kinds,
            each=each,
            temperature=self.wanted.temperature,
            seed=runtime.seed,
        )
        self.given_tps = tokens_per_s(stored.samples)
        four = costs.pass_s(4, 0) / costs.pass_s(1, 0)
        told.done(
            f"given files: {self.given_tps or 0:.1f} tok/s plain; a pass over 4 rows costs "
            f"{four:.2f} of one"
        )
        plan = survey_of(runtime, (), repeats=REPEATS)
        temperature = self.wanted.temperature
        note, file_of = self.notes.append, self.maker.file_of
        return Ground(
            runtime, costs, stored, plan, temperature, self.deadline, told.say, note, file_of
        )

    def _find_targets(self, ground: Ground) -> None:
        """Time samples of the target's other layouts."""
        considered = consider(ground.runtime.loaded.model.path, self.wanted.published)
        self.layouts[considered.given.layout] = {1: 1.0}
        self.notes += [f"{each.name} was left out: {each.reason}" for each in considered.skipped]
        try:
            self._time_layouts(ground, considered)
        except LocalspecError as failure:
            self.notes.append(f"the target stays as it is: {failure.message}")
        self.wanted.told.done(f"{counted(len(self.layouts), 'layout')} of the target")

    def _time_layouts(self, ground: Ground, considered: Considered) -> None:
        target = ground.runtime.loaded.target
        rows = tuple(count for count in ROWS if count <= target.max_rows)
        deadline = self.deadline.share(SHARES["layouts"])
        options = replace(target.options, strict_rows=None)
        place, text = target_placement(ground), ground.plan.text
        sampler = Sampler(options, text, rows, deadline, ground.say, place)
        for layout, ratios in relative_costs(considered.given, considered.others, sampler):
            self.layouts[layout] = ratios
        self.notes += sampler.failed

    def _timed_again(self, ground: Ground) -> Ground:
        """Time the given files once more, minutes later, and keep the faster of each pass.

        A survey that fell on a busy moment is no measure of the minutes after it.
        """
        repeats, taken = self.survey
        if taken > SHARES["given"] * self.deadline.left_s:
            return ground
        ground.say("timing passes of the given files again")
        costs = fastest([ground.costs, survey(self.runtime, repeats=repeats).costs])
        self.given_costs = costs
        return replace(ground, costs=costs)

    def _find_guessers(self, ground: Ground) -> None:
        if not ground.stored.transcripts:
            self.notes.append("the answers are too short to say what a draft would guess")
            return
        sources = (draft_guessers, head_guessers, *self.wanted.sources)
        for find in () if self.wanted.drafters == (NONE,) else sources:
            part = replace(ground, deadline=self.deadline.share(SHARES["drafts"]))
            self.maker.deadline = part.deadline
            try:
                for each in find(part):
                    self.guessers += [each] if self._may_draft(each) else []
            except OutOfTime:
                continue
            except LocalspecError as failure:
                self.notes.append(failure.message)
        self.wanted.told.done(
            f"{counted(len(self.guessers), 'way')} to guess, replayed on the answers"
        )

    def _may_draft(self, guesser: Guesser) -> bool:
        return not self.wanted.drafters or guesser.drafter in self.wanted.drafters

    def _search(self, ground: Ground) -> None:
        if not ground.stored.transcripts:
            return
        targets = [
            TargetCosts(layout, applied(ground.costs.target, ratios))
            for layout, ratios in self.layouts.items()
        ]
        self.found = search(ground, targets, self.guessers)
        self.tried = [Tried(each) for each in self.found]
        if self.found:
            best = self.found[0]
            self.wanted.told.done(
                f"{counted(len(self.found), 'arrangement')} predicted; the best, {best.label}, at "
                f"{best.predicted.speedup.value:.2f} times"
            )

    def _files(self, scales: Scales) -> list[Finalist]:
        """Write the finalists' files, with the next ones in place of those that cannot be."""
        maker, own = self.maker, self.runtime.settings
        maker.deadline = self.deadline.share(SHARES["making"])

        def admit(layout: Layout, path: Path) -> bool:
            return layout.as_given or self._near(layout, scales.lost(path))

        hot = self.wanted.temperature
        self.ready = ready_finalists(
            self.found, maker, admit, temperature=hot, heads=own.files.heads
        )
        if self.twice and any(each.arrangement.target.recipe for each in self.ready):
            self.notes.append(TWICE)
        return self.ready

    def _near(self, layout: Layout, lost: Quality | None) -> bool:
        """Say whether a new target loses no more than is allowed, and tell what it loses."""
        if lost is None:
            return True
        most, lost_now = self.wanted.most_kl, lost.kl_mean.value
        near = lost_now <= most
        words = "" if near else f", more than the {most:g} of --max-kl: left out"
        self.wanted.told.done(f"target {layout.name}: KL {lost_now:.4f} to the given one{words}")
        if not near:
            self.notes.append(f"target {layout.name} was left out: KL {lost_now:.4f}{words[:-10]}")
            self.tried = [
                replace(each, quality=lost, loses_too_much=True)
                if each.arrangement.target == layout
                else each
                for each in self.tried
            ]
        return near

    def _scales(self) -> Scales:
        texts = [prompt.ids for kind in self.wanted.kinds for prompt in kind.prompts]
        told = self.wanted.told
        return Scales(Reading(self.runtime, texts, self.deadline, told.say, self.notes.append))

    def _try(self, ground: Ground, chosen: Sequence[Finalist], lost: dict[Path, Quality]) -> None:
        """Measure the finalists in turn with the given files."""
        if not chosen:
            return
        trial = Trial(
            self.runtime,
            self.wanted.kinds,
            self.wanted.temperature,
            self.deadline,
            ground.costs,
            self.wanted.told.progress,
            self.wanted.meter,
        )
        result = measured(chosen, trial)
        self.stopped = result.stopped if result.stopped in ("time", "interrupted") else ""
        self.warnings += result.warnings
        plain = result.of(result.design.plain_arms[0])
        self.given_tps = tokens_per_s(plain) or self.given_tps
        found = from_bench(chosen, result, losses=lost, most_kl=self.wanted.most_kl)
        known = [each.arrangement for each in found]
        self.tried = [*found, *(each for each in self.tried if each.arrangement not in known)]

    def result(self) -> Tuned:
        """Give what there is."""
        said = skipping(self.tried, self.given_costs) if self.given_costs else None
        names = [each.drafter for each in self.guessers]
        return Tuned(
            self.given_tps,
            tuple(self.tried),
            notes=tuple(dict.fromkeys([said, *self.notes] if said else self.notes)),
            warnings=tuple(self.warnings),
            stopped=self.stopped,
            drafters=tuple(dict.fromkeys(names)),
            left_out=left_out(self.runtime.settings, self.wanted, names),
        )
