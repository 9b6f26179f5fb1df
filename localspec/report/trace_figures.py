"""The numbers behind the page's figures, worked out from a trace.

Knows documents and the papers' formulas. Does not know how a figure is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from localspec.core import theory
from localspec.core.theory import MAX_GAMMA, VerifyCost
from localspec.report.documents import CostCurve
from localspec.report.trace_documents import TraceDocument, TraceLaw, TraceRound

FEW_ROUNDS = 8
LEAST_ROUNDS = 3
FIVE = 5
SEEN = 0.0005


@dataclass(frozen=True)
class PassTimes:
    """T(n) in seconds by rows; `apart`: measured for itself, not in the answer."""

    seconds: dict[int, float]
    apart: bool
    context: int = 0

    @property
    def one(self) -> float | None:
        """Give T(1)."""
        return self.seconds.get(1)

    def ratio(self, rows: int) -> float | None:
        """Give v(rows); None where it is not known."""
        taken = self.seconds.get(rows)
        return taken / self.one if taken and self.one else None

    @property
    def verify(self) -> VerifyCost | None:
        """Give v(n) for every n, straight between what was measured; None with one size alone."""
        if self.one is None or len(self.seconds) < 2:
            return None
        known = sorted(self.seconds)
        costs = [_between(known, self.seconds, rows) for rows in range(1, known[-1] + 1)]
        if costs[-1] < costs[-2]:  # a step down at the end says nothing about what comes after
            costs.append(costs[-1])
        return theory.interpolated([cost / self.one for cost in costs])


def _between(known: Sequence[int], seconds: dict[int, float], rows: int) -> float:
    right = next(n for n in known if n >= rows)
    left = max((n for n in known if n <= rows), default=right)
    if left == right:
        return seconds[right]
    share = (rows - left) / (right - left)
    return seconds[left] + (seconds[right] - seconds[left]) * share


def pass_times(document: TraceDocument) -> PassTimes:
    """Take the measured curve at its shortest context, else the answer's own passes."""
    if document.costs and document.costs.target:
        return _measured(document.costs)
    taken: dict[int, list[float]] = {}
    for one in document.rounds:
        taken.setdefault(len(one.drafted) + 1, []).append(one.verify_s)
    return PassTimes({rows: median(times) for rows, times in sorted(taken.items())}, apart=False)


def _measured(costs: CostCurve) -> PassTimes:
    context = min(point.context for point in costs.target)
    seconds = {p.rows: p.median_s for p in costs.target if p.context == context}
    return PassTimes(dict(sorted(seconds.items())), apart=True, context=context)


@dataclass(frozen=True)
class SpeedDot:
    """A measured speed-up: rounds that guessed `gamma` tokens, against plain passes."""

    gamma: int
    speedup: float
    rounds: int

    @property
    def few(self) -> bool:
        """Say whether luck has a large part in it."""
        return self.rounds < FEW_ROUNDS


@dataclass(frozen=True)
class Expectation:
    """Figure d: where the sliders start, and what was measured."""

    alpha: float
    cost_ratio: float
    gamma: int
    dots: tuple[SpeedDot, ...]
    verify: VerifyCost | None

    def curve(self, *, machine: bool) -> tuple[theory.CurvePoint, ...]:
        """Give the papers' curve, or the one with this machine's times."""
        verify = self.verify if machine and self.verify else theory.free_verification
        return theory.curve(self.alpha, self.cost_ratio, verify=verify)

    @property
    def top(self) -> float:
        """Give the upper end of the speed axis."""
        speeds = [point.speedup for which in (False, True) for point in self.curve(machine=which)]
        return axis_top(max([*speeds, *(dot.speedup for dot in self.dots)]))


def axis_top(most: float) -> float:
    """Round up to a half, and leave a little room."""
    return max(1.5, -(-(most * 1.06) // 0.5) * 0.5)


def expectation(document: TraceDocument, times: PassTimes) -> Expectation:
    """Work out alpha, c, gamma and the measured points of one answer."""
    guessing = [one for one in document.rounds if one.drafted]
    drafted = sum(len(one.drafted) for one in guessing)
    per_token = sum(one.draft_s for one in guessing) / drafted if drafted else 0.0
    plain = _plain_s(document, times)
    return Expectation(
        alpha=document.acceptance_rate or 0.0,
        cost_ratio=min(per_token / plain, 1.0) if plain else 0.0,
        gamma=round(median(len(one.drafted) for one in guessing)) if guessing else 1,
        dots=_dots(guessing, plain),
        verify=times.verify,
    )


def _plain_s(document: TraceDocument, times: PassTimes) -> float | None:
    """Give a plain round's seconds: those taken during the answer, else T(1)."""
    if document.baseline:
        return 1 / document.baseline.tokens_per_s
    return times.one


def _dots(guessing: Sequence[TraceRound], plain: float | None) -> tuple[SpeedDot, ...]:
    groups: dict[int, list[TraceRound]] = {}
    for one in guessing:
        groups.setdefault(len(one.drafted), []).append(one)
    if not plain:
        return ()
    return tuple(
        SpeedDot(gamma, _tokens(rounds) * plain / seconds, len(rounds))
        for gamma, rounds in sorted(groups.items())
        if gamma <= MAX_GAMMA
        and len(rounds) >= LEAST_ROUNDS
        and (seconds := sum(one.seconds for one in rounds)) > 0
    )


def _tokens(rounds: Sequence[TraceRound]) -> int:
    return sum(len(one.token_ids) for one in rounds)


@dataclass(frozen=True)
class Share:
    """One line of figure c: a token, or all others (None), and how its p comes about."""

    text: str | None
    p: float
    q: float
    accepted: float
    replaced: float


def shares(law: TraceLaw) -> list[Share]:
    """Split p into accepted guesses and replacements; without q all of it is the target's.

    accepted = q min(1, p/q); replaced = the rejected share times the residual.
    """
    q = law.q or [0.0] * len(law.p)
    accepted = [b * min(1.0, a / b) if b > 0 else 0.0 for a, b in zip(law.p, q, strict=True)]
    rest_both = law.rest_both or 0.0
    left = [max(a - b, 0.0) for a, b in zip(law.p, q, strict=True)]
    rest_left = max(law.rest_p - rest_both, 0.0)
    rejected = 1.0 - sum(accepted) - rest_both
    mass = sum(left) + rest_left
    scale = rejected / mass if mass > 0 else 0.0
    rows = zip(law.texts, law.p, q, accepted, left, strict=True)
    lines = [Share(text, a, b, kept, miss * scale) for text, a, b, kept, miss in rows]
    others = Share(None, law.rest_p, law.rest_q or 0.0, rest_both, rest_left * scale)
    return _merged([*lines, others])


def _merged(lines: Sequence[Share]) -> list[Share]:
    """Put what cannot be seen into the last line."""
    small = [line for line in lines if line.text is None or max(line.p, line.q) < SEEN]
    others = Share(
        None,
        sum(line.p for line in small),
        sum(line.q for line in small),
        sum(line.accepted for line in small),
        sum(line.replaced for line in small),
    )
    return [*(line for line in lines if line not in small), others]


def telling_place(document: TraceDocument) -> int:
    """Choose the place of the answer whose law shows most: half accepted, half replaced."""
    best, chosen, at = -1.0, 0, 0
    for one in document.rounds:
        for law in one.laws:
            kept = sum(line.accepted for line in shares(law)) if law.q else 0.0
            likely = sum(line.p > 0.02 for line in shares(law)) if law.q else 0
            score = kept * (1 - kept) * min(likely, 5)
            if score > best:
                best, chosen = score, at
            at += 1
    return chosen
