"""Answers told again with a clock of sums: real texts, real guesses, measured costs, no noise.

Under the coupled rule an answer is the target's, whatever was guessed. So it is written once, every
drafter is asked once at every place of it, and any policy can be run over both as often as wanted,
on busy machines too. Knows recorded answers and costs. Does not know which policy is good.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp
from random import Random
from statistics import median
from time import perf_counter

import numpy as np

from localspec.core.distribution import Distribution
from localspec.core.draft import NO_DRAFT, Draft, Drafter, DraftRequest
from localspec.core.events import Step
from localspec.core.generate import Speculation, generate
from localspec.core.judge import Judge
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy, Plan, Policy
from localspec.core.rules import Guess, TargetLaw, Verdict
from localspec.core.tokens import Logits, Token, Tokens, TokenSequence, sync
from localspec.drafters.lookup import LookupDrafter
from localspec.measure.arms import Prompt
from localspec.measure.costs import Costs
from localspec.measure.heads import HeadOfTarget
from localspec.measure.loops import loop_start
from localspec.measure.replay import REREADING
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import LOOKUP

LOOP_AFTER = 64
REPEATS = 15
SPIKE, SPIKES = 3.0, 0.01


@dataclass(frozen=True)
class Told:
    """An answer of `kind`, its laws place by place, and what each drafter guessed at each place."""

    kind: str
    prompt: Tokens
    tokens: tuple[Token, ...]
    laws: tuple[Distribution, ...]
    guesses: dict[str, list[Draft]]

    @property
    def history(self) -> Tokens:
        """Give prompt and answer."""
        return np.concatenate([self.prompt, np.array(self.tokens, np.int32)]).astype(np.int32)


def written(runtime: Runtime, kind: str, prompt: Prompt, options: GenerateOptions) -> Told:
    """Write an answer plain, up to where it begins to loop, and keep its laws."""
    for context in runtime.loaded.contexts:
        context.rewind(0)
    tokens: list[Token] = []
    laws: list[Distribution] = []
    speculation = Speculation(FixedPolicy(0, ()))
    options = replace(options, keep_laws=True)
    for event in generate(runtime.loaded.target, prompt.ids, options, speculation=speculation):
        if isinstance(event, Step) and event.laws:
            tokens += event.tokens
            laws += event.laws.target
            if len(tokens) > LOOP_AFTER and loop_start(tokens) is not None:
                break
    return Told(kind, prompt.ids, tuple(tokens), tuple(laws), {})


def ask_model(drafter: Drafter, told: Told, judge: Judge) -> list[Draft]:
    """Ask a drafter with a cache of its own for one token at every place.

    A longer draft is the guesses of the places after: it is only judged while they stand.
    """
    singles = [
        drafter.propose(told.history[:end], _request(1, judge, end))
        for end in range(len(told.prompt), len(told.history) + 1)
    ]
    return [
        Draft(
            tuple(token for each in singles[at:] for token in each.tokens),
            tuple(law for each in singles[at:] for law in each.laws),
        )
        for at in range(len(singles))
    ]


def ask_head(drafter: HeadOfTarget, target: TokenSequence, told: Told, judge: Judge) -> list[Draft]:
    """Ask a head at every place but the first, with the state of the last token read."""
    history, first = told.history, len(told.prompt)
    target.rewind(0)
    sync(target, history[: first - 1], 0)
    found = [NO_DRAFT]
    for end in range(first + 1, len(history) + 1):
        sync(target, history[: end - 1], 1)
        found.append(drafter.propose(history[:end], _request(drafter.most, judge, end)))
    return found


def _request(limit: int, judge: Judge, position: int) -> DraftRequest:
    return DraftRequest(limit, lambda law, i: judge.pick(law, position + i))


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
    capacity: int

    def tell(self, told: Told) -> float:
        """Tell one answer again; give its true seconds."""
        for drafter in self.drafters:
            if isinstance(drafter, Retelling):
                drafter.told = told
        self.policy.told = told
        begun = self.machine.true_s
        options = GenerateOptions(max_tokens=len(told.tokens))
        speculation = Speculation(self.policy, self.drafters, lambda: self.machine.now)
        target = Reader(self.machine, self.capacity)
        for _ in _rounds(target, told, options, speculation):
            pass
        return self.machine.true_s - begun


def _rounds(
    target: Reader, told: Told, options: GenerateOptions, speculation: Speculation
) -> Iterator[object]:
    return generate(target, told.prompt, options, speculation=speculation, judge=Verdicts(told))


def stage(
    runtime: Runtime, machine: Machine, names: Sequence[str], policy: Callable[[], Policy]
) -> Stage:
    """Make drafters and policy anew."""
    drafters: list[Retelling | Copying] = []
    for name in names:
        if name == LOOKUP:
            copies = runtime.drafter(LOOKUP)
            assert isinstance(copies, LookupDrafter)
            drafters.append(Copying(copies, machine))
        else:
            drafters.append(Retelling(name, machine))
    return Stage(machine, drafters, Informed(policy()), runtime.capacity)


def switch_ratio(runtime: Runtime, text: Tokens, *, context: int = 64) -> float:
    """Measure what a one-row pass costs more after a pass of two rows, in one-row passes."""
    target = runtime.loaded.target
    after: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(REPEATS):
        for width, taken in after.items():
            sync(target, text[:context], 0)
            target.extend(text[context : context + width], 1)
            begun = perf_counter()
            target.extend(text[context + width : context + width + 1], 1)
            taken.append(perf_counter() - begun)
    return max(median(after[2]) / median(after[1]) - 1.0, 0.0)
