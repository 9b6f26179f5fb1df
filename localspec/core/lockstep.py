"""Several answers at a time: each runs the ordinary loop, and the rows of all are one pass.

Knows seats, caches that hold several sequences, and whose turn it is. Does not know drafts, rules
or models: an answer is a piece of work on sequences that stands wherever it asks for rows.

Every answer has a thread of its own, and one thread runs at a time: that lets an answer stand in
the middle of an ordinary call, so neither the loop nor a drafter is written twice. All passes are
made by the thread that calls `round`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event as Flag
from threading import Thread
from time import perf_counter
from types import TracebackType
from typing import Protocol, Self

from localspec.core.events import Event, Prefill, Step
from localspec.core.tokens import Logits, Tokens

Work = Callable[[], None]
"""Write one answer on the sequences of a seat."""


@dataclass(frozen=True)
class Wanted:
    """Ids to decode after those that a sequence holds, and how many of their rows are wanted."""

    sequence: int
    tokens: Tokens
    rows: int


class SharedCache(Protocol):
    """A model with a cache for several sequences; each is like a `TokenSequence`."""

    @property
    def capacity(self) -> int:
        """Give the number of ids each sequence can hold."""
        ...

    def tokens(self, sequence: int) -> Tokens:
        """Give the ids that the cache holds of a sequence."""
        ...

    def extend(self, wanted: Sequence[Wanted]) -> list[Logits]:
        """Decode for several sequences in one pass; give each its rows, borrowed until the next."""
        ...

    def rewind(self, sequence: int, length: int) -> int:
        """Drop the end of one sequence from `length` on; give the length really kept."""
        ...


@dataclass(frozen=True)
class Spent:
    """A seat's share of the last round. Units: seconds."""

    draft_s: float = 0.0
    verify_s: float = 0.0
    other_s: float = 0.0


class Stopped(Exception):
    """Raised inside an answer that nobody waits for any more."""


class SeatSequence:
    """One sequence of a shared cache, as the loop and the drafters know it."""

    def __init__(self, seat: "Seat", cache: SharedCache) -> None:
        self._seat, self._cache = seat, cache

    @property
    def tokens(self) -> Tokens:
        """Give the ids the cache holds."""
        return self._cache.tokens(self._seat.number)

    @property
    def capacity(self) -> int:
        """Give the number of ids the sequence can hold."""
        return self._cache.capacity

    def extend(self, tokens: Tokens, rows: int) -> Logits:
        """Stand until the pass with these rows was made."""
        return self._seat.ask(self._cache, Wanted(self._seat.number, tokens, rows))

    def rewind(self, length: int) -> int:
        """Drop the end."""
        return self._cache.rewind(self._seat.number, length)


