"""What a drafter's acceptance was before: a weak belief to start from.

Knows means and counts. Does not know where they are kept or how old they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass

MOST_COUNT = 400.0
BELIEVED_COUNT = 6.0
LABELS_EACH = 8.0


@dataclass(frozen=True)
class Habit:
    """An acceptance rate and how many judged tokens it rests on."""

    mean: float
    count: float

    @property
    def weight(self) -> float:
        """Give the labels that it counts for at a start: few, as the next text may be another."""
        return min(self.count / LABELS_EACH, BELIEVED_COUNT)

    def aged(self, share: float) -> "Habit":
        """Keep a share of the count."""
        return Habit(self.mean, self.count * share)


EVEN = Habit(0.5, 2.0 * LABELS_EACH)
"""What is believed of a drafter never seen: Beta(1, 1)."""


def merged(old: Mapping[str, Habit], new: Mapping[str, Habit]) -> dict[str, Habit]:
    """Add what was seen to what was known; old labels give way."""
    found = dict(old)
    for name, seen in new.items():
        known = old.get(name, Habit(0.0, 0.0))
        count = known.count + seen.count
        if count > 0:
            mean = (known.mean * known.count + seen.mean * seen.count) / count
            found[name] = Habit(mean, min(count, MOST_COUNT))
    return found
