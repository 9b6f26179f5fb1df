"""A fake machine and fake texts for the policy: rounds without models, with a clock of sums.

A world knows what every pass costs and how likely each drafted token is accepted at each place
of a text. Seconds told to the policy may be noisy; a run is judged by the true ones, and by the
expected tokens of each round, so that luck does not decide a comparison.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from random import Random

import numpy as np

from localspec.core.adaptive import AdaptivePolicy
from localspec.core.cost_curve import CostPoint, CostSeed
from localspec.core.costs import CostModel
from localspec.core.distribution import Distribution, point
from localspec.core.events import Origin, Step
from localspec.core.policy import FixedPolicy, Policy
from localspec.core.standing import DrafterFacts
from localspec.core.theory import MAX_GAMMA

POINT = point(0)

QWEN_PURE = (1, 1.65, 2.37, 1.58, 2.33, 3.03, 2.98, 2.93, 3.3, 3.7, 4.1, 4.43, 4.5, 4.5, 4.6, 4.61)
QWEN_OFFICIAL = (1, 1.84, 2.5, 3.06, 3.72, 4.34, 4.7, 5.02, 5.4, 5.7, 6.0, 6.28, 6.2, 6.1, 6.0, 6.0)
SMOL_PURE = (1, 1.42, 1.9, 1.62, 2.11, 2.56, 2.63, 2.7, 3.0, 3.3, 3.5, 3.8, 4.0, 4.1, 4.2, 4.37)
SMOL_BF16 = (1, 1.19, 1.36, 1.55, 1.62, 1.75, 1.9, 2.09, 2.2, 2.3, 2.4, 2.56, 2.6, 2.7, 2.8, 2.81)
GPU = tuple(1 + 0.015 * rows for rows in range(16))
STEEP = tuple(1 + 0.8 * rows for rows in range(16))

Chances = Callable[[int, Random], float]


def verify_cost(curve: Sequence[float], rows: int) -> float:
    return curve[rows - 1] if rows <= len(curve) else curve[-1] * rows / len(curve)


@dataclass(frozen=True)
class FakeDrafter:
    """`chance(place, random)`: acceptance at a place; `hit`: share of rounds with a match.
    `telling` laws show the chance, `greedy` ones by their margin; `soft` labels are chances."""

    name: str
    seconds: float
    chance: Chances
    deterministic: bool = False
    hit: float = 1.0
    telling: bool = False
    soft: bool = False
    catch_up_s: float = 0.0
    asks: bool = True
    greedy: bool = False


@dataclass(frozen=True)
class World:
    curve: Sequence[float]
    one_row_s: float
    drafters: tuple[FakeDrafter, ...]
    noise: float = 0.0
    spikes: float = 0.0
    other_s: float = 0.0001
    context_slope: float = 0.0
    matches: dict[str, float] = field(default_factory=dict)

    def verify_s(self, rows: int, context: int) -> float:
        usual = self.one_row_s * verify_cost(self.curve, rows)
        return usual * (1 + self.context_slope * context)

    def seed(self, scale: float = 1.0) -> CostSeed:
        """A calibration as it should be, or with rows wrong by `scale`."""
        points = tuple(
            CostPoint(n, c, self.verify_s(n, c) * (scale if n > 1 else 1))
            for n in (1, 2, 3, 4, 5, 6, 8, 12, 16)
            for c in (64, 512)
        )
        return CostSeed(points, {it.name: it.seconds for it in self.drafters})

    def policy(self, *, calibrated: bool = False) -> AdaptivePolicy:
        facts = [
            DrafterFacts(
                it.name,
                it.deterministic,
                self._match(it) if it.deterministic else None,
                asks=it.asks and not it.deterministic,
            )
            for it in self.drafters
        ]
        seed = self.seed() if calibrated else CostSeed()
        return AdaptivePolicy(facts, costs=CostModel(seed, max_rows=MAX_GAMMA + 1))

    def _match(self, drafter: FakeDrafter) -> Callable[[], float]:
        return lambda: self.matches.get(drafter.name, 0.0)


@dataclass
class Run:
    """What a run wrote and took, in expected tokens and true seconds."""

    expected: float = 0.0
    seconds: float = 0.0
    tokens: int = 0
    passes: int = 0
    drafted: int = 0
    baselines: int = 0
    gammas: list[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.expected / self.seconds


class Text:
    """One text: chances and laws of each drafter at each place, the same for every policy."""

    def __init__(self, world: World, length: int, seed: int) -> None:
        random = Random(seed)
        size = length + 4 * MAX_GAMMA
        self.world = world
        self.chances = {
            it.name: [it.chance(place, random) for place in range(size)] for it in world.drafters
        }
        self.hits = {
            it.name: [random.random() < it.hit for _ in range(size)] for it in world.drafters
        }

    def law(self, drafter: FakeDrafter, place: int) -> Distribution:
        if drafter.deterministic or not drafter.telling:
            return POINT
        top = min(max(self.chances[drafter.name][place], 0.05), 0.95)
        if drafter.greedy:
            return point(0, 2 * log(top / (1 - top)) + 2)
        return Distribution(np.array([0, 1]), np.array([top, 1 - top]))


@dataclass
class _Drafted:
    name: str = ""
    count: int = 0
    seconds: float = 0.0


class Simulation:
    """Run a policy over a text, round by round."""

    def __init__(self, text: Text, policy: Policy, seed: int, *, start: int = 64) -> None:
        self.text, self.world, self.policy = text, text.world, policy
        self.random, self.others = Random(seed + 1), Random(seed + 2)
        self.start = start
        self.place = 0
        self.read = {it.name: start for it in self.world.drafters}
        self.by_name = {it.name: it for it in self.world.drafters}
        self.run = Run()

    def finish(self, tokens: int) -> Run:
        while self.run.tokens < tokens:
            self.round(tokens - self.run.tokens - 1)
        return self.run

    def round(self, room: int) -> Step:
        position = self.start + self.place
        plan = self.policy.plan(position, room)
        drafted = _Drafted()
        limit = min(plan.limit, room)
        for i, name in enumerate(plan.order):
            most = min(limit, plan.limits[i]) if plan.limits else limit
            if self._draft(self.by_name[name], most, drafted):
                break
        step = self._judge(position, drafted)
        self._account(step, drafted)
        noisy = replace(
            step,
            baseline=plan.baseline,
            draft_s=self._noisy(step.draft_s),
            verify_s=self._noisy(step.verify_s),
        )
        self.policy.observe(noisy)
        self.place += len(step.tokens)
        return noisy

    def _draft(self, drafter: FakeDrafter, limit: int, drafted: _Drafted) -> bool:
        if drafter.deterministic:
            drafted.seconds += drafter.seconds
            hit = self.text.hits[drafter.name][self.place]
            self.world.matches[drafter.name] = 4.0 if hit else 0.0
            if not hit:
                return False
        else:
            lag = self.start + self.place - self.read[drafter.name]
            drafted.seconds += drafter.catch_up_s * max(lag - 2, 0)
            self.read[drafter.name] = self.start + self.place
        count = 0
        while count < limit:
            if not drafter.deterministic:
                if count and drafter.asks and not self.policy.worth_looking(count):
                    break
                drafted.seconds += drafter.seconds
            law = self.text.law(drafter, self.place + count)
            if not self.policy.keep_going(count, law):
                break
            count += 1
        if count:
            drafted.name, drafted.count = drafter.name, count
        return count > 0

    def _judge(self, position: int, drafted: _Drafted) -> Step:
        accepted, labels = 0, []
        chances = self.text.chances.get(drafted.name, ())
        soft = drafted.count and self.by_name[drafted.name].soft
        for i in range(drafted.count):
            chance = chances[self.place + i]
            stands = self.random.random() < chance
            labels.append(chance if soft else float(stands))
            if not stands:
                break
            accepted += 1
        first = self._written(drafted)
        return Step(
            tokens=(first, *(0,) * accepted),
            origins=(*(Origin.DRAFT,) * accepted, Origin.TARGET),
            position=position,
            drafter=drafted.name,
            drafted=drafted.count,
            judged=len(labels),
            accepted=accepted,
            draft_s=drafted.seconds,
            verify_s=self.world.verify_s(drafted.count + 1, position),
            other_s=self.world.other_s,
            overlaps=tuple(labels),
        )

    def _written(self, drafted: _Drafted) -> int:
        """What is written first: a copy's guess, 0, as often as its chance says."""
        copies = [n for n, it in self.by_name.items() if it.deterministic and n != drafted.name]
        chance = self.text.chances[copies[0]][self.place] if copies else 1.0
        return int(self.others.random() >= chance)

    def _account(self, step: Step, drafted: _Drafted) -> None:
        run, alive, expected = self.run, 1.0, 1.0
        chances = self.text.chances.get(drafted.name, ())
        for i in range(drafted.count):
            alive *= chances[self.place + i]
            expected += alive
        run.expected += expected
        run.seconds += step.seconds
        run.tokens += len(step.tokens)
        run.passes += 1
        run.drafted += step.drafted
        run.baselines += step.drafted == 0
        run.gammas.append(step.drafted)

    def _noisy(self, seconds: float) -> float:
        world = self.world
        if not world.noise:
            return seconds
        factor = exp(self.random.gauss(0, world.noise))
        if self.random.random() < world.spikes:
            factor *= 4
        return seconds * factor


def always(name: str, gamma: int) -> Policy:
    """Gamma tokens of one drafter, each round: what hindsight compares with."""
    return FixedPolicy(gamma, (name,) if gamma else ())


def simulate(world: World, policy: Policy, *, tokens: int, seed: int) -> Run:
    return Simulation(Text(world, tokens, seed), policy, seed).finish(tokens)


def best_fixed(world: World, *, tokens: int, seed: int) -> tuple[float, str, int]:
    """The rate, drafter and gamma of the best fixed choice for this very text."""
    choices = [("", 0)]
    choices += [(it.name, g) for it in world.drafters for g in (1, 2, 3, 4, 5, 7, 9, 11, 13, 15)]
    return max(
        (simulate(world, always(*choice), tokens=tokens, seed=seed).rate, *choice)
        for choice in choices
    )


def constant(alpha: float) -> Chances:
    return lambda _place, _random: alpha


def alternating(first: float, second: float, every: int = 50) -> Chances:
    return lambda place, _random: second if place // every % 2 else first


def mixed(easy: float, hard: float, share: float) -> Chances:
    return lambda _place, random: easy if random.random() < share else hard
