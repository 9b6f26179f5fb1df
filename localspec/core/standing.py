"""What the adaptive policy keeps of each drafter, and of the round at hand.

Plain records; the decisions are elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from localspec.core.probing import Backoff
from localspec.core.stopping import NOTHING, DraftCost, Outlook, StopRule
from localspec.core.survival import Survival
from localspec.core.tokens import Token

ROUND_MEMORY = 0.9
ENOUGH_ROUNDS = 5.0
LOOK_AGAIN = 4


@dataclass(frozen=True)
class DrafterFacts:
    """What the policy may know of a drafter.

    `deterministic`: guesses are points, and one call costs the same whatever its length.
    `match` gives the length of the match behind the proposal being made, 0 without one.
    `reads`: it has a cache of its own that must read the history first.
    `asks`: it asks before each pass if that is worth it, so a limit on its length would be in the
    way of the moments when it is sure.
    """

    name: str
    deterministic: bool = False
    match: Callable[[], float] | None = None
    reads: bool = True
    asks: bool = False


@dataclass(frozen=True)
class Choice:
    """What is done now, and the account of a drafted token behind it.

    Units: seconds per drafted token; None before anything was measured. `gamma` 0: it does not
    pay.
    """

    drafter: str
    gamma: int
    costs_s: float | None = None
    saves_s: float | None = None

    @property
    def account(self) -> str:
        """Put the account into words."""
        if not self.drafter:
            return "there is no drafter"
        if self.costs_s is None or self.saves_s is None:
            return "nothing was measured yet"
        costs, saves = self.costs_s * 1e3, self.saves_s * 1e3
        return f"a draft token costs {costs:.1f} ms and saves {saves:.1f} ms"


class Probe(NamedTuple):
    """A length that would teach something, and what it is expected to lose."""

    gamma: int
    score: float
    loss: float


@dataclass(slots=True)
class Standing:
    """One drafter's chances, costs and outlook.

    `read` ids of the history are in its cache; `reading` is the one-off cost of those that are not,
    so it is part of what a probe risks, but not of what a round is worth. `probe` is the cheapest.
    """

    facts: DrafterFacts
    survival: Survival = field(default_factory=Survival)
    backoff: Backoff = field(default_factory=Backoff)
    outlook: Outlook = NOTHING
    cost: DraftCost = field(default_factory=DraftCost)
    read: int = 0
    reading: float = 0.0
    active: bool = False
    stale: bool = True
    probe: "Probe | None" = None
    _tokens: float = 0.0
    _spent: float = 0.0
    _rounds: float = 0.0
    _changes: int = 0

    def note(self, tokens: float, cost: float) -> None:
        """Remember what a round was worth by the chances that were seen in it.

        The round that showed a change was judged by chances that no longer hold.
        """
        if self._changes != self.survival.changes:
            self._changes = self.survival.changes
            self._tokens = self._spent = self._rounds = 0.0
            return
        self._tokens = ROUND_MEMORY * self._tokens + tokens
        self._spent = ROUND_MEMORY * self._spent + cost
        self._rounds = ROUND_MEMORY * self._rounds + 1.0

    def fade(self, rounds: int = 1) -> None:
        """Trust that less with every round without this drafter."""
        if self._rounds:
            kept = ROUND_MEMORY**rounds
            self._tokens *= kept
            self._spent *= kept
            self._rounds *= kept

    def pause(self, rounds: int) -> None:
        """Count rounds in which it was neither used nor judged."""
        self.backoff.tick(rounds)
        self.fade(rounds)
        self.survival.idle(rounds)
        self.stale = True

    @property
    def settled(self) -> bool:
        """Say whether what was worked out for it a moment ago will do: nothing was judged since."""
        waited = self.backoff.waited
        return not self.stale and (not waited or waited % LOOK_AGAIN != 0)

    @property
    def rate(self) -> float:
        """Give the better of what the mean promises and what choosing by law has given."""
        if self._rounds > ENOUGH_ROUNDS and self._changes == self.survival.changes:
            return max(self.outlook.rate, self._tokens / self._spent)
        return self.outlook.rate

    def decide(self, margin: float) -> None:
        """Go on if it pays, park if it does not."""
        active = self.rate >= 1.0 + margin
        if self.active and not active:
            self.backoff.failed()
        self.active = active


def choice_among(standings: Sequence[Standing], one_s: float | None) -> Choice:
    """Give the drafter and gamma in use, or the best drafter with gamma 0."""
    if not standings:
        return Choice("", 0)
    best = max(standings, key=lambda it: (it.active, it.rate))
    outlook = best.outlook
    gamma = outlook.gamma if best.active else 0
    if one_s is None or not outlook.gamma:
        return Choice(best.facts.name, gamma)
    each_s = one_s / outlook.gamma
    costs_s, saves_s = (outlook.cost - 1.0) * each_s, (outlook.tokens - 1.0) * each_s
    return Choice(best.facts.name, gamma, costs_s, saves_s)


def asking_order(standings: Sequence[Standing], price: float, *, fixed: bool) -> list[Standing]:
    """Give those to ask: copies first, as their match shows if they pay, then the best.

    `fixed`: in the order given. Where copies pay much, a plain pass that leads to the next match
    can beat a model's round.
    """
    if fixed:
        return [it for it in standings if it.active or it.facts.match]
    copies = [it for it in standings if it.facts.deterministic and (it.active or it.facts.match)]
    if len(copies) > 1:
        copies.sort(key=lambda it: -it.rate)
    models = [it for it in standings if it.active and not it.facts.deterministic]
    best = max(models, key=lambda it: it.rate) if models else None
    useful = best is not None and (not copies or best.outlook.beats_plain(price))
    return [*copies, best] if best is not None and useful else copies


@dataclass(slots=True)
class Round:
    """The round being planned, drafted and judged.

    `asked` counts laws shown by drafter; `declined` are the first guesses that nobody paid for.
    """

    position: int = 0
    table: Sequence[float] = (1.0, 1.0)
    order: tuple[Standing, ...] = ()
    forced: Standing | None = None
    stake: float = 0.0
    baseline: bool = False
    cursor: int = 0
    asker: Standing | None = None
    rule: StopRule | None = None
    asked: dict[str, int] = field(default_factory=dict)
    declined: dict[str, Token] = field(default_factory=dict)

    def renew(
        self, position: int, order: tuple[Standing, ...] = (), table: Sequence[float] = ()
    ) -> None:
        """Begin the next round, at the same costs if no others are given."""
        self.position, self.order = position, order
        self.table = table or self.table
        self.forced = self.asker = self.rule = None
        self.stake, self.baseline, self.cursor = 0.0, False, 0
        self.asked.clear()
        self.declined.clear()

    def next_asker(self, point: bool) -> Standing | None:
        """Find who asks: the next in order that can have made a law that is a point, or not."""
        while self.cursor < len(self.order):
            standing = self.order[self.cursor]
            self.cursor += 1
            facts = standing.facts
            silent = facts.match is not None and facts.match() <= 0
            if not silent and (point or not facts.deterministic):
                return standing
        return None

    def cost(self, drafted: int, standings: Mapping[str, Standing]) -> float:
        """Give the usual cost of this round, which no spike distorts."""
        cost = self.table[min(drafted, len(self.table) - 1)]
        for name, asked in self.asked.items():
            draft = standings[name].cost
            cost += draft.call + asked * draft.token
        return cost
