"""Answers in lockstep write what they write alone, in one pass a round, and stop cleanly."""

from collections.abc import Iterator, Sequence
from threading import active_count

import numpy as np
import pytest

from localspec.core.events import Event, Finish, Step
from localspec.core.generate import Speculation, generate
from localspec.core.lockstep import Lockstep, Seat, Wanted, Work
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tokens import Logits, Tokens
from localspec.drafters.model import ModelDrafter
from localspec.errors import LocalspecError
from tests.core.fakes import FakeClock, Markov, MarkovSequence, ids, random_markov

SIZE = 12
TARGET, DRAFT = random_markov(SIZE, 1, sharpness=3.0), random_markov(SIZE, 2)
RAW = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
GREEDY = SamplingParams(temperature=0.0)
PROMPTS = tuple(ids(1, 2, n % SIZE, (5 * n) % SIZE) for n in range(7))


class MarkovShared:
    """Several `MarkovSequence`s behind one `extend`; a pass takes its seconds on a fake clock."""

    def __init__(self, source: Markov, count: int, clock: FakeClock, pass_s: float) -> None:
        self.sequences = [MarkovSequence(source, capacity=200) for _ in range(count)]
        self.capacity = 200
        self.rows: list[int] = []
        self._clock, self._pass_s = clock, pass_s

    def tokens(self, sequence: int) -> Tokens:
        return self.sequences[sequence].tokens

    def extend(self, wanted: Sequence[Wanted]) -> list[Logits]:
        self._clock.advance(self._pass_s)
        self.rows.append(sum(each.rows for each in wanted))
        return [self.sequences[each.sequence].extend(each.tokens, each.rows) for each in wanted]

    def rewind(self, sequence: int, length: int) -> int:
        return self.sequences[sequence].rewind(length)


def _speculation(draft: object, gamma: int) -> Speculation:
    if gamma == 0:
        return Speculation(FixedPolicy(0, ()))
    drafter = ModelDrafter(draft, Sampler(RAW))  # type: ignore[arg-type]
    return Speculation(FixedPolicy(gamma, ("model",)), [drafter])


def _options(number: int, params: SamplingParams, rule: RuleName) -> GenerateOptions:
    return GenerateOptions(20 + number, rule, params, seed=number)


class Answers:
    """Take answers from a queue of prompts, and keep every event."""

    def __init__(self, gamma: int, params: SamplingParams, rule: RuleName) -> None:
        self.gamma, self.params, self.rule = gamma, params, rule
        self.queue = list(range(len(PROMPTS)))
        self.events: dict[int, list[Event]] = {}

    def begin(self, seat: Seat) -> Work | None:
        if not self.queue:
            return None
        number = self.queue.pop(0)
        kept = self.events.setdefault(number, [])

        def work() -> None:
            draft, target = seat.sequences
            speculation = _speculation(draft, self.gamma)
            options = _options(number, self.params, self.rule)
            events = generate(target, PROMPTS[number], options, speculation=speculation)
            for event in seat.follow(events):
                kept.append(event)

        return work

    def tokens(self, number: int) -> list[int]:
        return _tokens(self.events[number])


def _tokens(events: Sequence[Event]) -> list[int]:
    return [token for event in events if isinstance(event, Step) for token in event.tokens]


def _alone(number: int, answers: Answers) -> list[int]:
    target, draft = MarkovSequence(TARGET), MarkovSequence(DRAFT)
    options = _options(number, answers.params, answers.rule)
    speculation = _speculation(draft, answers.gamma)
    return _tokens(list(generate(target, PROMPTS[number], options, speculation=speculation)))


def _caches(count: int, clock: FakeClock) -> list[MarkovShared]:
    return [MarkovShared(DRAFT, count, clock, 0.25), MarkovShared(TARGET, count, clock, 1.0)]


