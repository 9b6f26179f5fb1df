"""The lookup drafter alone, and under the loop against a target that writes a known text."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.core.distribution import Distribution
from localspec.core.draft import DraftRequest
from localspec.core.events import Finish, FinishReason, Step
from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.sampling import SamplingParams
from localspec.core.tokens import Logits, TokenBuffer, Tokens
from localspec.drafters.lookup import LookupDrafter

VOCABULARY = 64
END = 63
GREEDY = SamplingParams(temperature=0.0)


class Reciter:
    """A target that writes one given text, whatever stands before it."""

    capacity = 4096

    def __init__(self, script: list[int], start: int) -> None:
        self._script = script
        self._start = start
        self._held = TokenBuffer()

    @property
    def tokens(self) -> Tokens:
        return self._held.view

    def extend(self, tokens: Tokens, rows: int) -> Logits:
        self._held.extend(tokens)
        logits = np.zeros((rows, VOCABULARY), np.float32)
        for row in range(rows):
            at = len(self._held) - rows + 1 + row - self._start
            logits[row, self._script[at] if 0 <= at < len(self._script) else END] = 9.0
        return logits

    def rewind(self, length: int) -> int:
        self._held.truncate(length)
        return len(self._held)


def ids(*tokens: int) -> Tokens:
    return np.array(tokens, np.int32)


def asked(limit: int) -> DraftRequest:
    return DraftRequest(limit, lambda law, _i: int(law.ids[0]))


def proposed(drafter: LookupDrafter, history: list[int], limit: int = 8) -> tuple[int, ...]:
    return drafter.propose(ids(*history), asked(limit)).tokens


def answer(
    drafter: LookupDrafter, prompt: list[int], script: list[int], gamma: int
) -> Iterator[Step | Finish]:
    events = generate(
        Reciter(script, len(prompt)),
        ids(*prompt),
        GenerateOptions(max_tokens=300, sampling=GREEDY, ends=frozenset({END})),
        speculation=Speculation(FixedPolicy(gamma, ("lookup",)), (drafter,)),
    )
    return (event for event in events if isinstance(event, Step | Finish))


def written(events: list[Step | Finish]) -> list[int]:
    return [token for event in events if isinstance(event, Step) for token in event.tokens]


def test_it_copies_what_followed_the_match():
    assert proposed(LookupDrafter(), [1, 2, 3, 4, 5, 6, 1, 2, 3], 2) == (4, 5)


def test_every_law_is_the_point_that_was_proposed():
    draft = LookupDrafter().propose(ids(1, 2, 3, 4, 5, 1, 2, 3), asked(4))
    assert [law.is_point and law.prob(t) for t, law in zip(draft.tokens, draft.laws, strict=True)]
    assert len(draft.laws) == len(draft.tokens) == 4


def test_a_copy_that_runs_off_the_end_goes_on_in_itself():
    assert proposed(LookupDrafter(), [9, 1, 2, 1, 2, 1, 2], 7) == (1, 2, 1, 2, 1, 2, 1)


def test_nothing_is_proposed_for_a_history_that_never_repeats():
    drafter = LookupDrafter()
    assert proposed(drafter, list(range(40))) == ()
    assert proposed(drafter, []) == ()
    assert drafter.match is None


def test_no_more_is_proposed_than_asked_for():
    history = [1, 2, 3, 4, 5] * 4
    for limit in range(12):
        assert len(proposed(LookupDrafter(), history, limit)) == limit


def test_the_policy_is_asked_with_the_law_before_each_token():
    heard: list[tuple[int, Distribution]] = []

    def keep_going(i: int, law: Distribution) -> bool:
        heard.append((i, law))
        return i < 2

    request = DraftRequest(8, lambda law, _i: int(law.ids[0]), keep_going)
    draft = LookupDrafter().propose(ids(1, 2, 3, 4, 5, 6, 1, 2, 3), request)
    assert draft.tokens == (4, 5)
    assert [(i, int(law.ids[0])) for i, law in heard] == [(0, 4), (1, 5), (2, 6)]


def test_a_pair_of_tokens_is_too_little_unless_asked_for():
    """C11: two-token matches in tool definitions led to damaged tool calls."""
    history = [1, 2, 3, 4, 9, 2, 3]
    assert proposed(LookupDrafter(), history) == ()
    assert proposed(LookupDrafter(shortest=2), history, 2) == (4, 9)


def test_no_match_and_no_proposal_crosses_a_special_token():
    """C11: never draft across special tokens."""
    assert proposed(LookupDrafter({50}), [1, 2, 3, 4, 50, 5, 1, 2, 3]) == (4,)
    assert proposed(LookupDrafter({50}), [1, 2, 50, 3, 4, 1, 2, 50, 3]) == ()


def test_an_end_token_ends_the_proposal_before_it():
    """D01, D02: the end of an old answer is not drafted, nor what the user said after it."""
    assert proposed(LookupDrafter({END}), [1, 2, 3, END, 7, 8, 1, 2, 3]) == ()


def test_expected_text_is_copied_from():
    """J06: a file as the source of an edit's draft."""
    drafter = LookupDrafter(expected=[ids(1, 2, 3, 4, 5, 6), ids(11, 12, 13, 14)])
    assert proposed(drafter, [9, 1, 2, 3]) == (4, 5, 6)
    assert proposed(drafter, [9, 11, 12, 13]) == (14,)


