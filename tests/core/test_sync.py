"""`sync` and the token buffer as stateful machines against a list."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from localspec.core.tokens import TokenBuffer, common_prefix, sync
from tests.core.fakes import MarkovSequence, ids, random_markov

MACHINE = settings(deadline=None, derandomize=True, database=None, max_examples=60)
SOURCE = random_markov(4, 2)
TOKENS = st.lists(st.integers(0, 3), max_size=6)
FORGETTING = {
    "all that is asked": lambda length: length,
    "whole windows of four": lambda length: length // 4 * 4,
    "nothing": lambda length: 0,
}


class SyncMachine(RuleBasedStateMachine):
    """Edit a history in every way an answer does; each cache must follow exactly."""

    def __init__(self) -> None:
        super().__init__()
        self.history = [1]
        self.caches = {
            name: MarkovSequence(SOURCE, keeps=keeps) for name, keeps in FORGETTING.items()
        }

    @rule(tokens=TOKENS)
    def write(self, tokens: list[int]) -> None:
        """Go on with the text."""
        self.history += tokens

    @rule(length=st.integers(1, 60))
    def cut(self, length: int) -> None:
        """Reject a draft, or undo a turn."""
        del self.history[length:]

    @rule(at=st.integers(0, 60), token=st.integers(0, 3))
    def edit(self, at: int, token: int) -> None:
        """Change an old turn."""
        if at < len(self.history):
            self.history[at] = token

    @rule(rows=st.integers(0, 5), which=st.sampled_from(sorted(FORGETTING)))
    def follow(self, rows: int, which: str) -> None:
        """Bring a cache to the history: right rows, least work."""
        cache, rows = self.caches[which], min(rows, len(self.history))
        held, before = cache.tokens.tolist(), cache.decoded
        logits = sync(cache, ids(*self.history), rows)
        ends = range(len(self.history) - rows + 1, len(self.history) + 1)
        expected = [SOURCE.row(self.history[:end]) for end in ends]
        assert cache.tokens.tolist() == self.history
        assert np.array_equal(logits, np.reshape(expected, (rows, 4)))
        assert cache.decoded - before == len(self.history) - self._kept(held, rows, which)

    def _kept(self, held: list[int], rows: int, which: str) -> int:
        keep = min(common_prefix(ids(*held), ids(*self.history)), len(self.history) - rows)
        return FORGETTING[which](keep) if keep < len(held) else keep


class BufferMachine(RuleBasedStateMachine):
    """A buffer is a list that only changes at its end."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer, self.model = TokenBuffer([7, 8]), [7, 8]

    @rule(tokens=TOKENS, as_array=st.booleans())
    def extend(self, tokens: list[int], as_array: bool) -> None:
        """Append a list, a generator or an array."""
        self.buffer.extend(ids(*tokens) if as_array else iter(tokens))
        self.model += tokens

    @rule(length=st.integers(0, 200))
    def truncate(self, length: int) -> None:
        """Forget the end."""
        self.buffer.truncate(length)
        del self.model[length:]

    @invariant()
    def equals_the_list(self) -> None:
        """Hold the same ids."""
        assert self.buffer.view.tolist() == self.model
        assert len(self.buffer) == len(self.model)
        assert self.buffer.view.dtype == np.int32


TestSync = MACHINE(SyncMachine).TestCase
TestBuffer = MACHINE(BufferMachine).TestCase


@pytest.mark.parametrize(
    ("left", "right", "shared"),
    [([], [], 0), ([], [1], 0), ([1, 2], [1, 2, 3], 2), ([1, 2], [1, 3], 1), ([2], [1], 0)],
)
def test_the_common_prefix_ends_at_the_first_difference(left, right, shared: int) -> None:
    assert common_prefix(ids(*left), ids(*right)) == shared
    assert common_prefix(ids(*right), ids(*left)) == shared


def test_a_rejected_draft_costs_no_pass_over_old_tokens() -> None:
    cache = MarkovSequence(SOURCE)
    sync(cache, ids(0, 1, 2, 3, 3, 3), 4)
    sync(cache, ids(0, 1, 2, 3, 1, 2), 2)
    assert cache.decoded == 6 + 2


def test_lent_rows_are_spoiled_by_the_next_pass() -> None:
    """The fake is strict: code that keeps rows too long cannot pass its tests."""
    cache = MarkovSequence(SOURCE)
    rows = sync(cache, ids(0, 1), 1)
    sync(cache, ids(0, 1, 2), 1)
    assert np.isnan(rows).all()


def test_a_full_cache_refuses_before_it_decodes() -> None:
    cache = MarkovSequence(SOURCE, capacity=3)
    with pytest.raises(ValueError, match="cache of 3"):
        sync(cache, ids(0, 1, 2, 3), 1)
    assert cache.decoded == 0
