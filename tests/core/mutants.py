"""Wrong rules and wrong drafters, each a mistake that some real project made.

Kept to prove that the law check can fail: `test_mutants.py` demands that each one is caught.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat

import numpy as np

from localspec.core.distribution import Distribution, point
from localspec.core.draft import Draft, DraftRequest
from localspec.core.rules import Guess, TargetLaw, Uniform, Verdict
from localspec.core.tokens import Token, Tokens
from tests.core.fakes import Markov

# ---- token rule -------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenRule:
    """The token rule with its parts open to replacement; right as it stands."""

    ratio: Callable[[float, float], float] = lambda p, q: p / q
    replacement: Callable[[Distribution, Distribution], Distribution] = lambda p, q: p.residual(q)
    bonus_row: Callable[[int], int] = lambda drafted: drafted
    replacement_law: Callable[[int], int] = lambda place: place
    uniforms: Callable[[Uniform], Uniform] = lambda uniform: uniform

    def __call__(self, guess: Guess, target: TargetLaw, uniform: Uniform) -> Verdict:
        """Judge as `judge_tokens` does, with these parts."""
        uniform = self.uniforms(uniform)
        drafted = len(guess.tokens)
        for i, (token, q) in enumerate(zip(guess.tokens, guess.laws, strict=True)):
            p = target(i)
            if not uniform() < self.ratio(float(p.prob(token)), float(q.prob(token))):
                other = guess.laws[min(self.replacement_law(i), drafted - 1)]
                return Verdict(i, self.replacement(p, other).sample(uniform()))
        return Verdict(drafted, target(max(self.bonus_row(drafted), 0)).sample(uniform()))


def _residual_by_place(p: Distribution, q: Distribution) -> Distribution:
    left = p.probs.copy()
    shared = min(len(left), len(q.probs))
    left[:shared] -= q.probs[:shared]
    left = np.maximum(left, 0)
    return Distribution(p.ids, left / left.sum()) if left.sum() > 1e-12 else p


def _best_of_residual(p: Distribution, q: Distribution) -> Distribution:
    left = p.residual(q)
    return point(int(left.ids[left.probs.argmax()]))


def _without_favourite(p: Distribution, q: Distribution) -> Distribution:
    return p.residual(point(int(q.ids[q.probs.argmax()])))


def _one_for_everything(uniform: Uniform) -> Uniform:
    only = uniform()
    return lambda: only


def _one_for_every_test(uniform: Uniform) -> Uniform:
    """Use one uniform for the tests of a round, as if they were one decision."""
    drawn = [uniform()]
    return lambda: drawn[0]


TOKEN_MUTANTS = {
    "residual replaced by p": TokenRule(replacement=lambda p, q: p),
    "residual replaced by q": TokenRule(replacement=lambda p, q: q),
    "residual by list place": TokenRule(replacement=_residual_by_place),
    "residual by argmax": TokenRule(replacement=_best_of_residual),
    "residual without the draft's favourite": TokenRule(replacement=_without_favourite),
    "residual with the next place's q": TokenRule(replacement_law=lambda place: place + 1),
    "bonus from the row before": TokenRule(bonus_row=lambda drafted: drafted - 1),
    "bonus from the first row": TokenRule(bonus_row=lambda drafted: 0),
    "ratio upside down": TokenRule(ratio=lambda p, q: q / p if p else 0.0),
    "accepting by p alone": TokenRule(ratio=lambda p, q: p),
    "accepting where p exceeds half of q": TokenRule(ratio=lambda p, q: float(p > q / 2)),
    "lenient ratio": TokenRule(ratio=lambda p, q: 1.3 * p / q),
    "one uniform for rejection and residual": TokenRule(uniforms=_one_for_everything),
}

# ---- block rule -------------------------------------------------------------------------------


def _right_chance(left: float, weight: float, ratio: float) -> float:
    del ratio
    return left / max(left + 1.0 - weight, 1e-9) if left > 0 else 0.0


@dataclass(frozen=True)
class BlockRule:
    """The block rule with its parts open to replacement; right as it stands."""

    cap: float = 1.0
    chance: Callable[[float, float, float], float] = _right_chance
    last_chance: Callable[[float, float], float] = lambda weight, ratio: weight
    residual_weight: Callable[[float], float] = lambda weight: weight
    next_law: int = 1
    first_failure_ends: bool = False
    one_uniform: bool = False

    def __call__(self, guess: Guess, target: TargetLaw, uniform: Uniform) -> Verdict:
        """Judge as `judge_block` does, with these parts."""
        uniform = _one_for_every_test(uniform) if self.one_uniform else uniform
        drafted, weight, kept, kept_weight = len(guess.tokens), 1.0, 0, 1.0
        for i, (token, q) in enumerate(zip(guess.tokens, guess.laws, strict=True)):
            ratio = float(target(i).prob(token) / q.prob(token))
            weight = min(self.cap, weight * ratio)
            if uniform() < self._chance(guess, target, i, (weight, ratio)):
                kept, kept_weight = i + 1, weight
            elif self.first_failure_ends:
                break
        following = target(kept)
        if kept < drafted:
            following = following.residual(guess.laws[kept], self.residual_weight(kept_weight))
        return Verdict(kept, following.sample(uniform()))

    def _chance(
        self, guess: Guess, target: TargetLaw, i: int, weights: tuple[float, float]
    ) -> float:
        weight, ratio = weights
        if i + 1 == len(guess.tokens):
            return self.last_chance(weight, ratio)
        left = target(i + 1).excess(guess.laws[i + self.next_law], weight)
        return self.chance(left, weight, ratio)


BLOCK_MUTANTS = {
    "residual without the weight": BlockRule(residual_weight=lambda weight: 1.0),
    "last chance is the last ratio": BlockRule(last_chance=lambda weight, ratio: min(1.0, ratio)),
    "last chance is one": BlockRule(last_chance=lambda weight, ratio: 1.0),
    "every chance is the weight": BlockRule(chance=lambda left, weight, ratio: weight),
    "every chance is the ratio": BlockRule(chance=lambda left, weight, ratio: min(1.0, ratio)),
    "chance is the excess itself": BlockRule(chance=lambda left, weight, ratio: left),
    "weight not capped": BlockRule(cap=np.inf),
    "excess over the same place's q": BlockRule(next_law=0),
    "the first failure ends the block": BlockRule(first_failure_ends=True),
    "one uniform for the whole block": BlockRule(one_uniform=True),
}


def points_drawing_p_after_a_rejection(
    guess: Guess, target: TargetLaw, uniform: Uniform
) -> Verdict:
    """Reject with 1 - p(x), then draw from all of p, x included."""
    for i, token in enumerate(guess.tokens):
        if not uniform() < target(i).prob(token):
            return Verdict(i, target(i).sample(uniform()))
    return Verdict(len(guess.tokens), target(len(guess.tokens)).sample(uniform()))


# ---- drafters that draw from another law than they report -------------------------------------


@dataclass
class CheatingDrafter:
    """Report `source`'s laws, but draw by `draw` and hand in only what `keep` likes."""

    source: Markov
    draw: Callable[[Distribution], Distribution] = lambda law: law
    keep: Callable[[float], bool] = lambda prob: True
    report: Callable[[Distribution, Token], Distribution] = lambda law, token: law
    name: str = "cheat"

    def prefill(self, history: Tokens) -> None:
        """Need nothing."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draft like `MarkovDrafter`, dishonestly."""
        text = [int(token) for token in history[-2:]]
        before, laws = len(text), list[Distribution]()
        for i in range(request.limit):
            law = self.source.law(text)
            token = request.pick(self.draw(law), i)
            if not self.keep(law.prob(token)):
                break
            text.append(token)
            laws.append(self.report(law, token))
        return Draft(tuple(text[before:]), tuple(laws))


