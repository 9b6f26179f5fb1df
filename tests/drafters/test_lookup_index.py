"""The suffix index against a search that simply looks everywhere."""

from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from localspec.drafters.suffix_index import REACH, RECALL, WALL, Match, SuffixIndex

BREAK = 3
TOKENS = st.lists(st.integers(0, 3), max_size=60)
PERIODIC = st.builds(
    lambda head, loop, times, tail: head + loop * times + tail,
    st.lists(st.integers(0, 2), max_size=6),
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.integers(1, 12),
    st.lists(st.integers(0, 3), max_size=4),
)
TEXTS = st.one_of(TOKENS, PERIODIC)


def slow_reach(text: list[int], place: int, most: int) -> int:
    """Count how far the text before `place` agrees with the text's end, up to a break."""
    length = 0
    while (
        length < min(most, place)
        and text[place - 1 - length] == text[-1 - length]
        and text[place - 1 - length] not in (BREAK, WALL)
    ):
        length += 1
    return length


def slow_find(text: list[int], shortest: int, longest: int) -> Match | None:
    """Say what the index promises, by looking at every place."""
    reaches = {
        place: slow_reach(text, place, REACH)
        for place in range(len(text) - 1, 0, -1)
        if text[place] != WALL
    }
    indexed = max((min(reach, longest) for reach in reaches.values()), default=0)
    if indexed < shortest:
        return None
    recent = [place for place, reach in reaches.items() if reach >= indexed][:RECALL]
    length = max(reaches[place] for place in recent)
    places = [place for place in recent if reaches[place] == length]
    following = [text[place] for place in places]
    most = max(following.count(token) for token in following)
    at = next(p for p in places if following.count(text[p]) == most)
    return Match(at, length, most, len(places))


@example([1, 0, BREAK, 0, 1, 0], 1, 1)
@given(TEXTS, st.integers(1, 4), st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_the_index_finds_what_a_full_search_finds(text: list[int], shortest: int, more: int):
    index = SuffixIndex(frozenset({BREAK}), shortest=shortest, longest=shortest + more)
    for end, token in enumerate(text, 1):
        index.extend([token])
        assert index.find() == slow_find(text[:end], shortest, shortest + more)


@dataclass
class Edit:
    """Cut to a share of the length, then append."""

    keep: float
    tokens: list[int]


EDITS = st.lists(st.builds(Edit, st.floats(0, 1), TEXTS), max_size=6)


@given(EDITS, st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_cutting_leaves_no_trace_in_the_index(edits: list[Edit], shortest: int):
    edited = SuffixIndex(frozenset({BREAK}), shortest=shortest, longest=shortest + 3)
    text: list[int] = []
    for edit in edits:
        keep = int(edit.keep * len(text))
        text = text[:keep] + edit.tokens
        edited.truncate(keep)
        edited.extend(edit.tokens)
        fresh = SuffixIndex(frozenset({BREAK}), shortest=shortest, longest=shortest + 3)
        fresh.extend(text)
        assert vars(edited) == vars(fresh)


@given(TEXTS, TEXTS)
@settings(max_examples=100, deadline=None)
def test_no_match_begins_before_a_wall_or_ends_at_it(left: list[int], right: list[int]):
    index = SuffixIndex(frozenset({BREAK}), shortest=2, longest=4)
    index.extend(left)
    index.separate()
    index.extend(right)
    found = index.find()
    assert found == slow_find([*left, WALL, *right], 2, 4)


def test_a_match_never_reaches_over_a_special_token():
    index = SuffixIndex(frozenset({BREAK}), shortest=2)
    index.extend([0, 1, BREAK, 2, 7, 0, 1, BREAK, 2])
    assert index.find() is None


def test_the_more_frequent_continuation_beats_the_more_recent_one():
    index = SuffixIndex(shortest=2)
    index.extend([7, 8, 1, 6, 7, 8, 1, 5, 7, 8, 2, 4, 7, 8])
    assert index.find() == Match(start=6, length=2, votes=2, candidates=3)


def test_of_two_equally_frequent_continuations_the_more_recent_is_taken():
    index = SuffixIndex(shortest=2)
    index.extend([7, 8, 1, 6, 7, 8, 2, 5, 7, 8])
    assert index.find() == Match(start=6, length=2, votes=1, candidates=2)


def test_a_longer_match_beats_many_shorter_ones():
    index = SuffixIndex(shortest=2)
    index.extend([9, 7, 8, 1, 5, 7, 8, 2, 5, 7, 8, 2, 9, 7, 8])
    assert index.find() == Match(start=3, length=3, votes=1, candidates=1)


@pytest.mark.parametrize(("shortest", "longest"), [(0, 4), (5, 4), (2, REACH + 1)])
def test_impossible_gram_lengths_are_refused(shortest: int, longest: int):
    with pytest.raises(ValueError, match="grams from"):
        SuffixIndex(shortest=shortest, longest=longest)
