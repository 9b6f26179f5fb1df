"""Run the loop over fakes in a line, and the invariants that every run must keep."""

from collections.abc import Sequence
from dataclasses import dataclass

from localspec.core.draft import Drafter
from localspec.core.events import Event, Finish, FinishReason, Notice, Origin, Prefill
from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy, Policy
from localspec.core.tally import Tally
from localspec.core.tokens import TokenSequence
from tests.core.fakes import FakeClock, ids


@dataclass(frozen=True)
class Run:
    """What one answer gave."""

    events: tuple[Event, ...]
    tally: Tally

    @property
    def tokens(self) -> list[int]:
        """Give the ids written."""
        return self.tally.tokens

    @property
    def reason(self) -> FinishReason:
        """Give why it ended."""
        last = self.events[-1]
        assert isinstance(last, Finish)
        return last.reason

    @property
    def notices(self) -> list[str]:
        """Give what the user was told."""
        return [event.text for event in self.events if isinstance(event, Notice)]


def speculate(drafters: Sequence[Drafter] = (), *, gamma: int = 4, policy: Policy | None = None):
    """Make a speculation of a fixed gamma without baseline passes."""
    order = tuple(drafter.name for drafter in drafters)
    return Speculation(policy or FixedPolicy(gamma, order), drafters, FakeClock())


def run(
    target: TokenSequence,
    prompt: Sequence[int],
    options: GenerateOptions,
    speculation: Speculation | None = None,
) -> Run:
    """Write an answer to its end and check the invariants."""
    events = tuple(generate(target, ids(*prompt), options, speculation=speculation or speculate()))
    tally = Tally()
    for event in events:
        tally.add(event)
    check_invariants(events, tally, len(prompt))
    return Run(events, tally)


def check_invariants(events: Sequence[Event], tally: Tally, prompt: int) -> None:
    """E01, E02, E06, E09: counters, marks and positions agree, in every run."""
    assert isinstance(events[0], Prefill)
    assert isinstance(events[-1], Finish)
    assert tally.emitted == tally.accepted + tally.passes - tally.cut
    assert tally.emitted == len(tally.tokens) == len(tally.origins)
    position = prompt
    for step in tally.steps:
        assert step.position == position
        assert step.accepted + 1 == len(step.tokens) + step.cut
        assert step.accepted <= step.judged <= min(step.accepted + 1, step.drafted)
        assert len(step.guesses) == step.drafted
        assert len(step.overlaps) == step.judged
        drafted = [origin is Origin.DRAFT for origin in step.origins]
        assert drafted == [i < step.accepted for i in range(len(step.tokens))]
        assert step.tokens[: sum(drafted)] == step.guesses[: sum(drafted)]
        position += len(step.tokens)
