"""The parts of the policy benchmark: which fixed choices to run, answers in turn, ratios.

Knows a runtime, its costs and prompts. Does not know how results are shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter

from localspec.core.generate import Speculation, generate
from localspec.core.policy import FixedPolicy
from localspec.core.sampling import Sampler
from localspec.core.statistics import Estimate
from localspec.measure.arms import Arm, Kind, Slot
from localspec.measure.costs import Costs
from localspec.measure.intervals import Pairing, ratio, speedup_interval
from localspec.measure.live import LiveRunner
from localspec.measure.sample import Sample, take
from localspec.measure.screen import Screened, plain_answers, screen_lookup, screen_model
from localspec.measure.survey import real_text
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import AUTO, LOOKUP, MODEL
from localspec.runtime.speculation import Workshop

GAMMAS = tuple(range(1, 9))
COPIES = (*GAMMAS, 11, 15)


@dataclass(frozen=True)
class Terms:
    """What a race is run under.

    `top`: how many fixed choices of each kind are measured; `fresh`: `auto` begins anew with every
    kind, instead of keeping one policy over all of them as a conversation does.
    """

    temperature: float
    seconds: float
    tokens: int
    top: int
    seed: int = 1
    fresh: bool = False


@dataclass
class Lap:
    """All answers of one kind of text: what replay promised, and samples by arm and prompt."""

    kind: Kind
    arms: tuple[Arm, ...]
    predicted: dict[Arm, float]
    samples: dict[Arm, list[Sample]] = field(default_factory=dict)

    @property
    def plain(self) -> Arm:
        """Give the arm that guesses nothing."""
        return next(arm for arm in self.arms if arm.plain)

    @property
    def auto(self) -> Arm:
        """Give the arm that chooses for itself."""
        return next(arm for arm in self.arms if arm.drafters == (AUTO,))

    @property
    def best(self) -> Arm:
        """Give the fastest fixed choice, plain decoding among them."""
        fixed = [arm for arm in self.arms if arm.drafters != (AUTO,)]
        return max(fixed, key=self.speed)

    def speed(self, arm: Arm) -> float:
        """Give tokens per second over all prompts."""
        mine = self.samples[arm]
        return sum(it.emitted for it in mine) / sum(it.seconds for it in mine)

    def over(self, arm: Arm, base: Arm) -> tuple[float, Estimate | None]:
        """Give how much faster one arm is than another, and the interval over prompts."""
        pairings = [
            Pairing(below.seconds, below.emitted, above.seconds, above.emitted)
            for above, below in zip(self.samples[arm], self.samples[base], strict=True)
        ]
        return ratio(pairings), speedup_interval(pairings)

    def priced(self, arm: Arm, base: Arm, costs: Costs) -> float:
        """Give the same ratio with each target pass at its usual cost, free of its noise."""
        return _priced_speed(self.samples[arm], costs) / _priced_speed(self.samples[base], costs)


def _priced_speed(samples: Sequence[Sample], costs: Costs) -> float:
    """Give tokens per second; drafts count as measured, passes by the curve."""
    steps = [step for sample in samples for step in sample.steps]
    usual = sum(costs.pass_s(s.drafted + 1, s.position) + s.draft_s + s.other_s for s in steps)
    return sum(sample.emitted for sample in samples) / usual


def choices(
    runtime: Runtime, kinds: Sequence[Kind], terms: Terms, costs: Costs
) -> Iterator[tuple[Kind, dict[Arm, float]]]:
    """Give every fixed choice of a kind with its speed-up by replay, the best first."""
    runner = LiveRunner(runtime, real_text(runtime), terms.tokens)
    stored = plain_answers(runner, kinds, each=1, temperature=terms.temperature, seed=terms.seed)
    screens = [screen_lookup(runtime, stored=stored, costs=costs, most=max(COPIES))]
    loaded = runtime.loaded
    if loaded.draft is not None and loaded.draft_model is not None:
        sampling = replace(runtime.settings.sampling, temperature=terms.temperature)
        sampler = Sampler(sampling, runtime.vocabulary.usable)
        most = max(GAMMAS)
        screens.append(
            screen_model(
                loaded.draft_model, loaded.draft, sampler, stored=stored, costs=costs, most=most
            )
        )
    for kind in kinds:
        promised = _promised(screens, kind.name, terms.temperature)
        yield kind, dict(sorted(promised.items(), key=lambda item: -item[1]))


def _promised(screens: Sequence[Screened], kind: str, temperature: float) -> dict[Arm, float]:
    """Put the drafters' promises together; a chain gains what both gain, roughly."""
    found: dict[Arm, float] = {}
    for screen in screens:
        for point in screen.by_kind.get(kind, screen.points):
            if point.gamma in (COPIES if screen.drafter == LOOKUP else GAMMAS):
                arm = Arm((screen.drafter,), point.gamma, temperature)
                found[arm] = point.speedup.value
    copies = max((v for arm, v in found.items() if arm.drafters == (LOOKUP,)), default=1.0)
    for arm, value in list(found.items()):
        if arm.drafters == (MODEL,):
            found[replace(arm, drafters=(LOOKUP, MODEL))] = value + max(copies - 1.0, 0.0) / 2
    return found


