"""What a plain pass costs more right after one of another width, and how often one follows.

An engine makes its graph anew when the width changes; with a small model that is a tenth of a
pass. Plain decoding never pays it, a drafted round between plain ones does. Knows rounds and the
usual seconds of a one-row pass; has no clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from localspec.core.events import Step

GAIN = 0.1
SHARE_GAIN = 0.05
MOST = 0.4
DOUBT = 0.02
NEGLIGIBLE = 0.004


@dataclass
class Switching:
    """`share`: of the drafted rounds, those that a plain one follows."""

    share: float = 0.5
    _more: float = field(default=0.0, init=False)
    _drafted: int = field(default=0, init=False)
    _end: int = field(default=-1, init=False)

    @property
    def extra(self) -> float:
        """Give what a plain pass after a drafted round costs more, in one-row passes."""
        return self._more - DOUBT if self._more > DOUBT else 0.0

    def seconds(self, step: Step, one_row_s: Callable[[int], float | None]) -> float:
        """Take a round in; give the seconds of its pass, without what a switch added.

        `one_row_s` gives the seconds of a one-row pass at a context, None while unknown.
        """
        seconds = step.verify_s + step.other_s
        after_draft = step.position == self._end and self._drafted > 0
        self.pass_by(step)
        if not after_draft:
            return seconds
        self.share += SHARE_GAIN * ((step.drafted == 0) - self.share)
        if step.drafted or not (one_s := one_row_s(step.position)):
            return seconds
        self._more += GAIN * (min(max(seconds / one_s - 1.0, -MOST), MOST) - self._more)
        return seconds / (1.0 + self.extra)

    def pass_by(self, step: Step) -> None:
        """Note what the next pass follows."""
        self._drafted, self._end = step.drafted, step.position + len(step.tokens)

    def on(self, table: Sequence[float]) -> Sequence[float]:
        """Charge the widths above one row with what they make the next round pay."""
        more = self.extra * self.share
        return table if more < NEGLIGIBLE else [table[0], *(cost + more for cost in table[1:])]
