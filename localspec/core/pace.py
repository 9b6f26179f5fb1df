"""The rate reached lately, in tokens per one-row pass: what time has been worth.

Knows tokens and costs of rounds. Does not know who drafted them.
"""

from dataclasses import dataclass

MEMORY = 0.97


@dataclass
class Pace:
    """Tokens and what they cost, the older the less they count."""

    tokens: float = 2.0
    spent: float = 2.0

    @property
    def rate(self) -> float:
        """Give tokens per one-row pass."""
        return self.tokens / self.spent

    def round(self, tokens: float, cost: float) -> None:
        """Count a round."""
        self.tokens = MEMORY * self.tokens + tokens
        self.spent = MEMORY * self.spent + cost

    def plain(self, rounds: int) -> None:
        """Count plain rounds, as `round(1, 1)` for each would."""
        kept = MEMORY**rounds
        added = (1.0 - kept) / (1.0 - MEMORY)
        self.tokens = kept * self.tokens + added
        self.spent = kept * self.spent + added