def _tempered(law: Distribution, temperature: float) -> Distribution:
    weights = law.probs ** (1 / temperature)
    return Distribution(law.ids, weights / weights.sum())


def _top_two(law: Distribution) -> Distribution:
    kept = np.sort(np.argsort(-law.probs, kind="stable")[:2])
    return Distribution(law.ids[kept], law.probs[kept] / law.probs[kept].sum())


def _favourite(law: Distribution) -> Distribution:
    return point(int(law.ids[law.probs.argmax()]))


DRAFT_MUTANTS: dict[str, Callable[[Markov], CheatingDrafter]] = {
    "argmax drawn, ratio p/q": lambda m: CheatingDrafter(m, draw=_favourite),
    "temperature 0.5 drawn, 1 reported": lambda m: CheatingDrafter(
        m, draw=lambda law: _tempered(law, 0.5)
    ),
    "temperature fitted to the token drawn": lambda m: CheatingDrafter(
        m, report=lambda law, token: _tempered(law, 0.5 if law.prob(token) > 0.5 else 2.0)
    ),
    "top-k drawn, full law reported": lambda m: CheatingDrafter(m, draw=_top_two),
    "unlikely draws withheld": lambda m: CheatingDrafter(m, keep=lambda prob: prob > 0.3),
    "likely draws withheld": lambda m: CheatingDrafter(m, keep=lambda prob: prob < 0.6),
}

# ---- judges that use uniforms twice -----------------------------------------------------------


@dataclass
class ReplayingJudge:
    """Start every round with the uniforms of the first one again."""

    rule: Callable[[Guess, TargetLaw, Uniform], Verdict]
    fresh: Uniform
    drawn: list[float] = field(default_factory=list)

    def pick(self, law: Distribution, position: int) -> Token:
        """Draw honestly."""
        del position
        return law.sample(self.fresh())

    def _replay(self) -> Iterator[float]:
        for old_or_new in chain(tuple(self.drawn), repeat(None)):
            if old_or_new is None:
                self.drawn.append(self.fresh())
            yield self.drawn[-1] if old_or_new is None else old_or_new

    def judge(self, guess: Guess, target: TargetLaw, position: int) -> Verdict:
        """Judge with old uniforms first."""
        del position
        return self.rule(guess, target, self._replay().__next__)


@dataclass
class SharingJudge(ReplayingJudge):
    """Test each drafted id with the uniform that drew it, as the coupled rule's noise would."""

    def pick(self, law: Distribution, position: int) -> Token:
        """Remember the uniform."""
        del position
        self.drawn.append(self.fresh())
        return law.sample(self.drawn[-1])

    def judge(self, guess: Guess, target: TargetLaw, position: int) -> Verdict:
        """Judge with the draft's uniforms, then forget them."""
        verdict = super().judge(guess, target, position)
        self.drawn.clear()
        return verdict


JUDGE_MUTANTS = {
    "uniforms of the last round again": ReplayingJudge,
    "one uniform for draft and test": SharingJudge,
}
