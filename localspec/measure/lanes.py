"""One arm that writes several answers at the same time, on caches and seats of its own.

Knows a runner, an arm and the answers in their order. Does not know other arms, or what is made of
the samples.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Self

from localspec.core.events import Event, FinishReason, Step
from localspec.core.generate import Speculation, generate
from localspec.core.lockstep import Lockstep, Seat, Work
from localspec.engine import Context, Model, SharedContext
from localspec.measure.arms import Arm, Slot
from localspec.measure.live import LiveRunner
from localspec.measure.sample import Sample, take
from localspec.runtime.settings import LAYERSKIP, LOOKUP, MODEL, NGRAM

ON_A_MODEL = frozenset({MODEL, LAYERSKIP})
SHARING = ON_A_MODEL | {LOOKUP, NGRAM}
"""Drafters that guess from ids alone; heads read the state of the one context they sit on."""


class Lane:
    """Answer `slots` with `seats` sequences in one pass; close it (or use `with`).

    `written` counts the tokens so far. `samples` holds the answers, those too that `close` cut.
    Raises: PairRefused when there is no room for the caches.
    """

    def __init__(self, runner: LiveRunner, arm: Arm, slots: Sequence[Slot], seats: int) -> None:
        self.arm, self.slots, self.written, self.drained = arm, slots, 0, False
        self.samples: list[Sample] = []
        self._runner, self._waiting = runner, [replace(slot, arm=arm) for slot in slots]
        self._known: dict[int, Speculation] = {}
        with ExitStack() as resources:
            caches = [resources.enter_context(cache) for cache in self._caches(slots, seats)]
            self.lockstep = Lockstep(seats, caches, begin=self._begin)
            resources.enter_context(self.lockstep)
            self._resources = resources.pop_all()

    def advance(self, tokens: int) -> None:
        """Write about so many tokens in all, or until a seat stays empty."""
        goal = self.written + tokens
        while self.written < goal and not self.drained:
            self.drained = not self.lockstep.round()

    def close(self) -> None:
        """Cut what is being written, and free the caches."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _caches(self, slots: Sequence[Slot], seats: int) -> Iterator[SharedContext]:
        """Make the draft's cache, if the arm drafts with a model, and then the target's."""
        loaded, gamma = self._runner.runtime.loaded, self.arm.gamma or 0
        longest = max(len(slot.prompt.ids) for slot in slots)
        room = longest + self._runner.max_tokens + gamma + 2
        if loaded.draft_model and loaded.draft and ON_A_MODEL & set(self.arm.drafters):
            yield _cache(loaded.draft_model, loaded.draft, (seats, room, 1))
        yield _cache(loaded.model, loaded.target, (seats, room, gamma + 1))

    def _begin(self, seat: Seat) -> Work | None:
        if not self._waiting:
            return None
        slot = self._waiting.pop(0)

        def work() -> None:
            sample = take(slot, self._events(slot, seat))
            self.samples.append(_marked(sample, self._runner.max_tokens))

        return work

    def _events(self, slot: Slot, seat: Seat) -> Iterator[Event]:
        options = replace(self._runner.options(slot), keep_laws=False)
        target = seat.sequences[-1]
        events = generate(target, slot.prompt.ids, options, speculation=self._speculation(seat))
        for event in seat.follow(events):
            if isinstance(event, Step):
                self.written += len(event.tokens)
            yield event

    def _speculation(self, seat: Seat) -> Speculation:
        """Give the seat's own drafters; what they remember of one answer is no help in another."""
        if seat.number not in self._known:
            made = self._runner.speculation(self.arm, draft=seat.sequences[0])
            self._known[seat.number] = made
        return self._known[seat.number]


def _cache(model: Model, like: Context, shape: tuple[int, int, int]) -> SharedContext:
    """Open a cache with the options of a loaded context; `shape`: sequences, room, rows."""
    sequences, room, rows = shape
    options = replace(
        like.options, sequences=sequences, n_ctx=room, max_rows=rows, strict_rows=None
    )
    return SharedContext(model, options)


def _marked(sample: Sample, limit: int) -> Sample:
    """Mark an answer that was cut because nobody waited for it any more."""
    cut = sample.finish == FinishReason.LENGTH.value and sample.emitted < limit
    return replace(sample, finish=FinishReason.INTERRUPTED.value) if cut else sample
