"""One measured answer: its passes, its tokens, and what was odd about it.

Folds events; the seconds come with the steps. Does not know which arm is better.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import log

from localspec.core.events import Event, Finish, FinishReason, Prefill, Step
from localspec.measure.arms import Arm, Slot
from localspec.measure.loops import loop_start

LOOPED = "loop"
CUT = frozenset({LOOPED, FinishReason.INTERRUPTED.value})
"""How an answer ends that was not written to its end."""
MIN_PROB = 1e-300


@dataclass(frozen=True)
class Sample:
    """An answer. `others`: other programs' share of the processors while it was written.

    `logps`: log p of each token of a plain answer, for replay. `affected` names what disturbed it.
    """

    slot: Slot
    steps: tuple[Step, ...] = field(repr=False)
    prefill_s: float = 0.0
    finish: str = FinishReason.LENGTH.value
    logps: tuple[float, ...] = field(default=(), repr=False)
    loop_tokens: int = 0
    others: float | None = None
    attempts: int = 1
    affected: str = ""

    @property
    def arm(self) -> Arm:
        """Give the arm that answered."""
        return self.slot.arm

    @property
    def tokens(self) -> tuple[int, ...]:
        """Give the ids written."""
        return tuple(token for step in self.steps for token in step.tokens)

    @property
    def emitted(self) -> int:
        """Count the ids written."""
        return sum(len(step.tokens) for step in self.steps)

    @property
    def seconds(self) -> float:
        """Give the seconds of the decode phase."""
        return sum(step.seconds for step in self.steps)

    def total(self, name: str) -> float:
        """Add up one number of the steps."""
        return float(sum(getattr(step, name) for step in self.steps))


def take(slot: Slot, events: Iterable[Event]) -> Sample:
    """Write an answer down, cutting it where it falls into a loop."""
    steps: list[Step] = []
    tokens: list[int] = []
    logps: list[float] = []
    prefill_s, finish, keep = 0.0, FinishReason.LENGTH.value, None
    for event in events:
        if isinstance(event, Prefill):
            prefill_s = event.seconds
        elif isinstance(event, Finish):
            finish = event.reason.value
        elif isinstance(event, Step):
            logps += _logps(event)
            steps.append(replace(event, laws=None))
            tokens += event.tokens
            keep = loop_start(tokens)
            if keep is not None:
                break
    if keep is not None:
        steps, finish = _until(steps, keep), LOOPED
    written = sum(len(step.tokens) for step in steps)
    lost = len(tokens) - written
    return Sample(slot, tuple(steps), prefill_s, finish, tuple(logps[:written]), lost)


def _until(steps: Sequence[Step], keep: int) -> list[Step]:
    """Keep whole rounds up to a length, at least one."""
    kept: list[Step] = []
    written = 0
    for step in steps:
        if kept and written + len(step.tokens) > keep:
            break
        kept.append(step)
        written += len(step.tokens)
    return kept


def _logps(step: Step) -> list[float]:
    """Give log p of a plain pass's token, where the laws were kept."""
    if step.laws is None or step.drafted:
        return []
    law = step.laws.target[0]
    return [log(max(law.prob(token), MIN_PROB)) for token in step.tokens]
