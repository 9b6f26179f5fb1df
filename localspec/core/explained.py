"""Why a round ended as it did: each guess's chance and draw, and the law of the last token.

Knows the rules' formulas, and the draws of a judge that remembers them. Decides nothing: the loop
never comes here unless somebody asked to look.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from localspec.core.distribution import Distribution
from localspec.core.events import Laws, Step
from localspec.core.judge import IndependentJudge, Judge
from localspec.core.rules import Guess, RuleName, TargetLaw, Uniform, Verdict
from localspec.core.tokens import Token


class RecordingJudge:
    """Judge exactly as another judge does, and remember the verifier's draws of the last round.

    The coupled rule draws nothing: `draws` stays empty.
    """

    def __init__(self, judge: Judge) -> None:
        self.draws: list[float] = []
        self._judge = judge
        if isinstance(judge, IndependentJudge):
            self._judge = replace(judge, verify_uniform=self._noting(judge.verify_uniform))

    def pick(self, law: Distribution, position: int) -> Token:
        """Draw a drafted token as the other judge does."""
        return self._judge.pick(law, position)

    def judge(self, guess: Guess, target: TargetLaw, position: int) -> Verdict:
        """Begin a new record and judge."""
        self.draws.clear()
        return self._judge.judge(guess, target, position)

    def _noting(self, uniform: Uniform) -> Uniform:
        def draw() -> float:
            value = uniform()
            self.draws.append(value)
            return value

        return draw


class Way(StrEnum):
    """How a round was judged: by a rule, or by its form for drafts that are points."""

    TOKEN = "token"
    BLOCK = "block"
    POINTS = "points"
    COUPLED = "coupled"
    PLAIN = "plain"


@dataclass(frozen=True)
class GuessReason:
    """One guess that was looked at: p and q of it, its chance and its draw.

    Token rule: it stands iff draw < chance. Block rule: everything up to the last place with
    draw < chance stands. Points: the draw picked a token of p, and the guess stands iff it is
    that one. Coupled: no chance, the target wrote the same under the same noise or did not.
    """

    p: float
    q: float
    chance: float | None
    draw: float | None


@dataclass(frozen=True)
class RoundReason:
    """One round: its guesses, and the law and the draw of the token that the target added."""

    way: Way
    guesses: tuple[GuessReason, ...]
    source: Distribution
    draw: float | None


def explain(step: Step, rule: RuleName, draws: Sequence[float]) -> RoundReason:
    """Say why a round ended as it did, from the laws that its step kept.

    Raises: ValueError for a step without laws.
    """
    if step.laws is None:
        raise ValueError("the step has no laws: ask for them with keep_laws")
    way = _way(rule, step.laws)
    return _REASONS[way](step, step.laws, draws)


def _way(rule: RuleName, laws: Laws) -> Way:
    if rule is RuleName.COUPLED:
        return Way.COUPLED
    if not laws.draft:
        return Way.PLAIN
    if rule is RuleName.TOKEN:
        return Way.TOKEN
    return Way.POINTS if all(q.is_point for q in laws.draft) else Way.BLOCK


def _plain(step: Step, laws: Laws, draws: Sequence[float]) -> RoundReason:
    return RoundReason(Way.PLAIN, (), laws.target[step.accepted], draws[-1] if draws else None)


def _token(step: Step, laws: Laws, draws: Sequence[float]) -> RoundReason:
    guesses = []
    for i in range(step.judged):
        p, q = _both(step, laws, i)
        guesses.append(GuessReason(p, q, min(1.0, p / q), draws[i]))
    return RoundReason(Way.TOKEN, tuple(guesses), _source(step, laws), draws[-1])


def _points(step: Step, laws: Laws, draws: Sequence[float]) -> RoundReason:
    guesses = []
    for i in range(step.judged):
        p, q = _both(step, laws, i)
        guesses.append(GuessReason(p, q, p, draws[i]))
    return RoundReason(Way.POINTS, tuple(guesses), _source(step, laws), draws[-1])


def _block(step: Step, laws: Laws, draws: Sequence[float]) -> RoundReason:
    """Follow the weights; the last draw is that of the token that the target added."""
    guesses: list[GuessReason] = []
    weight, kept_weight = 1.0, 1.0
    for i in range(step.drafted):
        p, q = _both(step, laws, i)
        weight = min(1.0, weight * p / q)
        if not weight > 0:
            guesses.append(GuessReason(p, q, 0.0, None))
            break
        chance = weight
        if i + 1 < step.drafted:
            left = laws.target[i + 1].excess(laws.draft[i + 1], weight)
            chance = left / (left + 1.0 - weight) if left > 0 else 0.0
        guesses.append(GuessReason(p, q, chance, draws[i]))
        kept_weight = weight if i + 1 == step.accepted else kept_weight
    return RoundReason(Way.BLOCK, tuple(guesses), _source(step, laws, kept_weight), draws[-1])


def _coupled(step: Step, laws: Laws, draws: Sequence[float]) -> RoundReason:
    del draws
    both = (_both(step, laws, i) for i in range(step.judged))
    guesses = tuple(GuessReason(p, q, None, None) for p, q in both)
    return RoundReason(Way.COUPLED, guesses, laws.target[step.accepted], None)


def _both(step: Step, laws: Laws, place: int) -> tuple[float, float]:
    guess = step.guesses[place]
    return laws.target[place].prob(guess), laws.draft[place].prob(guess)


def _source(step: Step, laws: Laws, weight: float = 1.0) -> Distribution:
    """Give the law that the target's own token of the round was drawn from."""
    p = laws.target[step.accepted]
    if step.accepted == step.drafted:
        return p
    return p.residual(laws.draft[step.accepted], weight)


def split(p: Distribution, q: Distribution) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give, for every token of p, its mass by accepted guesses and its mass by replacements.

    The first is q times the chance to accept, the second the chance that any guess is rejected
    times the residual; together they are p.
    Shapes: both (support of p,).
    """
    drafted = q.probs_at(p.ids)
    ratio = np.divide(p.probs, drafted, out=np.zeros_like(p.probs), where=drafted > 0)
    accepted = drafted * np.minimum(1.0, ratio)
    rejected = 1.0 - accepted.sum()
    return accepted, rejected * p.residual(q).probs_at(p.ids)


_REASONS = {
    Way.PLAIN: _plain,
    Way.TOKEN: _token,
    Way.POINTS: _points,
    Way.BLOCK: _block,
    Way.COUPLED: _coupled,
}
