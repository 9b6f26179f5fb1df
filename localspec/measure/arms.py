"""What is compared: arms (a drafter, a gamma, a temperature) and prompts by kind of text.

Knows names and ids. Does not know how an arm is run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from localspec.core.tokens import Tokens
from localspec.runtime.settings import AUTO, NONE

PROMPTS_A_RUN = 2


@dataclass(frozen=True)
class Arm:
    """One way to decode. `gamma` None leaves the length to the policy.

    `layout`: the files it runs with, in words; empty for those given.
    """

    drafters: tuple[str, ...] = (NONE,)
    gamma: int | None = None
    temperature: float = 0.0
    layout: str = ""

    @property
    def plain(self) -> bool:
        """Say whether it is the baseline: the given files, and nothing guessed."""
        return self.drafters == (NONE,) and not self.layout

    @property
    def name(self) -> str:
        """Give the drafters as the command line spells them."""
        return ",".join(self.drafters)

    @property
    def label(self) -> str:
        """Give the words of a column: `model γ3`, `auto`, `plain`."""
        if self.plain:
            return "plain"
        name = self.name if self.gamma is None else f"{self.name} γ{self.gamma}"
        if self.drafters == (NONE,):
            return self.layout
        return f"{self.layout}: {name}" if self.layout else name


@dataclass(frozen=True)
class Prompt:
    """One thing to answer; `kind` is the kind of text it belongs to."""

    kind: str
    ids: Tokens = field(repr=False)
    name: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of text with its prompts, all distinct."""

    name: str
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True)
class Slot:
    """One answer to be measured: which arm answers which prompt, with which seed."""

    run: int
    kind: str
    index: int
    prompt: Prompt
    arm: Arm
    seed: int


@dataclass(frozen=True)
class Design:
    """A whole bench before it begins.

    `verify` compares texts where they must be equal: at temperature 0, and always if `coupled`.
    """

    kinds: tuple[Kind, ...]
    arms: tuple[Arm, ...]
    runs: int = 3
    seed: int = 0
    a_run: int = PROMPTS_A_RUN
    verify: bool = True
    coupled: bool = False

    def comparable(self, arm: Arm) -> bool:
        """Say whether an arm's texts must equal the plain ones, and are compared."""
        return self.verify and (arm.temperature <= 0 or self.coupled)

    @property
    def plain_arms(self) -> tuple[Arm, ...]:
        """Give the baseline of every temperature."""
        temperatures = dict.fromkeys(arm.temperature for arm in self.arms)
        return tuple(Arm(temperature=value) for value in temperatures)

    def run(self, number: int) -> Iterator[tuple[Slot, ...]]:
        """Give the blocks of one run: a prompt, answered by every arm in turn.

        The order is turned around from one prompt to the next (plain A B, B A plain, ...), so that
        a machine that slows down slows every arm alike. No prompt is used twice as long as there
        are enough; after that they come again, cold, with another seed, and count as one prompt.
        """
        for at in range(number * self.a_run, (number + 1) * self.a_run):
            for kind in self.kinds:
                yield self._block(kind, number, at)

    def _block(self, kind: Kind, number: int, at: int) -> tuple[Slot, ...]:
        index = at % len(kind.prompts)
        seed = self.seed + 7919 * at
        arms = (*self.plain_arms, *self.arms)
        ordered = arms if (at + self.kinds.index(kind)) % 2 == 0 else arms[::-1]
        prompt = kind.prompts[index]
        return tuple(Slot(number, kind.name, at, prompt, arm, seed) for arm in ordered)

    @property
    def answers(self) -> int:
        """Count the answers of the whole bench."""
        return sum(len(block) for run in range(self.runs) for block in self.run(run))


def arms_of(
    drafters: Sequence[str], gammas: Sequence[int | None], temperatures: Sequence[float]
) -> tuple[Arm, ...]:
    """Make every combination; `auto` chooses its own gamma and stands once."""
    arms = []
    for temperature in temperatures:
        for name in drafters:
            chain = tuple(name.split("+"))
            own: Sequence[int | None] = (None,) if name == AUTO else gammas
            arms += [Arm(chain, gamma, temperature) for gamma in own]
    return tuple(dict.fromkeys(arms))
