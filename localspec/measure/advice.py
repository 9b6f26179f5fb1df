"""Where the time of a round went, from which acceptance rate it pays, and what would help.

Knows rounds and costs. Every number said is derived from them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from localspec.core.events import Step
from localspec.core.theory import MAX_GAMMA, tokens_per_pass
from localspec.measure.costs import Costs
from localspec.measure.predict import survival_of

WORTH_SAYING = 0.05
DEAR_DRAFT = 0.3
FLAT = 1.5


class Measured(Protocol):
    """What advice needs of another arm."""

    @property
    def speedup(self) -> float | None:
        """Give the measured speed-up."""
        ...


@dataclass(frozen=True)
class Account:
    """The seconds of an arm's rounds, and what they bought.

    `draft`, `verify`, `other`: shares of the time. `wasted`: drafted tokens that were not kept.
    `break_even`: the acceptance rate from which this gamma pays, None where none does. `best_gamma`
    and its speed-up: by these costs and this survival.
    """

    drafter: str
    gamma: int
    context: float
    plain_s: float
    round_s: float
    draft: float
    verify: float
    other: float
    drafted_rounds: int
    wasted: float
    break_even: float | None
    can_pay: bool
    best_gamma: int | None
    best_speedup: float | None
    free_draft: float | None = None
    flat_verify: float | None = None

    def split(self) -> str:
        """Say where the time went."""
        return (
            f"time: draft {self.draft:.0%}, verify {self.verify:.0%}, other {self.other:.0%}; "
            f"{self.wasted:.0%} of the guesses were thrown away"
        )


def account_of(steps: Sequence[Step], plain: Sequence[Step], costs: Costs | None) -> Account | None:
    """Work out an arm's account from its own rounds and the plain ones."""
    drafted = [step for step in steps if step.drafted]
    seconds = sum(step.seconds for step in steps)
    if not drafted or seconds <= 0:
        return None
    plain_s = sum(s.seconds for s in plain) / max(sum(len(s.tokens) for s in plain), 1)
    terms = _Terms.of(drafted, plain_s, costs)
    curve = terms.curve(survival_of(drafted))
    best = max(curve, key=lambda gamma: (curve[gamma], -gamma)) if curve else None
    tokens = float(np.mean([len(step.tokens) for step in drafted]))
    gamma = terms.gamma
    return Account(
        drafted[0].drafter,
        gamma,
        terms.context,
        plain_s,
        seconds / len(steps),
        sum(s.draft_s for s in steps) / seconds,
        sum(s.verify_s for s in steps) / seconds,
        sum(s.other_s for s in steps) / seconds,
        len(drafted),
        1 - sum(s.accepted for s in drafted) / sum(s.drafted for s in drafted),
        terms.break_even(gamma),
        terms.speedup(gamma, gamma + 1.0) > 1,
        best,
        curve[best] if best is not None else None,
        terms.with_free_draft(gamma, tokens),
        terms.with_flat_verify(gamma, tokens),
    )


@dataclass(frozen=True)
class _Terms:
    """The costs that decide, at the mean context of the rounds."""

    drafter: str
    gamma: int
    context: float
    plain_s: float
    other_s: float
    draft_each_s: float
    verify_s: float
    costs: Costs | None

    @classmethod
    def of(cls, drafted: Sequence[Step], plain_s: float, costs: Costs | None) -> "_Terms":
        total = sum(step.drafted for step in drafted)
        return cls(
            drafted[0].drafter,
            round(total / len(drafted)),
            float(np.mean([step.position for step in drafted])),
            plain_s,
            float(np.median([step.other_s for step in drafted])),
            sum(step.draft_s for step in drafted) / total,
            float(np.median([step.verify_s for step in drafted])),
            costs,
        )

    def round_s(self, gamma: int) -> float:
        """Give the seconds of a round of this gamma."""
        return self.draft_s(gamma) + self.pass_s(gamma) + self.other_s

    def draft_s(self, gamma: int) -> float:
        return gamma * self.draft_each_s

    def pass_s(self, gamma: int) -> float:
        if self.costs is None:
            return self.verify_s
        return self.costs.pass_s(gamma + 1, self.context)

    def speedup(self, gamma: int, tokens: float) -> float:
        """Give the speed-up of rounds that write so many tokens."""
        return tokens * self.plain_s / self.round_s(gamma)

    def break_even(self, gamma: int) -> float | None:
        """Find the acceptance rate at which this gamma neither wins nor loses."""
        if self.speedup(gamma, gamma + 1.0) <= 1:
            return None
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            pays = self.speedup(gamma, tokens_per_pass(middle, gamma)) > 1
            low, high = (low, middle) if pays else (middle, high)
        return high

    def curve(self, survival: Sequence[float]) -> dict[int, float]:
        """Give the expected speed-up of every gamma; empty without a cost curve."""
        if self.costs is None:
            return {}
        return {
            gamma: self.speedup(gamma, 1.0 + sum(survival[:gamma]))
            for gamma in range(1, min(MAX_GAMMA, len(survival)) + 1)
        }

    def with_free_draft(self, gamma: int, tokens: float) -> float:
        """Give the speed-up if drafting cost half."""
        return tokens * self.plain_s / (self.round_s(gamma) - self.draft_s(gamma) / 2)

    def with_flat_verify(self, gamma: int, tokens: float) -> float:
        """Give the speed-up if a pass over these rows cost one and a half one-row passes."""
        flat = min(self.pass_s(gamma), FLAT * self.plain_s)
        return tokens * self.plain_s / (self.draft_s(gamma) + flat + self.other_s)


def helps(account: Account | None, arms: Sequence[Measured], costs: Costs | None) -> Iterator[str]:
    """Say what would make it faster, each with the speed-up to expect."""
    if account is None:
        yield "nothing was drafted: another drafter may find something to guess"
        return
    now = max((arm.speedup or 0.0 for arm in arms), default=0.0)
    enough = max(now, 1.0) + WORTH_SAYING
    best, value = account.best_gamma, account.best_speedup or 0.0
    if best is not None and best != account.gamma and value > enough:
        yield f"γ {best}: {value:.2f} times as fast, by the costs"
    if account.draft > DEAR_DRAFT and (account.free_draft or 0.0) > enough:
        yield f"a draft at half the cost: {account.free_draft:.2f} times as fast"
    rows = account.gamma + 1
    cost = costs.pass_s(rows, account.context) / costs.pass_s(1, account.context) if costs else 0.0
    if cost > FLAT + WORTH_SAYING and (account.flat_verify or 0.0) > enough:
        yield (
            f"a pass over {rows} rows costs {cost:.1f} of one; in a layout where it costs {FLAT:g} "
            f"(another quantisation): {account.flat_verify:.2f} times as fast"
        )
    if now < 1:
        yield "off: --plain"
