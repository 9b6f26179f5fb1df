"""How likely a drafter's next token is to be accepted, learned from every judged position.

A quick mean by place follows the text; a logistic correction learns which laws and matches are
worth more than the mean. Knows one drafter's history of labels. Does not know costs or tokens.
"""

from dataclasses import dataclass
from math import exp, log, log1p

from localspec.core.distribution import Distribution
from localspec.core.habits import EVEN, Habit

PLACES = 4
MEMORY = 0.995
PLACE_MEMORY = 0.99
PLACE_SHRINK = 20.0
SHIFT = 3.0
BEYOND_DOUBT = 7.0
LEAST_COUNT = 8.0
FRESH_WEIGHT = 1.0
OLD_TEXT = (3.0, 6.0)
IDLE = 0.99
SHARP_POINT = (log(1.02 / 0.02), 0.0)
FIRST_WEIGHTS = (0.3, 0.0, 0.5, 0.0)
FIRST_PRECISION = (12.0, 8.0, 4.0, 8.0)
CENTRE = 0.03
WIDEST = 8.0
SPREAD_MEMORY = 0.05
LITTLE = 0.1
SOFTEN = 0.01

Features = tuple[float, float, float, float]


def _logit(chance: float) -> float:
    if chance < SOFTEN:
        chance = SOFTEN
    elif chance > 1.0 - SOFTEN:
        chance = 1.0 - SOFTEN
    return log(chance / (1.0 - chance))


def features(law: Distribution, match: float, alive: float) -> Features:
    """Give what can be known before a draw: sharpness, spread, match length, survival so far.

    The spread is the collision entropy; with the largest probability it also fixes the margin
    to the second as well as anything does, at a tenth of the cost of a sort.
    """
    if law.is_point:
        sharp, spread = SHARP_POINT
        if law.margin is not None:
            sharp = min(law.margin, WIDEST)
    else:
        probs = law.probs
        top = float(probs[probs.argmax()])
        sharp = log((top + 0.02) / (1.02 - top))
        spread = -log(float(probs.dot(probs)))
    return sharp, spread, log1p(match), log(max(alive, 1e-3))


@dataclass(slots=True)
class _Alarm:
    """A cumulative sum of log-likelihood ratios: have the odds grown by exp(`shift`)?"""

    shift: float
    factor: float
    offset: float = 0.0
    sum: float = 0.0
    hits: float = 0.0
    count: float = 0.0

    def watch(self, odds: float) -> None:
        """Compare with a chance of these odds from now on."""
        self.offset = log((1.0 + odds) / (1.0 + odds * self.factor))

    def add(self, label: float) -> bool:
        """Take a label in; say whether the change is beyond doubt."""
        self.sum += label * self.shift + self.offset
        self.hits += label
        self.count += 1.0
        if self.sum <= 0.0:
            self.clear()
        return self.sum > BEYOND_DOUBT

    def clear(self) -> None:
        """Start over."""
        self.sum = self.hits = self.count = 0.0


