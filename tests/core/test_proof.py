"""A cache that says it forgets is not believed: its logits are compared."""

import numpy as np
import pytest

from localspec.core.proof import (
    agree,
    reads_again,
    takes_back_a_part,
    takes_back_a_pass,
    trial,
)
from localspec.core.tokens import Logits, TokenBuffer, Tokens
from tests.core.fakes import MarkovSequence, ids, random_markov

SOURCE = random_markov(5, 3)
IDS = ids(0, 1, 2)


def state_row(history: list[int]) -> Logits:
    """Give logits that depend on every id read so far, as those of a recurrent model do."""
    return np.random.default_rng(history).normal(0, 3, 40).astype(np.float32)


class Liar:
    """A recurrent cache: `says` is what it claims to keep, `does` what it really goes back to."""

    capacity = 64

    def __init__(self, *, does: int, says: int = 1) -> None:
        self._truth = TokenBuffer()
        self._told = TokenBuffer()
        self._does, self._says = does, says

    @property
    def tokens(self) -> Tokens:
        return self._told.view

    def extend(self, tokens: Tokens, rows: int) -> Logits:
        self._truth.extend(tokens)
        self._told.extend(tokens)
        seen = self._truth.view.tolist()
        ends = range(len(seen) - rows + 1, len(seen) + 1)
        return np.reshape([state_row(seen[:end]) for end in ends], (rows, 40))

    def rewind(self, length: int) -> int:
        if length == 0:
            self._truth.truncate(0)
            self._told.truncate(0)
            return 0
        self._truth.truncate(max(length, len(self._truth) - self._does))
        self._told.truncate(self._says)
        return self._says


def test_an_honest_cache_is_believed() -> None:
    cache = MarkovSequence(SOURCE)
    tried = trial(cache, IDS, 2)
    assert takes_back_a_pass(cache, tried)
    assert takes_back_a_part(cache, tried)
    assert reads_again(cache, tried)


def test_a_cache_that_cannot_take_back_says_so_and_reads_again() -> None:
    cache = MarkovSequence(SOURCE, keeps=lambda length: 0)
    tried = trial(cache, IDS, 2)
    assert not takes_back_a_pass(cache, tried)
    assert not takes_back_a_part(cache, tried)
    assert reads_again(cache, tried)


@pytest.mark.parametrize("does", [0, 1])
def test_a_cache_that_only_says_it_took_back_is_caught(does: int) -> None:
    """H01: nothing taken back, or one token too few."""
    cache = Liar(does=does)
    assert not takes_back_a_pass(cache, trial(cache, IDS, 2))


def test_a_cache_that_keeps_the_wrong_token_is_caught() -> None:
    cache = Liar(does=0)
    assert not takes_back_a_part(cache, trial(cache, IDS, 2))


def test_one_row_is_enough_to_catch_it() -> None:
    """A draft's cache gives one row a pass."""
    cache = Liar(does=1)
    assert not takes_back_a_pass(cache, trial(cache, IDS, 1))


def test_a_pass_that_the_engine_refuses_is_no_proof() -> None:
    class Refusing(MarkovSequence):
        def extend(self, tokens: Tokens, rows: int) -> Logits:
            if self.decoded >= 3:
                raise ValueError("positions do not follow on each other")
            return super().extend(tokens, rows)

    cache = Refusing(SOURCE)
    assert not takes_back_a_pass(cache, trial(cache, IDS, 2))


def test_rounding_is_no_difference_and_another_row_is() -> None:
    rng = np.random.default_rng(1)
    row = rng.normal(0, 3, (2, 400)).astype(np.float32)
    assert agree(row, row + rng.normal(0, 0.05, row.shape).astype(np.float32))
    assert not agree(row, row + rng.normal(0, 1, row.shape).astype(np.float32))
    assert not agree(row, np.stack([row[0], row[0]]))


def test_ids_that_are_ruled_out_must_be_so_both_times() -> None:
    row = np.array([[0.0, 1.0, -np.inf]], np.float32)
    assert agree(row, row.copy())
    assert not agree(row, np.array([[0.0, 1.0, 2.0]], np.float32))
