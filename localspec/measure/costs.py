"""What passes and drafted tokens cost here: measured curves, and numbers read off them.

Knows token sequences, drafters and a clock. Does not know which machine or file it was; that is
kept beside the curve by `calibration`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from localspec.core import cost_curve as core_costs
from localspec.core.distribution import Distribution
from localspec.core.draft import Drafter, DraftRequest
from localspec.core.events import Step
from localspec.core.tokens import Token, Tokens, TokenSequence, sync

REPEATS = 7
ROWS = tuple(range(1, 17))
CONTEXTS = (64, 512)
DRAFT_LENGTHS = (1, 4)
CHEAPER = 0.6
Clock = Callable[[], float]


@dataclass(frozen=True)
class CostPoint:
    """Seconds of a pass over `rows` rows (or of drafting `rows` tokens) after `context` ids.

    `unread`: ids of the history, besides the newest, that a drafter had to read before it guessed.
    """

    rows: int
    context: int
    median_s: float
    iqr_s: float
    samples: int = 0
    unread: int = 0


@dataclass(frozen=True)
class Costs:
    """A calibration. Units: seconds; `overhead_s` a round outside target and draft."""

    target: tuple[CostPoint, ...]
    drafts: Mapping[str, tuple[CostPoint, ...]] = field(default_factory=dict)
    overhead_s: float = 0.0

    def pass_s(self, rows: int, context: float) -> float:
        """Give T(rows) at a context, straight between what was measured."""
        return _between(self.target, rows, context)

    def draft_s(self, name: str, tokens: int, context: float) -> float:
        """Give D(tokens); 0 for a drafter whose cost was never measured."""
        points = self._ready(name)
        return _between(points, tokens, context) if points and tokens else 0.0

    def unread_s(self, name: str, context: float) -> float:
        """Give what each id costs that a drafter has to read besides the newest; 0 if unknown.

        A draft of which all stood leaves one: its last token, which nothing had to follow.
        """
        late = [point for point in self.drafts.get(name, ()) if point.unread]
        if not late:
            return 0.0
        near = min(late, key=lambda point: abs(point.context - context))
        ready = self.draft_s(name, near.rows, near.context)
        return max(near.median_s - ready, 0.0) / near.unread

    def _ready(self, name: str) -> list[CostPoint]:
        """Give the points of a drafter that has read all but the newest id."""
        return [point for point in self.drafts.get(name, ()) if not point.unread]

    def verify_costs(self, context: float | None = None) -> tuple[float, ...]:
        """Give v(1), v(2), ... as far as measured, at the shortest context unless told."""
        at = min(p.context for p in self.target) if context is None else context
        most = max(point.rows for point in self.target)
        one = self.pass_s(1, at)
        return tuple(self.pass_s(rows, at) / one for rows in range(1, most + 1))

    def cost_ratio(self, name: str, context: float | None = None) -> float | None:
        """Give c: seconds of a drafted token over those of a one-row pass."""
        points = self._ready(name)
        if not points:
            return None
        at = min(p.context for p in self.target) if context is None else context
        longest = max(point.rows for point in points)
        return self.draft_s(name, longest, at) / longest / self.pass_s(1, at)

    def step_s(self, step: Step) -> float:
        """Give what a round should have taken."""
        draft = self.draft_s(step.drafter, step.drafted, step.position)
        return draft + self.pass_s(step.drafted + 1, step.position) + self.overhead_s

    def seed(self) -> core_costs.CostSeed:
        """Give the calibration that the adaptive policy starts from."""
        passes = [core_costs.CostPoint(p.rows, p.context, p.median_s) for p in self.target]
        drafts = {
            name: self.draft_s(name, max(p.rows for p in points), min(p.context for p in points))
            / max(p.rows for p in points)
            for name, points in ((name, self._ready(name)) for name in self.drafts)
        }
        return core_costs.CostSeed(tuple(passes), drafts)


def averaged(calibrations: Sequence[Costs]) -> Costs:
    """Give the mean of calibrations of one pair: a machine that drifts was at all of them.

    What the first one lacks stays unknown; what only it has stays as it was.
    """
    return _together(calibrations, _mean)


def fastest(calibrations: Sequence[Costs]) -> Costs:
    """Take the fastest of several calibrations, point by point: a busy moment can only add.

    What the first one lacks stays unknown.
    """
    return _together(calibrations, lambda points: min(points, key=lambda each: each.median_s))


Merge = Callable[[Sequence[CostPoint]], CostPoint]


def _together(calibrations: Sequence[Costs], merge: Merge) -> Costs:
    first = calibrations[0]
    drafts = {
        name: _merged([each.drafts.get(name, ()) for each in calibrations], merge)
        for name in first.drafts
    }
    return replace(first, target=_merged([c.target for c in calibrations], merge), drafts=drafts)


def _merged(curves: Sequence[Sequence[CostPoint]], merge: Merge) -> tuple[CostPoint, ...]:
    found: dict[tuple[int, int, int], list[CostPoint]] = {}
    for point in (point for curve in curves for point in curve):
        found.setdefault((point.rows, point.context, point.unread), []).append(point)
    return tuple(merge(found[point.rows, point.context, point.unread]) for point in curves[0])


def _mean(points: Sequence[CostPoint]) -> CostPoint:
    """Give the mean; its spread is that of the worst moment, or the way between two of them."""
    seconds = [point.median_s for point in points]
    return replace(
        points[0],
        median_s=sum(seconds) / len(points),
        iqr_s=max(max(seconds) - min(seconds), *(point.iqr_s for point in points)),
        samples=sum(point.samples for point in points),
    )


def plausible(points: Sequence[CostPoint]) -> bool:
    """Say whether no pass is far cheaper than one of fewer rows at the same context.

    Kernels take rows in tiles, so four may cost a third less than three; half of it is a machine
    that was disturbed.
    """
    dearest: dict[int, float] = {}
    for point in sorted(points, key=lambda each: each.rows):
        most = dearest.get(point.context, 0.0)
        if point.median_s < CHEAPER * most:
            return False
        dearest[point.context] = max(most, point.median_s)
    return True


def _between(points: Sequence[CostPoint], rows: int, context: float) -> float:
    by_context: dict[int, dict[int, float]] = {}
    for point in points:
        by_context.setdefault(point.context, {})[point.rows] = point.median_s
    places = sorted(by_context)
    values = [_at_rows(by_context[place], rows) for place in places]
    if len(places) == 1:
        return values[0]
    near = min(max(int(np.searchsorted(places, context)) - 1, 0), len(places) - 2)
    share = (context - places[near]) / (places[near + 1] - places[near])
    return max(values[near] + (values[near + 1] - values[near]) * max(share, 0.0), 0.5 * values[0])


def _at_rows(known: Mapping[int, float], rows: int) -> float:
    """Read a curve at a number of rows; beyond its ends the nearest slope goes on."""
    if rows in known:
        return known[rows]
    ordered = sorted(known)
    if len(ordered) == 1:
        return known[ordered[0]] * rows / ordered[0]
    right = min(max(int(np.searchsorted(ordered, rows)), 1), len(ordered) - 1)
    low, high = ordered[right - 1], ordered[right]
    slope = (known[high] - known[low]) / (high - low)
    return max(known[low] + slope * (rows - low), 0.0)


@dataclass(frozen=True)
class Survey:
    """What to measure: row counts, contexts and repeats; `text` gives the ids of real text."""

    text: Tokens
    rows: tuple[int, ...] = ROWS
    contexts: tuple[int, ...] = CONTEXTS
    repeats: int = REPEATS
    seed: int = 0

    def fitted(self, capacity: int) -> "Survey":
        """Give a survey whose contexts fit a capacity and the text."""
        room = min(capacity, len(self.text)) - max(self.rows) - 1
        if room < 1:
            raise ValueError(f"{len(self.text)} ids are too few to measure {max(self.rows)} rows")
        contexts = tuple(dict.fromkeys(min(context, room) for context in self.contexts))
        return Survey(self.text, self.rows, contexts, self.repeats, self.seed)


def measure_passes(
    sequence: TokenSequence,
    survey: Survey,
    *,
    clock: Clock,
    draft: Callable[[], object] | None = None,
) -> tuple[CostPoint, ...]:
    """Time passes of every size in turn, warmed by a round that does not count.

    Sizes alternate within each repeat, in a new order each time, so that a slow moment of the
    machine falls on all of them. Each is timed as it comes in use: that of one row after another
    of one row, wider ones after a pass of the `draft`, if there is one.
    """
    points: list[CostPoint] = []
    rng = np.random.default_rng(survey.seed)
    for context in survey.contexts:
        times: dict[int, list[float]] = {rows: [] for rows in survey.rows}
        for repeat in range(survey.repeats + 1):
            for rows in rng.permutation(survey.rows).tolist():
                sync(sequence, survey.text[:context], 0)
                if rows == 1:
                    sequence.extend(survey.text[context : context + 1], 1)
                    sequence.rewind(context)
                elif draft is not None:
                    draft()
                begun = clock()
                sequence.extend(survey.text[context : context + rows], rows)
                seconds = clock() - begun
                sequence.rewind(context)
                if repeat:
                    times[rows].append(seconds)
        points += [_point(rows, context, taken) for rows, taken in times.items()]
    return tuple(points)


def measure_draft(
    drafter: Drafter, survey: Survey, *, clock: Clock, lengths: Sequence[int] = DRAFT_LENGTHS
) -> tuple[CostPoint, ...]:
    """Time proposals of a few lengths, the same history each time; `rows` counts drafted tokens.

    The longest one also where one more id is unread.
    """
    points: list[CostPoint] = []
    for context in survey.contexts:
        history = survey.text[:context]
        drafter.prefill(history)
        times: dict[tuple[int, int], list[float]] = {}
        shapes = [*((length, 0) for length in lengths), (max(lengths), 1)]
        for repeat in range(survey.repeats + 1):
            for length, unread in shapes if repeat % 2 else shapes[::-1]:
                drafter.propose(history[: context - 1 - unread], DraftRequest(1, _likeliest))
                begun = clock()
                draft = drafter.propose(history, DraftRequest(length, _likeliest))
                if repeat and len(draft) == length:
                    times.setdefault((length, unread), []).append(clock() - begun)
        points += [
            replace(_point(rows, context, taken), unread=unread)
            for (rows, unread), taken in sorted(times.items(), key=lambda item: item[0][::-1])
        ]
    return tuple(points)


def _likeliest(law: Distribution, place: int) -> Token:
    del place
    return int(law.ids[law.probs.argmax()])


def _point(rows: int, context: int, taken: Sequence[float]) -> CostPoint:
    low, middle, high = np.percentile(taken, [25, 50, 75])
    return CostPoint(rows, context, float(middle), float(high - low), len(taken))