class Survival:
    """Chances of acceptance of one drafter's tokens, from Beta(1, 1) or an older habit on.

    `spread`: how far laws and matches move a chance from its place's mean, in logits.
    """

    def __init__(self, habit: Habit = EVEN) -> None:
        self._hits, self._count = habit.mean * habit.weight, habit.weight
        self._seen_hits = self._seen = 0.0
        self._place_hits = [0.0] * PLACES
        self._place_count = [0.0] * PLACES
        self._alarms = (_Alarm(SHIFT, exp(SHIFT)), _Alarm(-SHIFT, exp(-SHIFT)))
        self.changes = 0
        self._judged = False
        self._weights = list(FIRST_WEIGHTS)
        self._precision = list(FIRST_PRECISION)
        self._centre: list[float] | None = None
        self._looks: list[tuple[Features | None, float]] = []
        self.chances = [0.5] * PLACES
        self._logits = [0.0] * PLACES
        self._refresh()
        self.spread = 0.0
        self.alive = 1.0
        self.expected = 1.0

    @property
    def mean(self) -> float:
        """Give the acceptance rate now."""
        return self._hits / self._count

    @property
    def habit(self) -> Habit:
        """Give the mean of all labels seen here, none forgotten."""
        return Habit(self._seen_hits / max(self._seen, 1.0), self._seen)

    def begin(self) -> None:
        """Start a round."""
        self._looks.clear()
        self.alive = 1.0
        self.expected = 1.0

    def renew(self) -> None:
        """Begin a new answer: its text may be another kind, so what was seen counts for little.

        Nothing is forgotten twice where nothing was judged in between.
        """
        if not self._judged:
            return
        self._judged = False
        few, few_a_place = OLD_TEXT
        kept = min(few / self._count, 1.0)
        self._hits = kept * self._hits + 0.5 * FRESH_WEIGHT
        self._count = kept * self._count + FRESH_WEIGHT
        for place, count in enumerate(self._place_count):
            if count > few_a_place:
                self._place_hits[place] *= few_a_place / count
                self._place_count[place] = few_a_place
        self._refresh()

    def look(self, index: int, law: Distribution, match: float) -> float:
        """Give the chance of drafted token `index` before it is drawn; remember why.

        A point without a match and a margin tells nothing: then it is the place's mean.
        """
        if not match and law.is_point and law.margin is None:
            chance = self.chances[min(index, PLACES - 1)]
            self._looks.append((None, chance))
            return chance
        seen = features(law, match, self.alive)
        score = self._logits[index if index < PLACES else PLACES - 1]
        if self._centre is not None:
            (w0, w1, w2, w3), (c0, c1, c2, c3) = self._weights, self._centre
            shift = w0 * (seen[0] - c0) + w1 * (seen[1] - c1) + w2 * (seen[2] - c2)
            shift += w3 * (seen[3] - c3)
            shift = -4.0 if shift < -4.0 else 4.0 if shift > 4.0 else shift
            self.spread += SPREAD_MEMORY * (abs(shift) - self.spread)
            score += shift
        chance = 1.0 / (1.0 + exp(-score))
        self._looks.append((seen, chance))
        return chance

    def outlooks(self, index: int) -> tuple[float, ...]:
        """Give equally likely chances of token `index` before its law is known."""
        if self.spread < LITTLE:
            return (self.chances[min(index, PLACES - 1)],)
        odds = exp(-self._logits[index if index < PLACES else PLACES - 1])
        away = exp(self.spread)
        return 1.0 / (1.0 + odds / away), 1.0 / (1.0 + odds * away)

    def drawn(self, chance: float) -> None:
        """Note that the token looked at last was drawn."""
        self.alive *= chance
        self.expected += self.alive

    def learn(self, labels: tuple[float, ...]) -> None:
        """Learn from the soft labels of the judged positions, in order."""
        self._judged = self._judged or bool(labels)
        for place, label in enumerate(labels):
            self._count_label(min(place, PLACES - 1), label)
            if place < len(self._looks):
                self._correct(*self._looks[place], label)
        self._refresh()

    def idle(self, rounds: int = 1) -> None:
        """Grow less sure while nothing is judged."""
        if self._count > 4.0:
            kept = IDLE**rounds
            self._hits *= kept
            self._count *= kept

    def _count_label(self, place: int, label: float) -> None:
        self._seen_hits += label
        self._seen += 1.0
        self._hits = MEMORY * self._hits + label
        self._count = MEMORY * self._count + 1.0
        self._place_hits[place] = PLACE_MEMORY * self._place_hits[place] + label
        self._place_count[place] = PLACE_MEMORY * self._place_count[place] + 1.0
        for alarm in self._alarms:
            if alarm.add(label) and self._count > LEAST_COUNT:
                self._forget(alarm)

    def _forget(self, alarm: "_Alarm") -> None:
        """Start again from the labels since the change: the old mean is what they disproved."""
        self.changes += 1
        self._hits, self._count = 0.5 * FRESH_WEIGHT + alarm.hits, FRESH_WEIGHT + alarm.count
        self._place_hits = [0.0] * PLACES
        self._place_count = [0.0] * PLACES
        for each in self._alarms:
            each.clear()

    def _correct(self, seen: Features | None, chance: float, label: float) -> None:
        """Move weights by a diagonal Newton step, and the centre of the features."""
        if seen is None:
            return
        if self._centre is None:
            self._centre = list(seen)
            return
        weights, precision, centre = self._weights, self._precision, self._centre
        error, weight = label - chance, chance * (1.0 - chance) + 0.02
        for j in range(len(seen)):
            away = seen[j] - centre[j]
            if away:
                precision[j] += weight * away * away
                weights[j] += 0.5 * error * away / precision[j]
                centre[j] += CENTRE * away

    def _refresh(self) -> None:
        """Recompute the chance of each place, drawn towards the mean of all."""
        mean = self._hits / self._count
        odds = exp(_logit(mean))
        for alarm in self._alarms:
            alarm.watch(odds)
        for place in range(PLACES):
            hits = self._place_hits[place] + PLACE_SHRINK * mean
            chance = hits / (self._place_count[place] + PLACE_SHRINK)
            self.chances[place], self._logits[place] = chance, _logit(chance)
