"""The acceptance rules: which drafted tokens stay, and what the target writes after them.

Each rule keeps the target's law exactly, whatever the draft. Knows laws and uniforms only.

Notation: x_1..x_k drafted, q_i the law x_i was drawn from, p_i the target's law at that place,
p_{k+1} its law after all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from localspec.core.distribution import Distribution
from localspec.core.tokens import Token

Uniform = Callable[[], float]
"""Give a fresh uniform in [0, 1); it is only ever compared with numbers."""

TargetLaw = Callable[[int], Distribution]
"""Give p_{i+1} for i from 0; computed when first asked for."""


class RuleName(StrEnum):
    """The rules a user may choose from."""

    BLOCK = "block"
    TOKEN = "token"
    COUPLED = "coupled"


@dataclass(frozen=True)
class Guess:
    """The drafted tokens with the laws they were drawn from."""

    tokens: Sequence[Token]
    laws: Sequence[Distribution]


NO_GUESS = Guess((), ())


@dataclass(frozen=True)
class Verdict:
    """How many drafted tokens stay, and the token the target adds."""

    accepted: int
    following: Token


def judge_tokens(guess: Guess, target: TargetLaw, uniform: Uniform) -> Verdict:
    """Accept x_i with min(1, p_i/q_i); at the first rejection draw from the residual.

    Source: Leviathan et al. 2022, algorithm 1; Chen et al. 2023, algorithm 2.
    """
    for i, (token, q) in enumerate(zip(guess.tokens, guess.laws, strict=True)):
        p = target(i)
        if not uniform() < p.prob(token) / q.prob(token):
            return Verdict(i, p.residual(q).sample(uniform()))
    return Verdict(len(guess.tokens), target(len(guess.tokens)).sample(uniform()))


def judge_points(guess: Guess, target: TargetLaw, uniform: Uniform) -> Verdict:
    """Draw y from p_i and accept x_i iff it is y: the token rule where every q is one point.

    The chance to accept is p_i(x_i), and y given y != x_i has the residual's law.
    """
    for i, token in enumerate(guess.tokens):
        drawn = target(i).sample(uniform())
        if drawn != token:
            return Verdict(i, drawn)
    return Verdict(len(guess.tokens), target(len(guess.tokens)).sample(uniform()))


def judge_block(guess: Guess, target: TargetLaw, uniform: Uniform) -> Verdict:
    """Judge the draft as a whole; never fewer tokens than the token rule on average.

    Source: Sun et al., "Block verification accelerates speculative decoding", arXiv 2403.10444.
    """
    if not guess.laws or all(q.is_point for q in guess.laws):
        return judge_points(guess, target, uniform)
    drafted = len(guess.tokens)
    weight, kept, kept_weight = 1.0, 0, 1.0
    for i, (token, q) in enumerate(zip(guess.tokens, guess.laws, strict=True)):
        weight = min(1.0, weight * target(i).prob(token) / q.prob(token))
        if not weight > 0:
            break
        chance = weight
        if i + 1 < drafted:
            left = target(i + 1).excess(guess.laws[i + 1], weight)
            chance = left / (left + 1.0 - weight) if left > 0 else 0.0
        if uniform() < chance:
            kept, kept_weight = i + 1, weight
    following = target(kept)
    if kept < drafted:
        following = following.residual(guess.laws[kept], kept_weight)
    return Verdict(kept, following.sample(uniform()))
