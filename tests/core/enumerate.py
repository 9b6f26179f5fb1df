"""Exact laws of programs that draw uniforms: every branch is taken, every interval measured.

A `Symbol` stands for a uniform that is not known yet. A comparison with a number splits its
interval, and the program is run again for the other half. A program that looks twice at the same
uniform is enumerated as rightly as one that does not, which is what catches wrong rules.

Knows nothing of the rules it enumerates.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from math import isnan, prod
from typing import TypeVar

from localspec.core.rules import Uniform

Result = TypeVar("Result", bound=Hashable)
Program = Callable[[Uniform], Result]


class Branches:
    """The yes and no of every comparison of one run, and the way to the next run."""

    def __init__(self) -> None:
        self._script: list[bool] = []
        self._at = 0

    def take(self) -> bool:
        """Answer the next comparison, yes where the script ends."""
        if self._at == len(self._script):
            self._script.append(True)
        self._at += 1
        return self._script[self._at - 1]

    def advance(self) -> bool:
        """Turn the last yes into no; False when every run has been done."""
        while self._script and not self._script[-1]:
            self._script.pop()
        self._at = 0
        if self._script:
            self._script[-1] = False
        return bool(self._script)


class Symbol:
    """A uniform known to lie in [low, high) and no better."""

    __array_ufunc__ = None  # numpy scalars must leave comparisons to us
    __hash__ = None

    def __init__(self, branches: Branches) -> None:
        self._branches = branches
        self.low, self.high = 0.0, 1.0

    def __lt__(self, number: float) -> bool:
        bound = float(number)
        if isnan(bound):
            raise ValueError("a uniform was compared with NaN")
        if not self.low < bound < self.high:
            return bound >= self.high
        if self._branches.take():
            self.high = bound
            return True
        self.low = bound
        return False

    def __ge__(self, number: float) -> bool:
        return not self < number

    __le__ = __lt__  # a single point has no mass
    __gt__ = __ge__


def paths(program: Program[Result]) -> Iterator[tuple[Result, float]]:
    """Run a program over every outcome of its uniforms; give results with probabilities."""
    branches = Branches()
    while True:
        symbols: list[Symbol] = []

        def uniform(drawn: list[Symbol] = symbols) -> Symbol:
            drawn.append(Symbol(branches))
            return drawn[-1]

        result = program(uniform)
        yield result, prod(symbol.high - symbol.low for symbol in symbols)
        if not branches.advance():
            return


def law_of(program: Program[Result]) -> dict[Result, float]:
    """Give the exact law of a program's result."""
    law: defaultdict[Result, float] = defaultdict(float)
    for result, probability in paths(program):
        law[result] += probability
    return dict(law)


def distance(left: dict[Result, float], right: dict[Result, float]) -> float:
    """Give the largest difference of probability between two laws."""
    return max(abs(left.get(key, 0.0) - right.get(key, 0.0)) for key in left.keys() | right.keys())
