"""A scripted pair with known chances and known costs, on a clock of its own.

Answers are made of rounds whose lengths are drawn from an acceptance rate per prompt; seconds come
from a staircase of costs, with the noise and the interference a test asks for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from localspec.core.events import Event, Finish, FinishReason, Origin, Prefill, Step
from localspec.measure.arms import Arm, Design, Kind, Prompt, Slot
from localspec.measure.bench import Tools
from localspec.measure.costs import CostPoint, Costs
from localspec.measure.noise import Reading

STAIRS = (1.0, 1.6, 2.3, 1.7, 2.4, 3.1, 3.0, 3.0, 3.6, 3.8, 4.0, 4.3, 4.4, 4.4, 4.5, 4.6, 4.7)
ONE_S = 0.020
DRAFT_S = 0.004
OTHER_S = 0.0005


def stairs(rows: int) -> float:
    """Give the seconds of a pass."""
    return ONE_S * STAIRS[rows - 1]


def known_costs(draft_s: float = DRAFT_S) -> Costs:
    """Give the costs as a perfect calibration would."""
    target = tuple(CostPoint(n, 64, stairs(n), 0.0, 7) for n in range(1, len(STAIRS) + 1))
    draft = tuple(CostPoint(n, 64, n * draft_s, 0.0, 7) for n in (1, 4))
    return Costs(target, {"model": draft}, OTHER_S)


@dataclass
class Interference:
    """Everything takes `factor` times as long from one moment to another."""

    begin: float
    end: float
    factor: float
    visible: bool = True

    def at(self, now: float) -> float:
        return self.factor if self.begin <= now < self.end else 1.0


@dataclass
class Machine:
    """A clock that engine work moves on, and the meter that reads it."""

    noise: float = 0.0
    interference: Sequence[Interference] = ()
    drift_per_s: float = 0.0
    seed: int = 0
    now: float = 0.0
    own_s: float = 0.0
    others_s: float = 0.0
    processors: int = 2

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def clock(self) -> float:
        return self.now

    def spend(self, seconds: float) -> float:
        """Let engine work take its time, and give the time it took."""
        slow = 1.0 + self.drift_per_s * self.now
        visible = 1.0
        for each in self.interference:
            slow *= each.at(self.now)
            visible = max(visible, each.at(self.now) if each.visible else 1.0)
        taken = seconds * slow * float(np.exp(self.noise * self.rng.standard_normal()))
        self.now += taken
        self.own_s += seconds * self.processors
        self.others_s += (1 - 1 / visible) * taken * self.processors
        return taken

    def read(self) -> Reading:
        """Give the counters of the processors."""
        return Reading(self.own_s + self.others_s, self.own_s, self.now)


@dataclass
class ScriptedRunner:
    """Answer by a script: prompt i of a kind has its own acceptance rate."""

    machine: Machine
    alphas: dict[str, Sequence[float]]
    tokens: int = 48
    draft_s: float = DRAFT_S
    wobble: float = 0.0
    same: bool = False
    wrong: dict[tuple[str, int], int] = field(default_factory=dict)
    answered: list[Slot] = field(default_factory=list)
    interrupt_at: int | None = None

    def answer(self, slot: Slot) -> Iterator[Event]:
        """Write `tokens` ids in rounds."""
        self.answered.append(slot)
        spend = self.machine.spend
        luck = np.random.default_rng([slot.seed, slot.arm.gamma or 0, self.machine.seed])
        once = float(np.exp(self.wobble * self.machine.rng.standard_normal()))
        yield Prefill(len(slot.prompt.ids), 0, spend(0.05))
        written = 0
        gamma = 0 if slot.arm.plain or self.same else slot.arm.gamma or 4
        alpha = self.alphas[slot.kind][slot.index % len(self.alphas[slot.kind])]
        while written < self.tokens:
            if self.interrupt_at is not None and len(self.answered) > self.interrupt_at:
                raise KeyboardInterrupt
            limit = min(gamma, self.tokens - written - 1)
            fails = np.flatnonzero(luck.random(limit) >= alpha)
            accepted = int(fails[0]) if len(fails) else limit
            ids = [self._id(slot, written + i) for i in range(accepted + 1)]
            position = len(slot.prompt.ids) + written
            yield Step(
                tuple(ids),
                (Origin.DRAFT,) * accepted + (Origin.TARGET,),
                position,
                drafter="" if not limit else slot.arm.name,
                drafted=limit,
                judged=min(accepted + 1, limit),
                accepted=accepted,
                draft_s=spend(once * limit * self.draft_s) if limit else 0.0,
                verify_s=spend(once * stairs(limit + 1)),
                other_s=spend(OTHER_S),
                overlaps=(alpha,) * min(accepted + 1, limit),
            )
            written += accepted + 1
        yield Finish(FinishReason.LENGTH)

    def _id(self, slot: Slot, place: int) -> int:
        """Give ids that never repeat, the same for every arm but where a test says otherwise."""
        wrong = self.wrong.get((slot.arm.label, slot.index))
        return 1000 * slot.index + place + (500 if wrong is not None and place >= wrong else 0)

    def probe_s(self) -> float:
        """Give the median of a few plain passes."""
        return float(np.median([self.machine.spend(stairs(1)) for _ in range(9)]))

    def top_two_gap(self, slot: Slot, tokens: Sequence[int]) -> float | None:
        """Know no logits."""
        del slot, tokens
        return 0.25


def true_speedup(alphas: Sequence[float], gamma: int, tokens: int, draft_s: float) -> float:
    """Give the exact expected ratio of totals, by following every way the rounds can fall."""
    plain = tokens * (ONE_S + OTHER_S)
    total = 0.0
    for alpha in alphas:
        left = [0.0] * (tokens + 1)  # expected seconds from a place on
        for at in range(tokens - 1, -1, -1):
            limit = min(gamma, tokens - at - 1)
            seconds = limit * draft_s + stairs(limit + 1) + OTHER_S
            for accepted in range(limit + 1):
                chance = alpha**accepted * (1 - alpha if accepted < limit else 1.0)
                seconds += chance * left[at + accepted + 1]
            left[at] = seconds
        total += left[0] / len(alphas)
    return plain / total


def prompts(kind: str, count: int) -> Kind:
    """Make a kind with distinct prompts."""
    made = [Prompt(kind, np.arange(i, i + 20, dtype=np.int32), f"{i}") for i in range(count)]
    return Kind(kind, tuple(made))


def design(
    kinds: Sequence[str] = ("code",), *, arms: Sequence[Arm] = (), runs: int = 3, count: int = 6
) -> Design:
    """Make a small bench."""
    chosen = tuple(arms) or (Arm(("model",), 3),)
    return Design(tuple(prompts(kind, count) for kind in kinds), chosen, runs)


def tools(machine: Machine, **changes: object) -> Tools:
    """Give a bench the machine's clock and meter."""
    given = {"meter": machine, "costs": known_costs(), **changes}
    return Tools(machine.clock, **given)  # type: ignore[arg-type]
