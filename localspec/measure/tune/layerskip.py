"""The target without some of its blocks, as a draft for itself: searched in a share of the time.

Whole blocks only, so that what is made is a layout with a recipe, which a choice can name and a
later run makes again. Knows a ground and the search; what the best are worth is found by replay of
their files, as for any draft.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from localspec.measure.check import Bench
from localspec.measure.costs import Costs
from localspec.measure.layerskip import MOST_ANSWERS, Point, Search, likeliest, scored
from localspec.measure.replay import Transcript
from localspec.measure.tune.candidates import Deadline, Ground, Guesser, Layout
from localspec.measure.tune.guessers import guesser_of_file
from localspec.measure.tune.result import Tried
from localspec.measure.verdict import PAYS_ABOVE, Word
from localspec.pairs.header import read_header
from localspec.runtime.layerskip import recipe_of, refusal
from localspec.runtime.settings import LAYERSKIP

SHARE = 0.6
"""Of the time for drafts; writing the best files, timing and replaying them takes the rest."""
MADE = 2
SCORES = 1.5
"""Times that a block is scored, about, in a search that finds its first steps."""
READ = 24
"""Tokens of a prompt: what a block adds is asked of the answer."""
ABOUT = "layer skipping"


def layerskip_guessers(ground: Ground) -> Iterator[Guesser]:
    """Give the likeliest drafts that the target makes without some of its blocks.

    Raises: PairRefused when one cannot be loaded.
    """
    target = ground.runtime.settings.files.target
    reason = refusal(target)
    if reason:
        ground.note(f"{ABOUT}: no draft can be made of {target.name}: {reason}")
        return
    for point in _worth_making(_searched(ground, target)):
        recipe = recipe_of(point.choice)
        path = ground.file_of(Layout(target, recipe))
        if path is None:
            continue
        ground.deadline.check()
        ground.say(f"{ABOUT}: replaying the target {point.label}")
        layout = Layout(target, recipe, bytes=read_header(path).weight_bytes)
        yield guesser_of_file(ground, path, layout, LAYERSKIP)


def _searched(ground: Ground, target: Path) -> list[Point]:
    """Look for blocks that can go, as long as there is time for it."""
    searching = ground.deadline.share(SHARE)
    answers = _answers(ground, searching)
    if not answers:
        ground.note(f"{ABOUT}: no time to ask which blocks can go; a longer --max-time lets it")
        return []
    ground.say(f"{ABOUT}: asking which blocks {target.name} can do without")
    bench = Bench(ground.runtime, ground.costs, ground.stored, ground.plan, ground.temperature)
    watch = _Watch(searching)
    asked = Search(
        halves=False,
        finalists=1,
        answers=answers,
        read=READ,
        enough=watch.is_over,
        notify=ground.say,
    )
    points = scored(bench, asked)
    if watch.rang:
        ground.note(f"{ABOUT}: the search was stopped by its time; a longer --max-time ends it")
    return points


@dataclass
class _Watch:
    """Say when a search must end, and remember that it was asked to."""

    deadline: Deadline
    rang: bool = False

    def is_over(self) -> bool:
        """Say whether the time is up."""
        self.rang = self.rang or self.deadline.left_s <= 0
        return self.rang


def _answers(ground: Ground, searching: Deadline) -> int:
    """Say how many answers a score can read, so that the search comes to its end; 0 for none.

    A score reads rows in batches, so the widest pass that was timed says what a row costs.
    """
    widest = max(point.rows for point in ground.costs.target)
    row_s = ground.costs.pass_s(widest, 0) / widest
    blocks = read_header(ground.runtime.settings.files.target).number("{arch}.block_count") or 0
    affordable = searching.left_s / (SCORES * max(blocks, 1) * row_s)
    rows = 0
    for count, told in enumerate(ground.stored.transcripts[:MOST_ANSWERS], 1):
        rows += _rows(told)
        if rows > affordable:
            return count - 1
    return min(len(ground.stored.transcripts), MOST_ANSWERS)


def _rows(told: Transcript) -> int:
    return min(len(told.prompt), READ) + len(told.tokens)


def _worth_making(points: Sequence[Point]) -> list[Point]:
    """Give the likeliest points, no two that leave the same out."""
    chosen: list[Point] = []
    for point in likeliest(points, len(points)):
        if all(point.choice.halves != other.choice.halves for other in chosen):
            chosen.append(point)
        if len(chosen) == MADE:
            break
    return chosen


def verdict(tried: Sequence[Tried], costs: Costs) -> str | None:
    """Say in words what layer skipping is worth here; None where no draft was made."""
    mine = [each for each in tried if each.arrangement.drafter == LAYERSKIP]
    if not mine:
        return None
    best = max(mine, key=_rank)
    return f"{ABOUT}: {_numbers(best, costs)}; {_worth(best)}"


def _rank(tried: Tried) -> tuple[bool, bool, float]:
    """Put what was measured before what was only expected, and the given target before others."""
    arrangement = tried.arrangement
    value = tried.speedup or arrangement.predicted.speedup.value
    return tried.speedup is not None, arrangement.target.as_given, value


def _numbers(tried: Tried, costs: Costs) -> str:
    guesser = tried.arrangement.guesser
    assert guesser is not None
    assert guesser.layout is not None
    ratio = Costs(costs.target, {LAYERSKIP: guesser.costs}).cost_ratio(LAYERSKIP) or 0.0
    return (
        f"the target {guesser.layout.name} as a draft costs {ratio:.2f} of a pass a token, and "
        f"{guesser.acceptance or 0:.0%} of its guesses would stand"
    )


def _worth(tried: Tried) -> str:
    expected = tried.arrangement.predicted.speedup.value
    said = f"{tried.arrangement.label} is {{}}{tried.speedup or expected:.2f} times as fast"
    if tried.speedup is None:
        pays = "may pay" if expected > PAYS_ABOVE else "does not pay here"
        return f"{said.format('expected to be ')}: it {pays}"
    pays = "it pays" if tried.word is Word.PAYS else "it does not surely pay"
    return f"{said.format('')}, measured: {pays}"