def chosen_arms(promised: dict[Arm, float], terms: Terms) -> tuple[Arm, ...]:
    """Take plain, auto, the best choices by replay, and the best of each drafter."""
    fixed = list(promised)
    firsts = {arm.drafters: arm for arm in reversed(fixed)}
    near = [arm for arm in firsts.values() if promised[arm] > 0.8 * max(1.0, promised[fixed[0]])]
    plain, auto = Arm(temperature=terms.temperature), Arm((AUTO,), None, terms.temperature)
    return tuple(dict.fromkeys([plain, *fixed[: terms.top], *near, auto]))


class Race:
    """Answers of every kind by every arm in turn, until the time is over."""

    def __init__(self, runtime: Runtime, terms: Terms) -> None:
        self.runtime, self.terms = runtime, terms
        self._known: dict[tuple[Arm, str], Speculation] = {}

    def run(self, laps: Sequence[Lap], end: float) -> None:
        """Measure prompt after prompt; every kind at least once, whole rounds of arms only."""
        most = max(len(lap.kind.prompts) for lap in laps)
        for number in range(most):
            for lap in laps:
                if number < len(lap.kind.prompts) and (perf_counter() < end or not number):
                    self._measure(lap, number)

    def _measure(self, lap: Lap, number: int) -> None:
        """Let the arms answer one prompt, in an order that turns around from prompt to prompt."""
        prompt = lap.kind.prompts[number]
        order = lap.arms if (number + len(lap.kind.name)) % 2 else lap.arms[::-1]
        for context in (self.runtime.loaded.target, self.runtime.loaded.draft):
            if context:
                context.rewind(0)
        for arm in order:
            slot = Slot(0, lap.kind.name, number, prompt, arm, self.terms.seed + number)
            lap.samples.setdefault(arm, []).append(self._answer(slot))

    def _answer(self, slot: Slot) -> Sample:
        """Answer; the prompt stays in the caches from one arm to the next."""
        self.runtime.seed = slot.seed
        sampling = replace(self.runtime.settings.sampling, temperature=slot.arm.temperature)
        options = replace(self.runtime.options(), max_tokens=self.terms.tokens, sampling=sampling)
        speculation = self._speculation(slot.arm, slot.kind)
        target = self.runtime.loaded.target
        return take(slot, generate(target, slot.prompt.ids, options, speculation=speculation))

    def _speculation(self, arm: Arm, kind: str) -> Speculation:
        """Keep drafters and policy from answer to answer."""
        kind = kind if self.terms.fresh else ""
        known = self._known.get((arm, kind))
        if known is None:
            sampling = replace(self.runtime.settings.sampling, temperature=arm.temperature)
            settings = replace(
                self.runtime.settings, drafters=arm.drafters, gamma=arm.gamma, sampling=sampling
            )
            known = Workshop(self.runtime.loaded).speculation(settings)
            if arm.gamma is not None:  # what hindsight chose needs no plain passes in between
                order = tuple(drafter.name for drafter in known.drafters)
                known = Speculation(FixedPolicy(arm.gamma, order), known.drafters)
            self._known[arm, kind] = known
        return known


def auto_words(lap: Lap) -> str:
    """Say how `auto` spent its rounds."""
    steps = [step for sample in lap.samples[lap.auto] for step in sample.steps]
    parts = []
    for name in dict.fromkeys(step.drafter for step in steps):
        mine = [step for step in steps if step.drafter == name]
        share = f"{name or 'plain'} {100 * len(mine) / len(steps):.0f} %"
        parts.append(f"{share} γ~{median(s.drafted for s in mine):g}" if name else share)
    return ", ".join(parts)
