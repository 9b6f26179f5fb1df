"""Answers written once, and what every drafter guessed at every place of them.

Under the coupled rule an answer is the target's, whatever was guessed: so it can be told again to
any policy (`benchmarks.retold`). Knows a loaded pair. Does not know policies or costs.
"""

from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

import numpy as np

from localspec.core.distribution import Distribution
from localspec.core.draft import NO_DRAFT, Draft, Drafter, DraftRequest
from localspec.core.events import Step
from localspec.core.generate import Speculation, generate
from localspec.core.judge import Judge
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.tokens import Token, Tokens, TokenSequence, sync
from localspec.measure.arms import Prompt
from localspec.measure.heads import HeadOfTarget
from localspec.measure.loops import loop_start
from localspec.runtime.pair import Runtime

LOOP_AFTER = 64
REPEATS = 15


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