@pytest.mark.parametrize("gamma", [0, 1, 3])
@pytest.mark.parametrize("seats", [1, 2, 5])
@pytest.mark.parametrize(
    ("params", "rule"), [(GREEDY, RuleName.BLOCK), (RAW, RuleName.BLOCK), (RAW, RuleName.COUPLED)]
)
def test_answers_in_lockstep_are_those_written_alone(
    gamma: int, seats: int, params: SamplingParams, rule: RuleName
) -> None:
    answers, clock = Answers(gamma, params, rule), FakeClock()
    with Lockstep(seats, _caches(seats, clock), begin=answers.begin, clock=clock) as lockstep:
        while lockstep.round():
            pass
    assert len(answers.events) == len(PROMPTS)
    for number, events in answers.events.items():
        alone = _alone(number, answers)
        if isinstance(events[-1], Finish):
            assert answers.tokens(number) == alone
        else:  # stopped since a seat stayed empty
            assert answers.tokens(number) == alone[: len(answers.tokens(number))]


def test_a_round_is_one_target_pass_and_gamma_draft_passes_for_all() -> None:
    answers, clock = Answers(3, GREEDY, RuleName.BLOCK), FakeClock()
    draft, target = _caches(4, clock)
    with Lockstep(4, [draft, target], begin=answers.begin, clock=clock) as lockstep:
        assert lockstep.round()
        assert lockstep.round()
    wide = [rows for rows in target.rows if rows]
    assert wide == [4 * 4, 4 * 4]
    assert [rows for rows in draft.rows if rows] == [4] * 6
    assert (lockstep.passes, lockstep.draft_passes) == (2, 6)


def test_seconds_are_shared_by_the_seats_and_leave_prompts_out() -> None:
    answers, clock = Answers(2, GREEDY, RuleName.BLOCK), FakeClock()
    with Lockstep(2, _caches(2, clock), begin=answers.begin, clock=clock) as lockstep:
        for _ in range(6):
            assert lockstep.round()
        rounds = lockstep.passes - 1  # the last pass is not judged
    steps = [e for events in answers.events.values() for e in events if isinstance(e, Step)]
    assert len(steps) == 2 * rounds
    assert sum(step.verify_s for step in steps) == pytest.approx(rounds * 1.0)
    assert sum(step.draft_s for step in steps) == pytest.approx(rounds * 2 * 0.25)
    assert sum(step.other_s for step in steps) == pytest.approx(0.0)


def test_counters_hold_in_every_seat() -> None:
    answers, clock = Answers(3, RAW, RuleName.BLOCK), FakeClock()
    with Lockstep(3, _caches(3, clock), begin=answers.begin, clock=clock) as lockstep:
        while lockstep.round():
            pass
    for events in answers.events.values():
        steps = [event for event in events if isinstance(event, Step)]
        emitted = sum(len(step.tokens) + step.cut for step in steps)
        assert emitted == sum(step.accepted for step in steps) + len(steps)


def test_a_pass_that_fails_ends_every_answer_and_leaves_no_thread() -> None:
    answers, clock, before = Answers(1, GREEDY, RuleName.BLOCK), FakeClock(), active_count()
    draft, target = _caches(3, clock)

    def pressed(_wanted: Sequence[Wanted]) -> list[Logits]:
        raise KeyboardInterrupt

    with Lockstep(3, [draft, target], begin=answers.begin, clock=clock) as lockstep:
        assert lockstep.round()
        target.extend = pressed  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            lockstep.round()
    assert active_count() == before
    assert all(answers.tokens(number) for number in range(3))


@pytest.mark.parametrize("after", [0, 3])
def test_an_answer_that_fails_is_raised_where_the_rounds_are_made(after: int) -> None:
    def work_of(seat: Seat) -> Work:
        def events() -> Iterator[Event]:
            for _ in range(after):
                seat.sequences[1].extend(ids(1), 1)
            raise LocalspecError("no more")
            yield

        def work() -> None:
            for _event in seat.follow(events()):
                pass

        return work

    before = active_count()
    with Lockstep(2, _caches(2, FakeClock()), begin=work_of) as lockstep:
        for _ in range(after):
            assert lockstep.round()
        with pytest.raises(LocalspecError, match="no more"):
            lockstep.round()
    assert active_count() == before


def test_an_answer_starts_from_cold_caches() -> None:
    answers, clock = Answers(0, GREEDY, RuleName.BLOCK), FakeClock()
    draft, target = _caches(1, clock)
    target.extend([Wanted(0, np.concatenate([PROMPTS[0], ids(7)]), 0)])
    with Lockstep(1, [draft, target], begin=answers.begin, clock=clock) as lockstep:
        assert lockstep.round()
    prefill = answers.events[0][0]
    assert prefill.reused == 0  # type: ignore[union-attr]
