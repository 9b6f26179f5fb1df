"""The n-gram table's laws and the drafter under the loop."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_texts import ids, text

from localspec.core.distribution import Distribution
from localspec.core.draft import DraftRequest
from localspec.drafters import ngram_file
from localspec.drafters.ngram import NgramDrafter
from localspec.drafters.ngram_file import open_or_learn
from localspec.drafters.ngram_table import (
    SUPPORT,
    NgramTable,
    hash_context,
    hash_contexts,
    train,
)

TEXTS = st.lists(st.lists(st.integers(0, 6), max_size=60), min_size=1, max_size=4)


def taken(limit: int) -> DraftRequest:
    """Take the likeliest id of each law."""
    return DraftRequest(limit, lambda law, _i: int(law.ids[law.probs.argmax()]))


@given(TEXTS.filter(any), st.lists(st.integers(0, 6), max_size=5), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_the_whole_law_sums_to_one_after_every_context(
    texts: list[list[int]], context: list[int], order: int
):
    table = train([ids(*tokens) for tokens in texts], order=order)
    assert sum(table.prob(context, t) for t in range(7)) == pytest.approx(1, abs=1e-5)


@given(TEXTS.filter(any), st.lists(st.integers(0, 6), max_size=5), st.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_caps_move_mass_and_lose_none(texts: list[list[int]], context: list[int], max_entries: int):
    table = train([ids(*tokens) for tokens in texts], max_entries=max_entries)
    assert sum(table.prob(context, t) for t in range(7)) == pytest.approx(1, abs=1e-5)
    assert all(len(level.ids) <= max_entries for level in table.levels)


@given(TEXTS.filter(any), st.lists(st.integers(0, 6), max_size=5))
@settings(max_examples=200, deadline=None)
def test_a_law_is_the_whole_law_on_its_likeliest_ids(texts: list[list[int]], context: list[int]):
    table = train([ids(*tokens) for tokens in texts])
    law = table.law(context)
    if law is None:
        assert not context or context[-1] not in [t for text in texts for t in text[:-1]]
        return
    assert (np.diff(law.ids) > 0).all()
    whole = np.array([table.prob(context, int(t)) for t in law.ids])
    assert law.probs == pytest.approx(whole / whole.sum(), rel=1e-6)
    assert law.probs.sum() == pytest.approx(1, abs=1e-12)


def test_a_law_keeps_to_its_support_and_to_the_ids_likeliest_there():
    draw = np.random.default_rng(0)
    tokens = np.stack([np.zeros(5_000), draw.integers(1, 400, 5_000)], 1).reshape(-1)
    table = train([tokens.astype(np.int32)])
    law = table.law([0])
    assert law is not None
    assert 1 < len(law.ids) <= SUPPORT


def test_grams_do_not_reach_from_one_text_into_the_next():
    table = train([ids(1, 2, 3), ids(4, 5, 6)])
    assert table.law([3]) is None
    law = table.law([1])
    assert law is not None
    assert law.ids[law.probs.argmax()] == 2


def test_lower_orders_count_kinds_of_contexts_and_not_tokens():
    """An id seen often, but after one id only, is a poor guess elsewhere (Kneser-Ney)."""
    table = train([ids(*[7, 1] * 50, *[2, 5, 3, 5, 4, 5, 6, 5, 8, 5])])
    assert table.prob([99], 5) > table.prob([99], 1)


def test_the_table_predicts_better_than_single_ids_do():
    unseen, seen = text(seed=2), text(seed=1)
    table, alone = train([seen]), train([seen], order=1)

    def bits(model: NgramTable) -> float:
        chances = [
            model.prob(unseen[at - 4 : at].tolist(), int(unseen[at])) for at in range(4, 900)
        ]
        return float(-np.log2(np.maximum(chances, 1e-9)).mean())

    assert bits(table) < bits(alone) - 2
    assert bits(table) < 2.2


@given(st.lists(st.integers(0, 300_000), min_size=1, max_size=6))
def test_one_context_is_hashed_as_all_are(context: list[int]):
    assert hash_context(context) == int(hash_contexts(ids(*context), len(context))[0])


def test_more_text_than_the_cap_is_left_out_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ngram_file, "MAX_LEARNT", 1_000)
    table, line = open_or_learn(tmp_path / "t", "t", lambda: [text(599), text(599), text(9)])
    assert (table.report.tokens, table.report.left_out) == (1_000, 210)
    assert "210 tokens left out" in line


def test_one_token_is_enough_and_none_is_not():
    table = train([ids(3)])
    assert table.law([3]) is None
    assert table.prob([], 3) == 1
    with pytest.raises(ValueError, match="no token"):
        train([ids()])


def test_a_draft_follows_the_text_it_was_learnt_from():
    drafter = NgramDrafter(train([ids(*range(20))]))
    assert drafter.propose(ids(50, 4, 5), taken(4)).tokens == (6, 7, 8, 9)


@given(st.integers(0, 99), st.integers(0, 6), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_each_token_is_drawn_from_the_law_that_is_reported(start: int, limit: int, seed: int):
    drafter, draws = NgramDrafter(train([text()])), np.random.default_rng(seed)
    drawn: list[tuple[int, Distribution]] = []

    def pick(law: Distribution, i: int) -> int:
        assert i == len(drawn)
        drawn.append((law.sample(draws.random()), law))
        return drawn[-1][0]

    draft = drafter.propose(ids(start), DraftRequest(limit, pick))
    assert [*zip(draft.tokens, map(id, draft.laws), strict=True)] == [
        (token, id(law)) for token, law in drawn
    ]
    assert len(draft) <= limit


def test_the_policy_stops_a_draft_before_the_draw():
    drafter = NgramDrafter(train([text()]))
    request = DraftRequest(8, taken(8).pick, lambda i, _law: i < 3)
    assert len(drafter.propose(text()[:50], request)) == 3


def test_a_greedy_draft_is_made_of_points():
    draft = NgramDrafter(train([text()]), greedy=True).propose(text()[:50], taken(5))
    assert len(draft) == 5
    assert all(law.is_point for law in draft.laws)


def test_special_ids_are_never_drafted_and_end_the_context():
    """C11, D01: nothing is drafted across a special token."""
    table = train([ids(*[1, 2, 9, 4] * 20)])
    for greedy in (False, True):
        assert NgramDrafter(table, {9}, greedy=greedy).propose(ids(1), taken(5)).tokens[:1] == (2,)
        drafted = NgramDrafter(table, {9}, greedy=greedy).propose(ids(1, 2), taken(5)).tokens
        assert 9 not in drafted
    assert NgramDrafter(table, {9}).propose(ids(1, 2, 9), taken(5)).tokens == ()


def test_an_unknown_or_empty_history_gets_no_draft():
    drafter = NgramDrafter(train([text()]))
    assert not drafter.propose(ids(), taken(4))
    assert not drafter.propose(ids(4_000), taken(4))
