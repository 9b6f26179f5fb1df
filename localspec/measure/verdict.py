"""Whether it pays: one word, by one rule, and never a number where the machine was too noisy.

Pays: the interval's lower end is above 1.05. Slower: its upper end is below 0.95. Otherwise no
clear difference. Knows estimates and how quiet it was.
"""

from dataclasses import dataclass
from enum import StrEnum

from localspec.core.statistics import Estimate

PAYS_ABOVE = 1.05
SLOWER_BELOW = 0.95
AFFECTED_SHARE = 0.25
SPREAD_LIMIT = 0.20
UNREST = 0.10
DRIFT_LIMIT = 0.15


class Word(StrEnum):
    """What can be said of an arm."""

    PAYS = "pays"
    SLOWER = "slower"
    UNCLEAR = "no clear difference"
    NOISY = "too noisy to say"
    FEW = "too few prompts to say"


@dataclass(frozen=True)
class Quiet:
    """How undisturbed the answers of one kind were.

    `affected`: share of answers that others or an unexplained delay disturbed, repeats included.
    `spread`: robust relative deviation of the pace of plain passes. `drift`: relative change of a
    plain pass from the begin to the end, None before it is known. `swing`: how far apart the
    probes of a plain pass were. `repeated`: answers measured again, per answer kept.
    """

    affected: float = 0.0
    spread: float = 0.0
    drift: float | None = None
    swing: float = 0.0
    repeated: float = 0.0

    @property
    def restless(self) -> bool:
        """Say whether something was going on, though perhaps not too much for a clear answer."""
        return self.affected > 0 or max(self.spread, self.swing, self.repeated) > UNREST

    @property
    def enough(self) -> bool:
        """Say whether a verdict may be given at all."""
        drift = abs(self.drift or 0.0)
        return (
            self.affected <= AFFECTED_SHARE and self.spread <= SPREAD_LIMIT and drift <= DRIFT_LIMIT
        )

    def reason(self) -> str:
        """Say what disturbed it."""
        said = []
        if self.affected > AFFECTED_SHARE:
            said.append(f"{self.affected:.0%} of the answers were disturbed, after repeats")
        if self.spread > SPREAD_LIMIT:
            said.append(f"plain passes vary by {self.spread:.0%}")
        if abs(self.drift or 0.0) > DRIFT_LIMIT:
            said.append(f"a plain pass changed by {self.drift or 0:+.0%} while we measured")
        return "; ".join(said) or "the answers vary too much on this restless machine"


def judge(estimate: Estimate | None, quiet: Quiet) -> Word:
    """Give the verdict on one arm.

    A wide interval on a restless machine is the machine's doing, not the arm's.
    """
    if not quiet.enough:
        return Word.NOISY
    if estimate is None:
        return Word.FEW
    if estimate.low > PAYS_ABOVE:
        return Word.PAYS
    if estimate.high < SLOWER_BELOW:
        return Word.SLOWER
    inside = estimate.low > SLOWER_BELOW and estimate.high < PAYS_ABOVE
    return Word.NOISY if quiet.restless and not inside else Word.UNCLEAR


def settled(estimate: Estimate | None) -> bool:
    """Say whether more prompts would hardly change the word.

    The interval must keep a quarter of its width from both limits, since looking several times
    finds an extreme moment more often than looking once.
    """
    if estimate is None:
        return False
    guard = (estimate.high - estimate.low) / 4
    low, high = estimate.low - guard, estimate.high + guard
    inside = low > SLOWER_BELOW and high < PAYS_ABOVE
    return low > PAYS_ABOVE or high < SLOWER_BELOW or inside
