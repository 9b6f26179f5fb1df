"""One request's judge: draws for the drafter, and the verdict on what it drew.

Knows the rules and where their randomness comes from: streams of one seed, never global state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from localspec.core.coupled import Noise, gumbel_noise, judge_coupled, pick_coupled
from localspec.core.distribution import Distribution
from localspec.core.rules import (
    Guess,
    RuleName,
    TargetLaw,
    Uniform,
    Verdict,
    judge_block,
    judge_tokens,
)
from localspec.core.tokens import Token


class Judge(Protocol):
    """Draw for the draft, and judge the draft, with randomness that fits together."""

    def pick(self, law: Distribution, position: int) -> Token:
        """Draw a drafted token."""
        ...

    def judge(self, guess: Guess, target: TargetLaw, position: int) -> Verdict:
        """Say what stays of a draft whose first token stands at `position`."""
        ...


@dataclass(frozen=True)
class IndependentJudge:
    """Token or block rule with independent draws for drafting and judging."""

    rule: Callable[[Guess, TargetLaw, Uniform], Verdict]
    draft_uniform: Uniform
    verify_uniform: Uniform

    def pick(self, law: Distribution, position: int) -> Token:
        """Draw from the draft's own stream; greedy laws take no draw."""
        return int(law.ids[0]) if law.is_point else law.sample(self.draft_uniform())

    def judge(self, guess: Guess, target: TargetLaw, position: int) -> Verdict:
        """Apply the rule with the verifier's stream."""
        return self.rule(guess, target, self.verify_uniform)


@dataclass(frozen=True)
class CoupledJudge:
    """Seed-coupled rule: both sides look at the same noise."""

    noise: Noise

    def pick(self, law: Distribution, position: int) -> Token:
        """Draw with the shared noise of that position."""
        return pick_coupled(law, position, self.noise)

    def judge(self, guess: Guess, target: TargetLaw, position: int) -> Verdict:
        """Compare with what the target writes under the same noise."""
        return judge_coupled(guess, target, position, self.noise)


def make_judge(rule: RuleName, seed: int, turn: int = 0) -> Judge:
    """Make the judge of one answer; `turn` separates the answers of one seed."""
    if rule is RuleName.COUPLED:
        return CoupledJudge(gumbel_noise(seed))
    draft, verify = (
        np.random.Generator(np.random.Philox(stream)).random
        for stream in np.random.SeedSequence([seed, turn]).spawn(2)
    )
    judged = judge_tokens if rule is RuleName.TOKEN else judge_block
    return IndependentJudge(judged, draft, verify)
