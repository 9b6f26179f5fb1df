"""The drafter of a head on fakes: what is read when, and the exact law of what is written."""

from collections.abc import Callable

import numpy as np
import pytest

from localspec.core.draft import Draft, DraftRequest
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tokens import Logits, Tokens
from localspec.drafters.head import HeadDrafter
from localspec.errors import LocalspecError

SIZE = 7
SAMPLER = Sampler(SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0))


class States:
    """States of a target that says which token they stand behind: (token, position)."""

    def __init__(self) -> None:
        self.tokens: Tokens = np.empty(0, np.int32)
        self.first = 0
        self.read_to = 0

    def rows(self, begin: int, end: int) -> np.ndarray | None:
        if begin < self.first or end > len(self.tokens):
            return None
        return np.stack([self.tokens[begin:end], np.arange(begin, end)], axis=1).astype(np.float32)

    def read(self, position: int) -> None:
        self.read_to = position


class Head:
    """A head that checks every pair it is given, and whose guess depends on all of them."""

    first = 1
    capacity = 40
    longest: int | None = None

    def __init__(self, *, chained: bool = False) -> None:
        self.chained = chained
        self.pairs: list[tuple[int, int]] = []
        self.held = 0
        self.reads: list[int] = []
        self.failing = False

    def read(self, begin: int, tokens: Tokens, states: np.ndarray, *, guess: bool) -> Logits | None:
        if self.failing:
            raise LocalspecError("the head is broken")
        assert states[:, 1].tolist() == list(range(begin - 1, begin - 1 + len(tokens)))
        del self.pairs[begin - 1 :]
        assert len(self.pairs) == begin - 1
        self.pairs += [(int(t), int(s)) for t, s in zip(tokens, states[:, 0], strict=True)]
        self.held = begin + len(tokens) - (guess and self.chained)
        self.reads.append(len(tokens))
        return self._guess() if guess else None

    def step(self, token: int) -> Logits:
        self.pairs.append((token, -1))
        return self._guess()

    def _guess(self) -> Logits:
        rng = np.random.default_rng([abs(part) for pair in self.pairs for part in pair])
        return rng.standard_normal(SIZE).astype(np.float32)


def greedy(law, _i: int) -> int:
    return int(law.ids[law.probs.argmax()])


def ask(drafter: HeadDrafter, states: States, history: list[int], limit: int = 3) -> Draft:
    """Let the target read all but the last token, then ask."""
    ids = np.array(history, np.int32)
    states.tokens = ids[:-1]
    return drafter.propose(ids, DraftRequest(limit, greedy))


def made(**changes: bool) -> tuple[HeadDrafter, States, Head]:
    states, head = States(), Head(**changes)
    return HeadDrafter(head, states, SAMPLER, name="eagle3"), states, head


def fresh(history: list[int], limit: int = 3) -> Draft:
    drafter, states, _ = made()
    return ask(drafter, states, history, limit)


@pytest.mark.parametrize("chained", [False, True])
def test_a_draft_is_the_same_whatever_was_asked_before(chained: bool) -> None:
    drafter, states, _ = made(chained=chained)
    rng = np.random.default_rng(1)
    history = [1, 2, 3]
    for _ in range(200):
        draft = ask(drafter, states, history)
        other = fresh(history)
        assert draft.tokens == other.tokens
        for law, same in zip(draft.laws, other.laws, strict=True):
            np.testing.assert_array_equal(law.probs, same.probs)
        kept = int(rng.integers(0, len(draft) + 1))
        history = [*history, *draft.tokens[:kept], int(rng.integers(0, SIZE))]
        if len(history) > 30 or rng.random() < 0.1:
            kept = int(rng.integers(1, len(history)))
            history = [*history[:kept], int(rng.integers(0, SIZE))]


def test_only_what_is_new_is_read() -> None:
    drafter, states, head = made()
    ask(drafter, states, [1, 2, 3, 4])
    draft = ask(drafter, states, [1, 2, 3, 4, 5])
    ask(drafter, states, [1, 2, 3, 4, 5, *draft.tokens, 6])
    assert head.reads == [3, 1, 4]


def test_a_chained_head_reads_the_pair_that_began_the_chain_again() -> None:
    drafter, states, head = made(chained=True)
    ask(drafter, states, [1, 2, 3, 4])
    ask(drafter, states, [1, 2, 3, 4, 5])
    assert head.reads == [3, 2]


def test_a_prompt_is_read_before_the_first_draft() -> None:
    drafter, states, head = made()
    states.tokens = np.array([1, 2, 3, 4], np.int32)
    drafter.prefill(states.tokens)
    ask(drafter, states, [1, 2, 3, 4, 5])
    assert head.reads == [3, 1]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda states: setattr(states, "first", 2),
        lambda states: setattr(states, "tokens", states.tokens[:1]),
        lambda states: setattr(states, "tokens", np.array([1, 9, 3], np.int32)),
    ],
    ids=["the oldest is lost", "the target has not read them", "another text's"],
)
def test_states_that_are_missing_or_not_of_this_text_give_no_draft(
    spoil: Callable[[States], None],
) -> None:
    drafter, states, head = made()
    states.tokens = np.array([1, 2, 3], np.int32)
    spoil(states)
    draft = drafter.propose(np.array([1, 2, 3, 4], np.int32), DraftRequest(3, greedy))
    assert not draft
    assert head.reads == []


def test_a_text_of_one_token_gives_no_draft() -> None:
    drafter, states, _ = made()
    assert not ask(drafter, states, [1])


def test_a_draft_ends_where_the_heads_cache_does() -> None:
    drafter, states, head = made()
    assert len(ask(drafter, states, list(range(7)) * 5 + [1, 2, 3], 9)) == 3
    assert len(ask(drafter, states, list(range(7)) * 5 + [1, 2, 3, 4, 5, 6])) == 0
    assert len(head.pairs) <= head.capacity


def test_heads_in_a_chain_limit_the_draft() -> None:
    drafter, states, head = made()
    head.longest = 2
    assert len(ask(drafter, states, [1, 2, 3], 9)) == 2


def test_the_policy_may_stop_before_any_draw() -> None:
    drafter, states, _ = made()
    states.tokens = np.array([1, 2], np.int32)
    request = DraftRequest(5, greedy, keep_going=lambda i, _law: i < 2)
    assert len(drafter.propose(np.array([1, 2, 3], np.int32), request)) == 2


def test_a_failure_while_reading_ahead_is_told_at_the_next_proposal() -> None:
    drafter, states, head = made()
    states.tokens = np.array([1, 2, 3], np.int32)
    head.failing = True
    drafter.read_ahead(2)
    head.failing = False
    with pytest.raises(LocalspecError, match="broken"):
        drafter.propose(np.array([1, 2, 3, 4], np.int32), DraftRequest(3, greedy))
    assert ask(drafter, states, [1, 2, 3, 4, 5]).tokens == fresh([1, 2, 3, 4, 5]).tokens


def test_each_token_comes_with_the_law_it_was_drawn_from() -> None:
    drafter, states, _ = made()
    shown = []

    def pick(law, i: int) -> int:
        shown.append(law)
        return int(law.ids[i % len(law.ids)])

    states.tokens = np.array([1, 2], np.int32)
    draft = drafter.propose(np.array([1, 2, 3], np.int32), DraftRequest(4, pick))
    assert list(draft.laws) == shown
    assert len(draft) == 4