def test_the_history_is_preferred_to_an_expected_text_that_says_otherwise():
    """J06: of equally long matches the more recent one is taken."""
    drafter = LookupDrafter(expected=[ids(1, 2, 3, 4, 4, 4)])
    assert proposed(drafter, [9, 1, 2, 3, 5, 5, 8, 1, 2, 3], 2) == (5, 5)


def test_the_end_of_an_expected_text_hides_nothing():
    drafter = LookupDrafter(expected=[ids(0, 1, 2, 3)])
    assert proposed(drafter, [5, 1, 2, 3, 6, 8, 7, 1, 2, 3], 2) == (6, 8)


HISTORY = st.lists(st.integers(0, 4), max_size=50)


@given(st.lists(HISTORY, max_size=5), HISTORY, st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_the_same_history_gives_the_same_draft_whatever_came_before(
    earlier: list[list[int]], history: list[int], shortest: int
):
    used = LookupDrafter({4}, expected=[ids(0, 1, 2, 0, 3)], shortest=shortest)
    for other in earlier:
        proposed(used, other)
    fresh = LookupDrafter({4}, expected=[ids(0, 1, 2, 0, 3)], shortest=shortest)
    assert proposed(used, history) == proposed(fresh, history)
    assert used.match == fresh.match


@given(HISTORY.filter(bool), HISTORY, st.integers(1, 15), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_greedy_text_is_the_targets_own_at_every_gamma(
    prompt: list[int], script: list[int], gamma: int, shortest: int
):
    drafter = LookupDrafter({END}, shortest=shortest)
    events = list(answer(drafter, prompt, script, gamma))
    assert written(events) == [*script, END]
    assert events[-1] == Finish(FinishReason.STOP)


def test_an_edit_is_copied_in_long_runs():
    """J06: 200 given tokens with two of them changed."""
    source = [int(t) for t in np.random.default_rng(5).integers(0, 60, 200)]
    edited = list(source)
    edited[60] = edited[140] = 61
    events = list(answer(LookupDrafter({END}), [62, *source, 62], edited, 15))
    steps = [event for event in events if isinstance(event, Step)]
    assert written(events) == [*edited, END]
    assert max(step.accepted for step in steps) == 15
    assert len(steps) < len(edited) / 7


def test_an_edit_without_the_text_in_the_prompt_is_copied_from_the_file():
    """J06: tokens per pass rise with the old file as expected text."""
    source = [int(t) for t in np.random.default_rng(6).integers(0, 60, 200)]
    without = list(answer(LookupDrafter({END}), [62], source, 15))
    given_file = list(answer(LookupDrafter({END}, expected=[ids(*source)]), [62], source, 15))
    assert written(without) == written(given_file)
    assert len(given_file) * 7 < len(without)


def test_a_loop_is_drafted_in_full():
    script = [1, 2, 3, 4, 5] * 40
    steps = [e for e in answer(LookupDrafter({END}), [9], script, 15) if isinstance(e, Step)]
    assert [step.accepted for step in steps[8:-1]] == [15] * len(steps[8:-1])
    assert len(steps) < 24


@pytest.mark.parametrize("shortest", range(1, 9))
def test_repeated_tags_leave_the_text_alone(shortest: int):
    """C11: a prompt full of repeated tags, at every shortest match."""
    opening, closing = [10, 11, 12], [10, 13, 11, 12]
    tag = [*opening, 20, *closing, *opening, 21, *closing]
    script = [*opening, 22, *closing, *opening, 20, *closing]
    events = list(answer(LookupDrafter({END}, shortest=shortest), tag * 3, script, 7))
    assert written(events) == [*script, END]


def test_the_match_length_is_there_to_be_read():
    drafter = LookupDrafter()
    draft = drafter.propose(ids(*range(30), *range(12)), asked(3))
    assert draft.tokens == (12, 13, 14)
    assert drafter.match_length == 12


def test_a_match_that_goes_on_in_several_ways_is_weaker_evidence():
    sure, torn = LookupDrafter(), LookupDrafter()
    proposed(sure, [1, 2, 3, 4, 5, 1, 2, 3])
    proposed(torn, [1, 2, 3, 4, 5, 1, 2, 3, 6, 7, 1, 2, 3])
    assert sure.evidence == 3
    assert 0 < torn.evidence < 3
    assert LookupDrafter().evidence == 0


def test_a_match_before_a_special_token_is_none():
    drafter = LookupDrafter({50})
    assert proposed(drafter, [1, 2, 3, 50, 4, 1, 2, 3]) == ()
    assert drafter.match_length == 0
