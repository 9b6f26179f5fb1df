"""How many threads a loaded model decodes with, by measurement: for one row, and for several.

The default stands unless another number was clearly faster, twice, on a machine with nothing else
to do: beside busy programs fewer threads are faster, and would stay chosen afterwards. Knows a
context and a clock. Does not know where the choice is kept.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from localspec.core.statistics import ratio_of_totals
from localspec.core.tokens import Tokens
from localspec.engine import Context
from localspec.engine.threads import allowed_cpus, candidates

SEVERAL = 4
ROUNDS = 8
FEWEST_ROUNDS = 6
BUDGET_S = 3.0
BUSY_SHARE = 0.5
CLEARLY = 0.95
"""A number of threads must take less than this share of the default's time, interval and all."""

Clock = Callable[[], float]
Time = Callable[[int], float]
"""Give the seconds of one pass with so many threads."""


@dataclass(frozen=True)
class Chosen:
    """Threads of one-row passes and of wider ones."""

    one_row: int
    rows: int


def choose(context: Context, *, clock: Clock, numbers: Sequence[int] | None = None) -> Chosen:
    """Measure which number of threads is fastest; the context's cache is empty afterwards.

    One whose user gave a number of threads keeps it.
    """
    usual = context.threads
    wanted = candidates() if numbers is None else tuple(numbers)
    if context.options.threads is not None or len(wanted) < 2 or others_busy():
        return Chosen(*usual)
    found = []
    for rows in (1, min(SEVERAL, context.max_rows)):
        timed = _timing(context, rows, clock)
        found.append(fastest(timed, wanted, budget_s=BUDGET_S))
        context.rewind(0)
    context.set_threads(*found)
    return Chosen(*found)


def others_busy() -> bool:
    """Say whether others use the processors, or whether nobody keeps count of it."""
    if not hasattr(os, "getloadavg"):
        return True
    return bool(os.getloadavg()[0] > BUSY_SHARE * len(allowed_cpus()))


def fastest(time: Time, numbers: Sequence[int], *, budget_s: float) -> int:
    """Give the number that is clearly faster than the first one, twice in a row; else the first.

    The default and the others take turns, so that a slow moment of the machine falls on all of
    them. Looking a second time, anew, keeps the best of several from being the luckiest.
    """
    usual, others = numbers[0], numbers[1:]
    for number in numbers:
        time(number)  # the first pass with a new number starts threads
    once = max(time(usual), 1e-9)
    rounds = min(int(budget_s / (once * (len(numbers) + 2))), ROUNDS)
    if rounds < FEWEST_ROUNDS:
        return usual
    shares = {number: _share(time, (number, usual), rounds) for number in others}
    number = min(shares, key=lambda each: shares[each], default=usual)
    if number == usual or shares[number] >= CLEARLY:
        return usual
    return number if _share(time, (number, usual), rounds) < CLEARLY else usual


def _share(time: Time, pair: tuple[int, int], rounds: int) -> float:
    """Give the upper end of the interval of one number's time over the other's."""
    taken: dict[int, list[float]] = {number: [] for number in pair}
    for turn in range(rounds):
        for number in pair if turn % 2 else pair[::-1]:
            taken[number].append(time(number))
    return ratio_of_totals(taken[pair[0]], taken[pair[1]]).high


def _timing(context: Context, rows: int, clock: Clock) -> Time:
    start = min(32, context.capacity // 4)
    context.rewind(0)
    context.extend(_filler(start), 0)

    def time(number: int) -> float:
        context.set_threads(number, number)
        context.rewind(start)
        begun = clock()
        context.extend(_filler(rows), rows)
        return clock() - begun

    return time


def _filler(count: int) -> Tokens:
    return np.arange(count, dtype=np.int32) % 100 + 10