class Seat:
    """A place for one answer after another: its sequences, and the thread that writes on them.

    `asked` is what the answer stands at; None while it has work to do, or none at all.
    """

    def __init__(self, number: int, caches: Sequence[SharedCache]) -> None:
        self.number = number
        self.sequences = tuple(SeatSequence(self, cache) for cache in caches)
        self.asked: tuple[SharedCache, Wanted] | None = None
        self.spent = Spent()
        self.prefilled = False
        self._given: Logits | None = None
        self._error: BaseException | None = None
        self._thread: Thread | None = None
        self._go, self._stands, self._stopped = Flag(), Flag(), False

    @property
    def empty(self) -> bool:
        """Say whether no answer is being written here."""
        return self._thread is None

    def follow(self, events: Iterator[Event]) -> Iterator[Event]:
        """Hand on an answer's events, each step with this seat's share of the seconds.

        Ends early, and quietly, when the answers are stopped.
        """
        try:
            for event in events:
                if isinstance(event, Prefill):
                    self.prefilled = True
                    self._stand()
                yield replace(event, **vars(self.spent)) if isinstance(event, Step) else event
        except Stopped:
            return

    def ask(self, cache: SharedCache, wanted: Wanted) -> Logits:
        """Stand until the rows are there."""
        self.asked = cache, wanted
        self._stand()
        assert self._given is not None
        return self._given

    def give(self, rows: Logits) -> None:
        """Let the answer go on with these rows at its next turn."""
        self.asked, self._given = None, rows

    def start(self, work: Work) -> None:
        """Seat an answer; it does nothing before its first turn."""
        self.prefilled = False
        self._go.clear()
        self._thread = Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def resume(self) -> None:
        """Give the answer its turn: until it asks for rows, has read its prompt, or is over.

        Raises: what the answer raised.
        """
        self._stands.clear()
        self._go.set()
        self._stands.wait()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the answer wherever it stands."""
        thread = self._thread
        if thread is not None:
            self._stopped = True
            self._go.set()
            thread.join()

    def _run(self, work: Work) -> None:
        try:
            self._wait()
            work()
        except Stopped:
            pass
        except BaseException as error:  # raised again where the turns are given
            self._error = error
        self._thread = None
        self._stands.set()

    def _stand(self) -> None:
        self._stands.set()
        self._wait()

    def _wait(self) -> None:
        self._go.wait()
        self._go.clear()
        if self._stopped:
            raise Stopped


class Lockstep:
    """Answers in lockstep: every round is one target pass that holds the rows of all seats.

    `caches`: those of the drafts, then the target's. `begin` seats the next answer, or gives None
    when there is none. Draft passes are shared too, among the seats that stand at one.
    """

    def __init__(
        self,
        seats: int,
        caches: Sequence[SharedCache],
        *,
        begin: Callable[[Seat], Work | None],
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.seats = [Seat(number, caches) for number in range(seats)]
        self.passes, self.draft_passes = 0, 0
        self._target = caches[-1]
        self._begin, self._clock = begin, clock
        self._draft_s = self._prefill_s = 0.0

    def round(self) -> bool:
        """Draft, and make one target pass over every seat; False when a seat stays empty.

        Reading prompts is not part of the round's seconds. Raises: what an answer or a pass raised.
        """
        begun = self._clock()
        self._draft_s = self._prefill_s = 0.0
        if not self._settle():
            return False
        verify_s = self._pass(self._target)
        self.passes += 1
        rest = self._clock() - begun - self._prefill_s - self._draft_s - verify_s
        share = 1 / len(self.seats)
        spent = Spent(share * self._draft_s, share * verify_s, share * max(rest, 0.0))
        for seat in self.seats:
            seat.spent = spent
        return True

    def close(self) -> None:
        """End every answer; what they wrote so far is theirs."""
        for seat in self.seats:
            seat.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _settle(self) -> bool:
        """Give turns until every seat stands at the target; False when one stays empty."""
        while True:
            if not all([self._bring(seat) for seat in self.seats]):
                return False
            drafting = [seat.asked[0] for seat in self.seats if seat.asked]
            cache = next((each for each in drafting if each is not self._target), None)
            if cache is None:
                return True
            self._draft_s += self._pass(cache)
            self.draft_passes += 1

    def _bring(self, seat: Seat) -> bool:
        """Bring a seat to where it needs rows, with the next answer if this one is over."""
        while seat.asked is None:
            if not seat.empty:
                self._turn(seat)
            elif not self._admit(seat):
                return False
        return True

    def _admit(self, seat: Seat) -> bool:
        """Seat the next answer and let it read its prompt, from cold caches."""
        begun = self._clock()
        work = self._begin(seat)
        if work is None:
            return False
        for sequence in seat.sequences:
            sequence.rewind(0)
        seat.start(work)
        while not (seat.prefilled or seat.empty or seat.asked):
            self._turn(seat)
        self._prefill_s += self._clock() - begun
        return True

    def _turn(self, seat: Seat) -> None:
        """Give a turn; what only fills a cache is decoded at once."""
        seat.resume()
        if seat.asked is not None and seat.asked[1].rows == 0:
            cache, wanted = seat.asked
            seat.give(cache.extend([wanted])[0])

    def _pass(self, cache: SharedCache) -> float:
        """Decode for every seat that stands at this cache; give the seconds."""
        begun = self._clock()
        standing = [(seat, seat.asked[1]) for seat in self.seats if seat.asked]
        here = [each for each in standing if each[0].asked and each[0].asked[0] is cache]
        rows = cache.extend([wanted for _, wanted in here])
        for (seat, _), found in zip(here, rows, strict=True):
            seat.give(found)
        return self._clock() - begun
