"""Pairs of small laws, friendly and hostile, and the check that a rule keeps the target's law.

`rule_error` judges one round of any rule; `writing_error` judges the whole loop. Right rules must
give less than `EXACT`, wrong ones more than `WRONG`, under the very same calls.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from localspec.core.draft import Drafter
from localspec.core.events import Step
from localspec.core.generate import Speculation, generate
from localspec.core.judge import IndependentJudge, Judge
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy, Policy
from localspec.core.rules import Guess, TargetLaw, Uniform, Verdict
from localspec.core.sampling import SamplingParams
from tests.core.enumerate import distance, law_of, paths
from tests.core.fakes import Markov, MarkovDrafter, MarkovSequence, ids, markov

EXACT = 1e-12
WRONG = 1e-3

Rule = Callable[[Guess, TargetLaw, Uniform], Verdict]
Text = tuple[int, ...]

PLAIN_SAMPLING = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)


@dataclass(frozen=True)
class Case:
    """A target and a draft over one small vocabulary, and how many ids are guessed."""

    name: str
    target: Markov
    draft: Markov
    gamma: int

    def __str__(self) -> str:
        return f"{self.name}-V{self.target.size}-g{self.gamma}"


def _tables(size: int, seed: int) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    rng = np.random.default_rng(seed)
    shape = (size, size)
    p = rng.dirichlet(np.ones(size), shape)
    q = rng.dirichlet(np.ones(size), shape)
    holes = rng.random((size, size, size)) < 0.4
    holes[..., 0] = False
    half = np.arange(size) < size // 2
    sparse = np.where(holes, 0.0, p)
    one = np.eye(size)[rng.integers(0, size, shape)]
    return {
        "random": (p, q),
        "peaked": (rng.dirichlet(np.full(size, 0.2), shape) + 1e-9, q),
        "target with zeros": (sparse / sparse.sum(-1, keepdims=True), q),
        "draft with zeros": (p, np.where(holes, 0.0, q)),
        "disjoint": (p * half, q * ~half),
        "equal": (p, p),
        "target sure": (one, q),
        "draft sure": (p, one),
        "nearly equal": (p, p * (1 + 1e-9 * rng.standard_normal(p.shape))),
    }


def _cases() -> list[Case]:
    made = []
    for size, gamma in ((2, 3), (3, 2), (4, 1), (4, 3)):
        for name, (p, q) in _tables(size, 10 * size + gamma).items():
            target, draft = (markov(t / t.sum(-1, keepdims=True)) for t in (p, q))
            made.append(Case(name, target, draft, gamma))
    return made


CASES = _cases()
SMALL_CASES = [case for case in CASES if case.target.size <= 3]


def target_law(case: Case, length: int, ends: frozenset[int] = frozenset()) -> dict[Text, float]:
    """Give the law of the target's own texts of a length, or up to an end."""
    law: dict[Text, float] = {(): 1.0}
    for _ in range(length):
        longer: dict[Text, float] = {}
        for text, mass in law.items():
            if text and text[-1] in ends:
                longer[text] = mass
                continue
            after = case.target.law(text)
            longer |= {(*text, int(t)): mass * float(after.prob(t)) for t in after.ids}
        law = longer
    return law


def drawn_guess(case: Case, uniform: Uniform) -> Guess:
    """Draw a whole draft, each id from the law it is reported with."""
    text: list[int] = []
    laws = []
    for _ in range(case.gamma):
        laws.append(case.draft.law(text))
        text.append(laws[-1].sample(uniform()))
    return Guess(text, laws)


def rule_outcomes(case: Case, rule: Rule) -> list[tuple[Text, float]]:
    """Enumerate what one round writes."""

    def one_round(uniform: Uniform) -> Text:
        guess = drawn_guess(case, uniform)
        verdict = rule(guess, lambda i: case.target.law(guess.tokens[:i]), uniform)
        return (*guess.tokens[: verdict.accepted], verdict.following)

    return list(paths(one_round))


def rule_error(case: Case, rule: Rule) -> float:
    """Let the target complete each outcome to gamma + 1 ids; compare with its own law."""
    length = case.gamma + 1
    law: dict[Text, float] = dict.fromkeys(product(range(case.target.size), repeat=length), 0.0)
    for written, mass in rule_outcomes(case, rule):
        rest = {written: mass}
        for _ in range(length - len(written)):
            rest = {
                (*text, int(t)): part * case.target.law(text).prob(t)
                for text, part in rest.items()
                for t in case.target.law(text).ids
            }
        for text, part in rest.items():
            law[text] += part
    return distance(law, target_law(case, length))


def expected_tokens(case: Case, rule: Rule) -> float:
    """Give the expected number of ids that one round writes."""
    return sum(len(written) * mass for written, mass in rule_outcomes(case, rule))


@dataclass(frozen=True)
class Writing:
    """A whole answer to enumerate, with every part open to replacement by a wrong one."""

    length: int
    rule: Rule
    drafter: Callable[[Markov], Drafter] = MarkovDrafter
    policy: Callable[[int, str], Policy] = lambda gamma, name: FixedPolicy(gamma, (name,))
    judge: Callable[[Rule, Uniform], Judge] = lambda rule, uniform: IndependentJudge(
        rule, uniform, uniform
    )
    options: GenerateOptions = field(default=GenerateOptions(sampling=PLAIN_SAMPLING))


def written_law(case: Case, writing: Writing) -> dict[Text, float]:
    """Enumerate the texts that the loop writes after a prompt of one id."""

    def answer(uniform: Uniform) -> Text:
        drafter = writing.drafter(case.draft)
        events = generate(
            MarkovSequence(case.target),
            ids(0),
            writing.options,
            speculation=Speculation(writing.policy(case.gamma, drafter.name), (drafter,)),
            judge=writing.judge(writing.rule, uniform),
        )
        return tuple(t for event in events if isinstance(event, Step) for t in event.tokens)

    return law_of(answer)


def writing_error(case: Case, writing: Writing) -> float:
    """Compare the loop's texts with the target's own."""
    options = replace(writing.options, max_tokens=writing.length)
    expected = target_law(case, writing.length, options.ends)
    return distance(written_law(case, replace(writing, options=options)), expected)
