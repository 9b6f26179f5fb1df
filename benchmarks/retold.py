"""Answers told again with a clock of sums: real texts, real guesses, measured costs, no noise.

Any policy can be run over what `benchmarks.recorded` wrote down as often as wanted, on busy
machines too. Knows recorded answers and costs. Does not know which policy is good.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp
from random import Random

import numpy as np

from benchmarks.recorded import Told
from localspec.core.distribution import Distribution
from localspec.core.draft import Draft, DraftRequest
from localspec.core.events import Step
from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import Plan, Policy
from localspec.core.rules import Guess, TargetLaw, Verdict
from localspec.core.tokens import Logits, Token, Tokens
from localspec.drafters.lookup import LookupDrafter
from localspec.measure.costs import Costs
from localspec.measure.replay import REREADING
from localspec.runtime.settings import LOOKUP

SPIKE, SPIKES = 3.0, 0.01


class Machine:
    """A clock, and what passes take: true seconds are added up, heard ones are noisy.

    `switch`: what a one-row pass after another width costs more, in one-row passes.
    """

    def __init__(self, costs: Costs, *, switch: float, noise: float, seed: int) -> None:
        self.costs, self.switch, self.noise = costs, switch, noise
        self.random = Random(seed)
        self.true_s = self.now = 0.0
        self._width = 1

    def work(self, seconds: float, *, noisy: bool = True) -> None:
        """Let time pass."""
        self.true_s += seconds
        heard = seconds
        if noisy and self.noise:
            heard *= exp(self.random.gauss(0.0, self.noise))
            heard *= SPIKE if self.random.random() < SPIKES else 1.0
        self.now += heard

    def decode(self, rows: int, context: int) -> None:
        """Do one pass of the target."""
        seconds = self.costs.pass_s(rows, context)
        if rows == 1 != self._width:
            seconds += self.switch * seconds
        self._width = rows
        self.work(seconds + self.costs.overhead_s)


class Reader:
    """A target that holds ids and takes time; nobody looks at its logits."""

    def __init__(self, machine: Machine, capacity: int) -> None:
        self.machine, self.capacity = machine, capacity
        self.tokens: Tokens = np.zeros(0, np.int32)

    def extend(self, tokens: Tokens, rows: int) -> Logits:
        """Hold more ids; a prompt takes no time."""
        if rows:
            self.machine.decode(len(tokens), len(self.tokens))
        self.tokens = np.concatenate([self.tokens, tokens]).astype(np.int32)
        return np.zeros((rows, 1), np.float32)

    def rewind(self, length: int) -> int:
        """Forget the end."""
        self.tokens = self.tokens[:length]
        return length


@dataclass
class Verdicts:
    """The judge that knows how the answer goes on."""

    told: Told

    def pick(self, law: Distribution, position: int) -> Token:
        """Not asked: guesses were drawn when they were recorded."""
        raise NotImplementedError

    def judge(self, guess: Guess, target: TargetLaw, position: int) -> Verdict:
        """Keep what agrees with the answer."""
        at = position - len(self.told.prompt)
        tokens = self.told.tokens
        kept = 0
        while kept < len(guess.tokens) and guess.tokens[kept] == tokens[at + kept]:
            kept += 1
        return Verdict(kept, tokens[at + kept])


class Retelling:
    """A drafter that says what it said before, at the price it has."""

    def __init__(self, name: str, machine: Machine) -> None:
        self.name, self.machine = name, machine
        self.told: Told | None = None
        self._read = 0

    def prefill(self, history: Tokens) -> None:
        """Read the prompt, for nothing."""
        self._read = len(history) + 1

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Guess token by token; ids it has not read yet are paid for first."""
        assert self.told is not None
        known = self.told.guesses[self.name][len(history) - len(self.told.prompt)]
        costs, context = self.machine.costs, len(history)
        self.machine.work(costs.unread_s(self.name, context) * max(context - self._read, 0))
        self._read = context + 1
        count = 0
        while count < min(request.limit, len(known)):
            if count and not request.worth_looking(count):
                break
            before = costs.draft_s(self.name, count, context) if count else 0.0
            self.machine.work(costs.draft_s(self.name, count + 1, context) - before)
            if not request.keep_going(count, known.laws[count]):
                break
            count += 1
        return Draft(known.tokens[:count], known.laws[:count])

    def observe(self, step: Step) -> None:
        """Keep what it read of its own draft and what stood; some heads read that once more."""
        if step.drafter == self.name:
            kept = 0 if self.name in REREADING else min(step.accepted, step.drafted - 1)
            self._read = step.position + kept + 1


@dataclass
class Copying:
    """Lookup itself, at the price of a call."""

    inner: LookupDrafter
    machine: Machine
    name: str = LOOKUP

    def prefill(self, history: Tokens) -> None:
        """Index the prompt."""
        self.inner.prefill(history)

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Copy."""
        self.machine.work(self.machine.costs.draft_s(self.name, 1, len(history)))
        return self.inner.propose(history, request)


@dataclass
class Informed:
    """A policy that hears the overlaps with the laws that were recorded."""

    inner: Policy
    told: Told | None = None

    def plan(self, position: int, room: int) -> Plan:
        """Ask the policy."""
        return self.inner.plan(position, room)

    def keep_going(self, index: int, law: Distribution) -> bool:
        """Ask the policy."""
        return self.inner.keep_going(index, law)

    def worth_looking(self, index: int) -> bool:
        """Ask the policy."""
        return self.inner.worth_looking(index)

    def observe(self, step: Step) -> None:
        """Tell the policy what the target's laws made of the guesses."""
        assert self.told is not None
        if step.laws:
            at = step.position - len(self.told.prompt)
            pairs = zip(self.told.laws[at : at + step.judged], step.laws.draft, strict=False)
            step = replace(step, overlaps=tuple(p.overlap(q) for p, q in pairs))
        self.inner.observe(step)


@dataclass
class Stage:
    """Everything that lives as long as a conversation told again."""

    machine: Machine
    drafters: Sequence[Retelling | Copying]
    policy: Informed

    def tell(self, told: Told) -> float:
        """Tell one answer again; give its true seconds."""
        for drafter in self.drafters:
            if isinstance(drafter, Retelling):
                drafter.told = told
        self.policy.told = told
        begun = self.machine.true_s
        options = GenerateOptions(max_tokens=len(told.tokens))
        speculation = Speculation(self.policy, self.drafters, lambda: self.machine.now)
        target = Reader(self.machine, len(told.history) + 1)
        judge = Verdicts(told)
        for _ in generate(target, told.prompt, options, speculation=speculation, judge=judge):
            pass
        return self.machine.true_s - begun


def stage(
    copies: LookupDrafter,
    machine: Machine,
    names: Sequence[str],
    policy: Callable[[LookupDrafter], Policy],
) -> Stage:
    """Make drafters and policy anew; the policy is told of the matches of these very copies."""
    drafters = [
        Copying(copies, machine) if name == LOOKUP else Retelling(name, machine) for name in names
    ]
    return Stage(machine, drafters, Informed(policy(copies)))
