"""Copies that are followed through changes: a name that is replaced everywhere, and the like."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.core.draft import DraftRequest
from localspec.core.tokens import Tokens
from localspec.drafters.alignment import LONGEST_CHANGE, REJOINED, SETTLED, Alignment
from localspec.drafters.lookup import LookupDrafter
from localspec.drafters.suffix_index import SuffixIndex

SPECIAL = 63
OLD, NEW = 50, [40, 41]
LEAD = list(range(70, 70 + SETTLED))
SOURCE = [*LEAD, 1, 2, 3, OLD, 4, 5, 6, 7, OLD, 8, 9, 10, 11, 12, OLD, 13, 14, 15]
RENAMED = [NEW if token == OLD else [token] for token in SOURCE]


def flat(parts: list[list[int]]) -> list[int]:
    return [token for part in parts for token in part]


def proposed(drafter: LookupDrafter, history: list[int], limit: int = 8) -> tuple[int, ...]:
    request = DraftRequest(limit, lambda law, _i: int(law.ids[0]))
    return drafter.propose(np.array(history, np.int32), request).tokens


def passes(drafter: LookupDrafter, prompt: list[int], answer: list[int], gamma: int) -> int:
    """Count the passes in which a target writes `answer`."""
    written = done = 0
    while written < len(answer):
        guess = proposed(drafter, prompt + answer[:written], gamma)
        rest = answer[written:]
        agreed = 0
        while agreed < min(len(guess), len(rest)) and guess[agreed] == rest[agreed]:
            agreed += 1
        written += agreed + 1
        done += 1
    return done


def test_a_name_that_was_replaced_is_replaced_in_the_rest_of_the_copy():
    written = flat(RENAMED[: SETTLED + 7])
    rest = flat(RENAMED[SETTLED + 7 :])
    assert proposed(LookupDrafter(), [*SOURCE, 60, *written], len(rest)) == tuple(rest)


def test_a_round_that_ends_inside_a_replaced_name_goes_on_with_it():
    written = [*flat(RENAMED[: SETTLED + 8]), NEW[0]]
    assert proposed(LookupDrafter(), [*SOURCE, 60, *written], 4) == (NEW[1], 8, 9, 10)


def test_two_tokens_after_a_change_are_enough_to_copy_on():
    written = flat(RENAMED[: SETTLED + 6])
    assert proposed(LookupDrafter(), [*SOURCE, 60, *written], 2) == (6, 7)
    assert proposed(LookupDrafter(), [*SOURCE, 60, *written[:-1]], 2) == ()


def test_a_change_that_the_text_takes_back_is_made_no_more():
    kept = [*flat(RENAMED[: SETTLED + 8]), OLD, 8, 9, 10]
    assert proposed(LookupDrafter(), [*SOURCE, 60, *kept], 4) == (11, 12, OLD, 13)


def test_a_change_seen_often_outlives_one_exception():
    source = [*SOURCE, *[20, 21, OLD, 22, 23, OLD, 24, 25, OLD, 26, 27]]
    renamed = flat([NEW if token == OLD else [token] for token in source[:-9]])
    kept = [*source, 60, *renamed, 22, 23, OLD, 24, 25]
    assert proposed(LookupDrafter(), kept, 3) == (*NEW, 26)


def test_a_copy_of_what_was_already_rewritten_is_left_as_it_is():
    longer = [OLD, 41]
    answer = flat([longer if token == OLD else [token] for token in SOURCE])
    again = [*SOURCE, 60, *answer, 61, *answer[:20]]
    assert proposed(LookupDrafter(), again, 6) == tuple(answer[20:26])


def test_lines_that_are_alike_are_no_rewrite():
    alike = [1, 2, 3, OLD, 4, 5, 6, 60, 1, 2, 3, 40, 4, 5, 6, 61, 7, 8, 9, OLD, 10, 62]
    assert proposed(LookupDrafter(), [*alike, 7, 8, 9], 2) == (OLD, 10)


def test_what_was_inserted_or_left_out_is_not_made_again():
    left_out = [token for token in SOURCE[: SETTLED + 8] if token != OLD]
    assert proposed(LookupDrafter(), [*SOURCE, 60, *left_out], 3) == (OLD, 8, 9)
    inserted = [*SOURCE[: SETTLED + 5], 33, *SOURCE[SETTLED + 5 : SETTLED + 8]]
    assert proposed(LookupDrafter(), [*SOURCE, 60, *inserted], 3) == (OLD, 8, 9)


def test_a_long_stretch_of_new_text_is_no_change():
    index = SuffixIndex()
    alignment = Alignment(index)
    new = list(range(100, 101 + LONGEST_CHANGE))
    for token in [*SOURCE, 60, *SOURCE[: SETTLED + 3], *new, *SOURCE[SETTLED + 4 : SETTLED + 8]]:
        index.append(token)
        alignment.follow()
    assert list(islice(alignment.going_on(alignment.now), 2)) == [OLD, 8]


def test_no_change_holds_a_special_token():
    source = [*LEAD, 1, 2, 3, SPECIAL, 4, 5, 6, 7, 8, 9, 10, SPECIAL, 11]
    drafter = LookupDrafter([SPECIAL])
    answer = [*LEAD, 1, 2, 3, 40, 4, 5, 6, 7, 8, 9, 10]
    assert proposed(drafter, [*source, 60, *answer], 3) == ()


def test_a_rewrite_takes_few_passes():
    lines = [part for n in range(20) for part in (100 + 3 * n, 101 + 3 * n, 102 + 3 * n, OLD)]
    source = [*LEAD, *lines]
    answer = flat([NEW if token == OLD else [token] for token in source])
    prompt = [*source, 60]
    begun = answer[:3]
    followed = passes(LookupDrafter(), prompt + begun, answer[3:], 15)
    refused, until_rejoined = 1, len(NEW) - 1 + REJOINED
    assert followed <= -(-len(answer) // 16) + refused + until_rejoined


ANY = st.lists(st.integers(0, 3), max_size=60)


@settings(max_examples=300)
@given(old=ANY, cut=st.integers(0, 60), new=ANY, other=ANY)
def test_what_is_known_depends_on_the_text_alone(
    old: list[int], cut: int, new: list[int], other: list[int]
):
    grown = LookupDrafter([3])
    for history in (old, old[:cut] + other, old[:cut] + new):
        proposed(grown, history)
    text = old[:cut] + new
    assert proposed(grown, text, 24) == proposed(LookupDrafter([3]), text, 24)
    assert grown.evidence == _evidence(text)


WORDS = st.lists(st.sampled_from([[OLD], NEW, [42], [OLD, 43], []]), min_size=3, max_size=3)


def rewritten(words: list[list[int]]) -> list[int]:
    left = iter(words)
    return flat([next(left) if token == OLD else [token] for token in SOURCE])


@settings(max_examples=300)
@given(first=WORDS, second=WORDS, cut=st.integers(0, 60), more=st.integers(0, 60))
def test_changes_that_were_cut_away_are_forgotten(
    first: list[list[int]], second: list[list[int]], cut: int, more: int
):
    """Of two rewrites the second one begins somewhere in the first, and tells alone."""
    before = [*SOURCE, 60, *rewritten(first)[:cut]]
    grown = LookupDrafter()
    for history in ([*SOURCE, 60, *rewritten(first)], before):
        proposed(grown, history)
    text = [*before, *rewritten(second)[:more]]
    assert proposed(grown, text, 12) == proposed(LookupDrafter(), text, 12)


def _evidence(text: list[int]) -> float:
    fresh = LookupDrafter([3])
    proposed(fresh, text)
    return fresh.evidence


@pytest.mark.parametrize("limit", [1, 40])
@given(text=st.lists(st.integers(0, 2), max_size=80))
def test_every_proposal_has_its_length_whatever_the_text_repeats(limit: int, text: list[int]):
    drafter = LookupDrafter()
    guess = proposed(drafter, text, limit)
    assert len(guess) == (limit if drafter.match else 0)


def test_nothing_is_followed_once_all_was_cut():
    tokens: Tokens = np.random.default_rng(1).integers(0, 40, 5000).astype(np.int32)
    index = SuffixIndex()
    alignment = Alignment(index)
    for token in tokens.tolist():
        index.append(token)
        alignment.follow()
    alignment.truncate(0)
    index.truncate(0)
    assert alignment.now.place == -1
    index.append(1)
    alignment.follow()
    assert alignment.now.place == -1
