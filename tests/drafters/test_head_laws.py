"""Sampled drafts of a head leave the target's law as it is: enumerated, and mistakes caught."""

from dataclasses import replace

import numpy as np
import pytest

from localspec.core.distribution import Distribution
from localspec.core.draft import Draft, DraftRequest
from localspec.core.rules import judge_block, judge_tokens
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tokens import Logits, Token, Tokens
from localspec.drafters.head import HeadDrafter
from tests.core.cases import EXACT, SMALL_CASES, WRONG, Writing, writing_error
from tests.core.fakes import Markov

CASES = [case for case in SMALL_CASES if case.name in ("random", "target with zeros", "peaked")]
WARM = SamplingParams(temperature=0.7, top_k=0, top_p=1.0, min_p=0.0)


class States:
    """A target's states that know the id read and nothing else."""

    def __init__(self) -> None:
        self.tokens: Tokens = np.empty(0, np.int32)

    def rows(self, begin: int, end: int) -> np.ndarray | None:
        return self.tokens[begin:end, None].astype(np.float32)

    def read(self, position: int) -> None:
        """Need no word of it."""


class Head:
    """A head whose guess is made of the last pair, and of its own state while it drafts.

    `size` is what the target has; like a head with a map it guesses all but the first id.
    """

    first, capacity, longest = 0, 99, None

    def __init__(self, size: int) -> None:
        self._table = np.random.default_rng(7).standard_normal((size + 1, size, size))
        self._state = self.held = 0

    def read(self, begin: int, tokens: Tokens, states: np.ndarray, *, guess: bool) -> Logits | None:
        self.held = begin + len(tokens)
        before = int(states[-1, 0]) if len(states) else len(self._table) - 1
        return self._guess(int(tokens[-1]), before) if guess else None

    def step(self, token: Token) -> Logits:
        return self._guess(token, self._state)

    def _guess(self, token: int, state: int) -> Logits:
        row = self._table[state, token].astype(np.float32)
        self._state = int(row.argmax())
        row[0] = -np.inf
        return row


class OverMarkov:
    """A head's drafter for a small vocabulary, over a target that has read all but the last id."""

    name = "eagle3"

    def __init__(self, source: Markov) -> None:
        self._states = States()
        self._drafter = HeadDrafter(Head(source.size), self._states, Sampler(WARM), name="eagle3")

    def prefill(self, history: Tokens) -> None:
        self._states.tokens = history.copy()
        self._drafter.prefill(history)

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        self._states.tokens = history[:-1].copy()
        return self._drafter.propose(history, request)


class ForgetsTheMap(OverMarkov):
    """Report the laws of the head's own ids, one lower than the target's."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        draft = super().propose(history, request)
        laws = tuple(replace(law, ids=np.maximum(law.ids - 1, 0)) for law in draft.laws)
        return replace(draft, laws=tuple(_merged(law) for law in laws))


class ReportsTheNextLaw(OverMarkov):
    """Report the law of another place."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        draft = super().propose(history, request)
        return replace(draft, laws=(*draft.laws[1:], *draft.laws[:1]))


class DrawsTheLikeliest(OverMarkov):
    """Take the argmax, and report the law."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        likeliest = replace(request, pick=lambda law, _i: int(law.ids[law.probs.argmax()]))
        return super().propose(history, likeliest)


class DropsWhatItDoubts(OverMarkov):
    """Drop a drawn token because its q is small."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        draft = super().propose(history, request)
        pairs = list(zip(draft.tokens, draft.laws, strict=True))
        kept = next(
            (i for i, (token, law) in enumerate(pairs) if law.prob(token) < 0.4), len(pairs)
        )
        return Draft(draft.tokens[:kept], draft.laws[:kept])


def _merged(law: Distribution) -> Distribution:
    ids, back = np.unique(law.ids, return_inverse=True)
    return Distribution(ids, np.bincount(back, law.probs))


MUTANTS = (ForgetsTheMap, ReportsTheNextLaw, DrawsTheLikeliest, DropsWhatItDoubts)


@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_text_has_the_probability_that_the_target_gives_it(case, rule) -> None:
    """A01 B10: enumerated over every uniform, q over the target's ids, with its own states."""
    assert writing_error(case, Writing(4, rule, drafter=OverMarkov)) < EXACT


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
def test_a_head_that_reports_what_it_did_not_draw_from_is_caught(mutant, rule) -> None:
    """B10 B12."""
    writing = Writing(4, rule, drafter=mutant)
    assert any(writing_error(case, writing) > WRONG for case in CASES)
