"""Which blocks can a target do without, as a draft for itself? Asked of replayed answers.

The loaded target reads its own stored answers with halves of its blocks set to zero, so that no
file is written to score a candidate. The best cuts are then made as files, timed and replayed as
any draft is. Knows a loaded pair and its costs; what a cut is made of is known by `runtime`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from localspec.core.counted import counted
from localspec.core.distribution import Distribution
from localspec.core.sampling import DEFAULT_SAMPLING, Sampler
from localspec.core.theory import CurvePoint, best, curve, interpolated
from localspec.core.tokens import sync
from localspec.engine import Context
from localspec.engine.halves import half_bytes
from localspec.engine.halves import refusal as no_halves
from localspec.engine.skipping import ATTENTION, Half, Skips, whole
from localspec.errors import PairRefused
from localspec.measure.check import Bench, Candidate, check_draft
from localspec.measure.elimination import Cut, Rules, eliminate, swapped
from localspec.measure.replay import Transcript
from localspec.runtime.layerskip import LAYOUT_BITS, Choice, ensure_skipped, refusal

Part = frozenset[Half]
Memo = dict[frozenset[Half], float]

READ = 64
MOST_ANSWERS = 4
ROWS = 64
FLOOR = 0.3


@dataclass(frozen=True)
class Search:
    """How to search. `halves`: single attentions and feed-forwards too, where a file can say so.

    `memo` keeps scores from one search to the next; `enough` ends it early. `threads`: of scoring
    alone; one waits for nobody where other programs are busy. `answers`, `read`: how many of them a
    score reads, and how many tokens of each one's prompt.
    """

    halves: bool = True
    finalists: int = 3
    answers: int = MOST_ANSWERS
    read: int = READ
    threads: int | None = None
    enough: Callable[[], bool] = field(default=lambda: False, repr=False)
    memo: Memo = field(default_factory=dict, repr=False)
    notify: Callable[[str], None] = field(default=lambda _text: None, repr=False)


@dataclass(frozen=True)
class Point:
    """A draft made of the target, on the frontier or off it.

    `beta`: mean overlap with the target's law, c and speed-up from bytes alone. `measured`: what
    the file itself was found to give, None for one that was not made.
    """

    choice: Choice
    beta: float
    saved_bytes: int
    cost_ratio: float
    predicted: CurvePoint
    measured: Candidate | None = None

    @property
    def label(self) -> str:
        """Say what is left out, and how the rest is stored."""
        return self.choice.label


@dataclass(frozen=True)
class Found:
    """Every step of a search, and the best draft by what was measured; None if none was."""

    points: tuple[Point, ...]
    scores: int

    @property
    def best(self) -> Point | None:
        """Give the fastest draft that was made and measured."""
        made = [point for point in self.points if point.measured]
        return max(made, key=_measured_speed, default=None)


def _measured_speed(point: Point) -> float:
    return point.measured.best.speedup.low if point.measured else 0.0


def search(bench: Bench, asked: Search) -> Found:
    """Find what the target can do without, make the likeliest drafts, and measure them.

    Raises: PairRefused for a target that cannot be pruned.
    """
    points = scored(bench, asked)
    measured = {
        point.choice: _measured(bench, point, asked) for point in likeliest(points, asked.finalists)
    }
    return Found(tuple(measured.get(point.choice, point) for point in points), len(asked.memo))


def scored(bench: Bench, asked: Search) -> list[Point]:
    """Find what the target can do without, and predict it from overlap and bytes; make no file.

    Raises: PairRefused for a target that cannot be pruned.
    """
    source = bench.runtime.settings.files.target
    reason = refusal(source)
    if reason:
        raise PairRefused(f"no draft can be made of {source.name}: {reason}")
    told = [_shortened(each, asked.read) for each in bench.stored.transcripts[: asked.answers]]
    with reading(bench, told, threads=asked.threads) as score:
        rules = _rules(source, asked, score)
        cuts = eliminate(rules)
        asked.notify(f"{counted(len(asked.memo), 'way')} to leave something out scored")
        points = _points(bench, [Cut(frozenset(), 1.0, 0), *cuts])
        swaps = [_swapped(rules, point) for point in likeliest(points, asked.finalists)]
        points += _points(bench, [cut for cut in swaps if cut not in cuts and cut.parts])
    return points


def _rules(source: Path, asked: Search, score: Callable[[Part], float]) -> Rules[Part]:
    halves = half_bytes(source)
    blocks = sorted({half.block for half in halves})
    single = asked.halves and not no_halves(source)
    parts = [frozenset([half]) for half in sorted(halves) if half.block] if single else []
    parts += [whole([block]) for block in ([0] if single else blocks)]
    sizes = {part: sum(halves[half] for half in part if half in halves) for part in parts}

    def remembered(chosen: frozenset[Part]) -> float:
        left_out = frozenset(half for part in chosen for half in part)
        if left_out not in asked.memo:
            asked.memo[left_out] = score(left_out)
            out = counted(len(left_out), "half", plural="halves")
            asked.notify(f"{len(asked.memo)} scored, {out} out: {asked.memo[left_out]:.3f}")
        return asked.memo[left_out]

    return Rules(sizes, remembered, FLOOR, asked.enough)


@contextmanager
def reading(
    bench: Bench, told: Sequence[Transcript], *, threads: int | None = None
) -> Iterator[Callable[[Part], float]]:
    """Give a function that says how much of the target's law stays without some halves.

    The mean overlap of both laws over every written token; 1 when nothing is left out.
    """
    model = bench.runtime.loaded.model
    longest = max(len(each.history) for each in told)
    shape = bench.runtime.loaded.target.options
    options = replace(shape, n_ctx=longest + 1, max_rows=ROWS, strict_rows=None)
    options = replace(options, threads=threads or shape.threads)
    skips = Skips()
    with Context(model, options, skips=skips) as context:
        sampler = _sampler(bench)
        laws = [_laws(context, sampler, each) for each in told]

        def score(left_out: Part) -> float:
            skips.leave_out(left_out)
            found = [_laws(context, sampler, each) for each in told]
            if left_out and not skips.found:
                raise PairRefused(
                    f"no draft can be made of {model.path.name}: its graph does not name what "
                    f"its blocks add"
                )
            pairs = zip(_joined(laws), _joined(found), strict=True)
            return float(np.mean([p.overlap(q) for p, q in pairs]))

        yield score


def _sampler(bench: Bench) -> Sampler:
    """Give a law that is never a single point: argmaxes alone would say too little of a part."""
    own = bench.runtime.settings.sampling
    warm = own.temperature or DEFAULT_SAMPLING.temperature
    vocabulary = bench.runtime.vocabulary
    banned = tuple(sorted(vocabulary.banned))
    return Sampler(replace(own, temperature=warm), vocabulary.usable, banned)


def _laws(context: Context, sampler: Sampler, told: Transcript) -> list[Distribution]:
    context.rewind(0)
    first, history = len(told.prompt), told.history
    sync(context, history[: first - 1], 0)
    laws = []
    for at in range(first - 1, len(history) - 1, ROWS):
        until = min(at + ROWS, len(history) - 1)
        rows = context.extend(history[at:until], until - at)
        laws += [
            sampler.distribution(row, history[: at + place + 1]) for place, row in enumerate(rows)
        ]
    return laws


def _joined(parts: Sequence[Sequence[Distribution]]) -> list[Distribution]:
    return [law for part in parts for law in part]


def _shortened(told: Transcript, read: int) -> Transcript:
    """Keep the end of a long prompt: a score is asked for often."""
    return replace(told, prompt=told.prompt[-read:])


def _points(bench: Bench, cuts: Sequence[Cut[Part]]) -> list[Point]:
    """Predict every cut from its bytes, as stored and requantised where that is smaller."""
    model = bench.runtime.loaded.model
    bits = 8 * model.size_bytes / model.n_params
    types = [None, *(name for name, each in LAYOUT_BITS.items() if each < 0.95 * bits)]
    verify = interpolated(bench.costs.verify_costs())
    most = bench.runtime.loaded.target.max_rows - 1
    found = []
    for kind in types:
        share = LAYOUT_BITS[kind] / bits if kind else 1.0
        for cut in cuts:
            if not kind and not cut.parts:
                continue  # the target itself
            ratio = share * (1 - cut.saved_bytes / model.size_bytes)
            left_out = frozenset(half for part in cut.parts for half in part)
            predicted = best(curve(cut.score, ratio, verify=verify, max_gamma=most)[1:])
            choice = Choice(left_out, kind, "searched")
            found.append(Point(choice, cut.score, cut.saved_bytes, ratio, predicted))
    return [point for point in found if _sound(point.choice.halves)]


def _sound(halves: frozenset[Half]) -> bool:
    """Leave out what no file can say: a first block without its attention."""
    blocks = {half.block for half in halves}
    first = next((b for b in range(len(blocks) + 1) if not whole([b]) <= halves), 0)
    return Half(first, ATTENTION) not in halves


def likeliest(points: Sequence[Point], count: int) -> list[Point]:
    """Give so many points, the fastest by their prediction first."""
    return sorted(points, key=lambda point: -point.predicted.speedup)[:count]


def _swapped(rules: Rules[Part], point: Point) -> Cut[Part]:
    """Try swaps on what a point leaves out."""
    halves = point.choice.halves
    parts = frozenset(part for part in rules.sizes if part <= halves)
    return swapped(rules, rules.cut(parts)) if parts else rules.cut(parts)


def _measured(bench: Bench, point: Point, asked: Search) -> Point:
    """Make the file, time it and replay the answers with it."""
    source = bench.runtime.settings.files.target
    path = ensure_skipped(source, point.choice, asked.notify)
    return replace(point, measured=check_draft(bench, path))


def frontier(points: Sequence[Point]) -> list[Point]:
    """Give the points that no other beats in both overlap and cost."""
    return [
        point
        for point in points
        if not any(
            other.beta >= point.beta and other.cost_ratio < point.cost_ratio for other in points
        )
    ]


def overview(found: Found) -> Mapping[str, Point]:
    """Give the frontier by label, cheapest first."""
    ordered = sorted(frontier(found.points), key=lambda point: point.cost_ratio)
    return {point.label: point for point in ordered}
