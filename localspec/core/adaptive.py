"""The adaptive policy: draft as much as pays, with whoever pays most, and know why.

Knows costs, chances and the stop rule, and what each drafter is like. Has no clock of its own and
never discards a drawn token: it only stops before a draw, by what is known up to there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localspec.core.asking import worth_drawing, worth_looking
from localspec.core.costs import CostModel
from localspec.core.distribution import Distribution
from localspec.core.events import Step
from localspec.core.exploration import Bid, Terms, length_probe, parked_probe, plan_of
from localspec.core.habits import EVEN, Habit
from localspec.core.lessons import Lessons
from localspec.core.pace import Pace
from localspec.core.policy import Plan
from localspec.core.probing import KNOWN_CREDIT, Credit, PlainPasses
from localspec.core.resting import Rest
from localspec.core.standing import (
    Choice,
    DrafterFacts,
    Round,
    Standing,
    asking_order,
    choice_among,
)
from localspec.core.stopping import DraftCost, StopRule, best_length
from localspec.core.survival import Survival
from localspec.core.theory import MAX_GAMMA

MARGIN = 0.03
STAY_MARGIN = 0.01
EXPLORE_EVERY = 4
RESTLESS = 1.5
AFRESH = 2
USUAL_LAG = 2
FEW_ROWS = 2
BLIND_PROBE = 3
KNOWN_PROBE = 8
HARDLY_KNOWN = 8.0
CHEAP = 0.25


@dataclass(frozen=True)
class PolicyOptions:
    """Limits of the adaptive policy.

    `fixed_order`: the drafters are a chain the user gave, tried in that order.
    """

    max_gamma: int = MAX_GAMMA
    margin: float = MARGIN
    fixed_order: bool = False


class AdaptivePolicy:
    """Choose drafter and length by expected tokens per second; park what does not pay.

    Rates are in tokens per one-row pass, so plain decoding has rate 1. `price` is lambda, the rate
    that time is worth.
    """

    def __init__(
        self,
        drafters: Sequence[DrafterFacts],
        *,
        costs: CostModel | None = None,
        options: PolicyOptions | None = None,
        habits: Mapping[str, Habit] | None = None,
    ) -> None:
        self.options = options or PolicyOptions()
        self.costs = costs or CostModel(max_rows=self.options.max_gamma + 1)
        known = habits or {}
        self._standings = {
            facts.name: Standing(facts, Survival(known.get(facts.name, EVEN))) for facts in drafters
        }
        new = any(facts.name not in known for facts in drafters)
        self._credit = Credit() if new else Credit(KNOWN_CREDIT, KNOWN_CREDIT / 2)
        self._lessons = Lessons()
        self._plain, self._round, self._rest, self._pace = PlainPasses(), Round(), Rest(), Pace()
        self._expected, self._rounds, self._explore_at = -1, 0, EXPLORE_EVERY
        self.price = 1.0

    @property
    def chosen(self) -> Choice:
        """Give the drafter and gamma in use, or the best drafter with gamma 0."""
        one_s = self.costs.one_row_s(self._round.position)
        return choice_among(list(self._standings.values()), one_s)

    @property
    def habits(self) -> dict[str, Habit]:
        """Give the acceptance of every drafter that was judged here."""
        seen = {name: it.survival.habit for name, it in self._standings.items()}
        return {name: habit for name, habit in seen.items() if habit.count}

    def reason(self) -> str:
        """Say in numbers why it drafts, or does not."""
        return self.chosen.account

    def plan(self, position: int, room: int) -> Plan:
        """Choose whom to ask and for how much, or a plain pass."""
        self._arrive(position)
        cap = min(room, self.options.max_gamma)
        if not self._standings:
            return Plan()
        self._rounds += 1
        if (plan := self._rest.take(cap)) is not None:
            if not self._rest.owed:
                self._set_price()
            self._round.renew(position, self._rest.order)
            return plan
        self._wake(changed=True)
        standings = list(self._standings.values())
        now = self._round
        now.renew(position, table=self._lessons.table(self.costs, position))
        if cap <= 0:
            return Plan()
        if self._plain.due(self.price):
            now.baseline = True
            return Plan(baseline=True)
        for standing in standings:
            self._assess(standing, cap)
        self._set_price()
        order = asking_order(standings, self.price, fixed=self.options.fixed_order)
        longest = KNOWN_PROBE if self.costs.measured > FEW_ROWS else BLIND_PROBE
        terms = Terms(now.table, self.price, self.options.margin, cap, longest)
        bid = self._bid(order, terms)
        plan = plan_of(now, order, bid, cap)
        restful = bid is None and self.price < RESTLESS
        if restful and all(it.facts.match for it in standings if it.active):
            self._rest.begin(plan, now.order, standings)
        return plan

    def _wake(self, *, changed: bool) -> None:
        """Count the rounds of a rest, each a plain pass that nobody was asked about."""
        owed = self._rest.wake(list(self._standings.values()), changed=changed)
        if owed:
            self._credit.earn(float(owed))
            self._pace.plain(owed)

    def _arrive(self, position: int) -> None:
        """Notice a new answer: the caches were just read in, and the text may be another kind."""
        if position == self._expected:
            return
        self._rest.left = 0
        for standing in self._standings.values():
            standing.read = position
            standing.backoff.reset()
            standing.survival.renew()
            standing.stale = True
        self._credit.renew()

    def _assess(self, standing: Standing, cap: int) -> None:
        """Work out what a round with this drafter is worth now, and whether it pays."""
        if standing.settled:
            return
        standing.stale, standing.probe = False, None
        now, name = self._round, standing.facts.name
        ratio = self.costs.draft_ratio(name)
        if standing.facts.deterministic:
            standing.cost = DraftCost(call=ratio)
        else:
            lag = max(now.position - standing.read - USUAL_LAG, 0) * standing.facts.reads
            standing.reading = lag * self.costs.catch_up_ratio(name) if lag else 0.0
            standing.cost = DraftCost(token=ratio)
        standing.outlook = best_length(standing.survival.chances, now.table, standing.cost, cap)
        standing.decide(STAY_MARGIN if standing.active else self.options.margin)

    def _set_price(self) -> None:
        """Set lambda: the rate reached lately, within what is believed possible now."""
        possible = max(it.rate for it in self._standings.values())
        self.price = max(min(self._pace.rate, possible), 1.0)

    def _bid(self, order: Sequence[Standing], terms: Terms) -> Bid | None:
        """Look for something to find out in this round."""
        bid = parked_probe(self._standings.values(), terms, self._credit)
        if bid is None and order and self._rounds >= self._explore_at:
            self._explore_at = self._rounds + EXPLORE_EVERY
            active = [it for it in order if it.active]
            doubts = self.costs.doubts()
            bid = length_probe(active, doubts, terms=terms, credit=self._credit)
        return bid

    def keep_going(self, index: int, law: Distribution) -> bool:
        """Say whether one of the next few tokens pays for what it adds."""
        now = self._round
        if index == 0:
            self._begin(law)
        standing = now.asker
        if standing is None:
            return True
        facts, survival = standing.facts, standing.survival
        now.asked[facts.name] = index + 1
        chance = survival.look(index, law, facts.match() if facts.match else 0.0)
        if standing is not now.forced and not worth_drawing(now, standing, index, chance=chance):
            if index == 0 and facts.deterministic:
                now.declined[facts.name] = int(law.ids[0])
            return False
        survival.drawn(chance)
        return True

    def worth_looking(self, index: int) -> bool:
        """Say whether a law not yet known may be worth its draft pass; a probe always is."""
        now = self._round
        standing = now.asker
        return standing is None or standing is now.forced or worth_looking(now, standing, index)

    def _begin(self, law: Distribution) -> None:
        """Find out who asks, and make the stop rule ready."""
        now = self._round
        now.asker = asker = now.next_asker(law.is_point)
        if asker is not None:
            asker.survival.begin()
            now.rule = StopRule(now.table, self.price, asker.cost.token, self.options.max_gamma)

    def observe(self, step: Step) -> None:
        """Learn what the round cost, what was accepted, and whether a probe paid."""
        if not self._standings:
            return
        now = self._round
        self._lessons.learn(self.costs, step, now, self._standings)
        if self._rest.doze(changed=bool(step.drafted or now.asked)):
            self._observed(step)
            return
        standing = self._standings.get(step.drafter)
        changed = False
        if standing is not None:
            before = standing.survival.changes
            standing.survival.learn(step.overlaps)
            standing.read = step.position + step.accepted
            other = standing.survival.changes > before
            changed = other or not standing.facts.match
            standing.stale = standing.stale or other or self._rounds % AFRESH == 0
        self._wake(changed=changed)
        cost = now.cost(step.drafted, self._standings)
        if now.forced is not None and (standing is now.forced or now.forced is now.asker):
            self._settle_probe(now.forced, step, cost)
        else:
            self._settle(step, cost)
        for it in self._standings.values():
            if it is standing:
                it.backoff.used()
            else:
                it.backoff.tick()
                it.fade()
                self._watch(it, step)
        self._observed(step)

    def _observed(self, step: Step) -> None:
        self._plain.observe(step.drafted)
        self._expected = step.position + len(step.tokens)

    def _watch(self, standing: Standing, step: Step) -> None:
        """Hold a guess that was not submitted against what was written: a label for nothing."""
        guess = self._round.declined.get(standing.facts.name)
        if guess is None or not step.tokens:
            standing.survival.idle()
            return
        standing.survival.learn((float(step.tokens[0] == guess),))
        standing.stale = True

    def _settle(self, step: Step, cost: float) -> None:
        """Count an ordinary round; what a drafter's first guesses lose is paid for like a probe."""
        now = self._round
        expected, saved = 1.0, 0.0
        if now.asker is not None and now.asker.facts.name in now.asked:
            expected = now.asker.survival.expected
            now.asker.note(expected, cost)
            saved = expected - cost
            if now.asker.survival.habit.count < HARDLY_KNOWN:
                self._credit.spend(cost * self.price - step.accepted - 1)
        self._credit.earn(cost, saved)
        if not now.baseline:
            self._pace.round(expected, cost)

    def _settle_probe(self, standing: Standing, step: Step, cost: float) -> None:
        """Pay for a probe; wait longer for the next unless it paid, or all stood for little."""
        self._credit.earn(cost)
        loss = cost * self.price - step.accepted - 1
        stood = 0 < step.drafted == step.accepted and loss < CHEAP
        luck = standing.survival.mean**step.accepted
        if standing.active:
            self._credit.spend(self._round.stake)
        else:
            loss += standing.reading
            known = standing.survival.habit.count >= HARDLY_KNOWN
            stake = self._round.stake
            self._credit.charge(loss, stake, stood=stood, known=known, luck=luck)
        if loss <= 0 or stood:
            standing.backoff.paid(luck)
        elif not standing.active:
            standing.backoff.failed(self._credit.longest_wait(self._round.stake))
