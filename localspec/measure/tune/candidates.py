"""What tune compares: layouts of files, guessers with costs and chances, arrangements of both.

Knows values and how they are named. Does not know how a layout is written or a cost is measured.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from localspec.engine.quantise import Recipe
from localspec.measure.costs import CostPoint, Costs, Survey
from localspec.measure.predict import Predicted
from localspec.measure.replay import Chances, Rounds, model_rounds, point_rounds
from localspec.measure.screen import Stored
from localspec.pairs.split import quant_of
from localspec.runtime.layouts import recipe_words
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import NONE

Told = Chances | tuple[Chances, ...]
"""One stored answer as a drafter would have met it: a model's chances, or a point drafter's at
every starting place."""


@dataclass(frozen=True)
class Layout:
    """A file that could run: `source` as it is, or made from it after `recipe`.

    `bits`: stored bits a weight, head included. `published`: its makers' file, not made here.
    """

    source: Path
    recipe: Recipe | None = None
    bytes: int = 0
    bits: float = 0.0
    published: bool = False

    @property
    def as_given(self) -> bool:
        """Say whether it is the file the user named."""
        return self.recipe is None and not self.published

    @property
    def name(self) -> str:
        """Give the words of a table's cell."""
        if self.recipe is None:
            return f"published {quant_of(self.source.name)}" if self.published else "as given"
        return recipe_words(self.recipe)


@dataclass(frozen=True)
class Guesser:
    """Something that drafts, screened on the stored answers.

    `drafter` is a name of `runtime.settings`; `layout` its file, None for one without. `costs`:
    D(n), `rows` counting drafted tokens. `told`: one entry for each stored answer, in order.
    """

    drafter: str
    layout: Layout | None
    costs: tuple[CostPoint, ...]
    told: tuple[Told, ...] = field(repr=False)
    acceptance: float | None = None

    def rounds(self, gamma: int) -> list[Rounds]:
        """Give the rounds along every stored answer."""
        return [_rounds(each, gamma) for each in self.told]

    def with_layout(self, layout: Layout, costs: tuple[CostPoint, ...]) -> "Guesser":
        """Give the same guesses from another file at another cost."""
        return replace(self, layout=layout, costs=costs)


def _rounds(told: Told, gamma: int) -> Rounds:
    if isinstance(told, Chances):
        return model_rounds(told, gamma)
    return point_rounds(told, gamma)


@dataclass(frozen=True)
class TargetCosts:
    """A target's layout and what its passes cost: measured, or predicted from a sample."""

    layout: Layout
    points: tuple[CostPoint, ...] = field(repr=False)

    def with_guesser(self, guesser: Guesser | None) -> Costs:
        """Give the costs of an arrangement."""
        return Costs(self.points, {guesser.drafter: guesser.costs} if guesser else {})


@dataclass(frozen=True)
class Arrangement:
    """A target's layout with a guesser, or none, and a gamma.

    `predicted`: its speed over the given files' plain decoding.
    """

    target: Layout
    guesser: Guesser | None
    gamma: int
    predicted: Predicted

    @property
    def draft(self) -> Layout | None:
        """Give the draft's layout."""
        return self.guesser.layout if self.guesser else None

    @property
    def drafter(self) -> str:
        """Give the drafter's name, `none` without one."""
        return self.guesser.drafter if self.guesser else NONE

    @property
    def label(self) -> str:
        """Say it in one line."""
        if self.guesser is None:
            return f"target {self.target.name}, no draft"
        draft = f" {self.draft.name}" if self.draft else ""
        return f"target {self.target.name}, {self.drafter}{draft} γ{self.gamma}"


class OutOfTime(Exception):
    """The time for this part is used up; what was found so far stays."""


@dataclass(frozen=True)
class Deadline:
    """Until when a part may run. Units: seconds of `clock`."""

    end: float
    clock: Callable[[], float] = field(repr=False)

    @property
    def left_s(self) -> float:
        """Give the seconds that are left, 0 when there are none."""
        return max(self.end - self.clock(), 0.0)

    def check(self, needed_s: float = 0.0) -> None:
        """Go on only if so much time is left.

        Raises: OutOfTime.
        """
        if self.left_s <= needed_s:
            raise OutOfTime

    def share(self, part: float) -> "Deadline":
        """Give a part of the time that is left."""
        return Deadline(self.clock() + part * self.left_s, self.clock)


def _no_file(_layout: Layout) -> None:
    """Write nothing."""


@dataclass(frozen=True)
class Ground:
    """What every candidate is held against: the given pair, loaded, its costs and its answers.

    `runtime` has the given target (and draft, if any) loaded. `plan`: what to time, and on which
    text. `say` tells what is going on now; `note` what the user should read afterwards, too.
    `file_of` writes a layout, if there is time for it; what no finalist uses is deleted again.
    """

    runtime: Runtime
    costs: Costs
    stored: Stored
    plan: Survey
    temperature: float
    deadline: Deadline
    say: Callable[[str], None] = field(repr=False)
    note: Callable[[str], None] = field(repr=False)
    file_of: Callable[[Layout], Path | None] = field(default=_no_file, repr=False)


FindGuessers = Callable[[Ground], Iterator[Guesser]]
"""Find guessers for a target, the likeliest first; each is yielded as soon as it is known, so that
running out of time keeps the ones before."""
