"""Bytes into text: any split gives the same characters, and stop strings cut at the same place."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.chat.text import Span, TextStream
from localspec.core.events import Origin

TEXTS = ["ığüşöçİĞÜŞÖÇ", "👨‍👩‍👧‍👦 family", "模型说：你好", "naïve café\n", "[/INST] [red]x [/]"]
PIECES = {t: bytes([t]) for t in range(256)}


def run(pieces, rounds=None, stops=(), origins=None):
    """Feed pieces as tokens in rounds of the given sizes; give the stream, text and cuts."""
    stream = TextStream(dict(enumerate(pieces)).__getitem__, stops=stops)
    origins = origins or [Origin.TARGET] * len(pieces)
    spans, behind, at = [], 0, 0
    for size in rounds or [1] * len(pieces):
        tokens = range(at, min(at + size, len(pieces)))
        said, cut = stream.feed(tuple(tokens), tuple(origins[t] for t in tokens))
        spans += said
        behind += cut
        at += len(tokens)
        if stream.stopped:
            break
    spans += stream.flush()
    return stream, "".join(span.text for span in spans), behind


@pytest.mark.parametrize("text", TEXTS)
def test_one_token_a_byte_gives_every_character_whole(text):
    """D09"""
    stream, said, _ = run([bytes([b]) for b in text.encode()])
    assert said == text == stream.text
    assert stream.invalid == 0


@given(st.binary(max_size=40), st.data())
def test_any_split_of_any_bytes_gives_the_same_text(data, draw):
    """D09, D10"""
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=8)))
    edges = [0, *cuts, len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    assert run(pieces)[1] == data.decode("utf-8", "replace")


def test_half_a_character_at_the_end_becomes_one_replacement_and_is_counted():
    """D10"""
    stream, said, _ = run([b"ok ", "ş".encode()[:1]])
    assert said == "ok \ufffd"
    assert stream.invalid == 1


def test_a_replacement_character_the_model_wrote_itself_is_not_counted_as_invalid():
    """D10"""
    stream, said, _ = run([b"\xef", b"\xbf", b"\xbd", b"\xff"])
    assert said == "\ufffd\ufffd"
    assert stream.invalid == 1


def test_nothing_is_shown_of_a_character_before_its_last_byte():
    """D09"""
    stream = TextStream(PIECES.__getitem__)
    first, second = "ğ".encode()
    assert stream.feed((first,), (Origin.DRAFT,)) == ((), 0)
    assert stream.feed((second,), (Origin.TARGET,)) == ((Span("ğ", Origin.TARGET),), 0)


@given(
    st.text("ab<>/s", max_size=30),
    st.lists(st.text("ab<>/s", min_size=1, max_size=4), min_size=1, max_size=3),
    st.data(),
)
def test_stop_strings_cut_at_the_same_character_however_rounds_group_the_tokens(text, stops, draw):
    """D03"""
    pieces = [char.encode() for char in text]
    sizes = draw.draw(st.lists(st.integers(1, 6), min_size=40, max_size=40))
    plain, said, _ = run(pieces, stops=stops)
    grouped, same, behind = run(pieces, sizes, stops)
    ends = [at for at in range(1, len(text) + 1) if any(text[:at].endswith(s) for s in stops)]
    assert same == said
    assert grouped.stopped == plain.stopped == bool(ends)
    if ends:
        longest = max(len(s) for s in stops if text[: ends[0]].endswith(s))
        assert said == text[: ends[0] - longest]
    else:
        assert (said, behind) == (text, 0)


@pytest.mark.parametrize(
    ("pieces", "rounds"),
    [
        ([b"one ", b"ST", b"OP", b" two"], [4]),
        ([b"one ", b"S", b"TO", b"P", b" two"], [2, 3]),
        ([b"one S", b"T", b"OP two"], [1, 2]),
    ],
)
def test_a_stop_string_over_several_tokens_and_rounds_cuts_before_its_first_character(
    pieces, rounds
):
    """D03"""
    stream, said, _ = run(pieces, rounds, ("STOP",))
    assert (said, stream.stopped) == ("one ", True)


def test_tokens_behind_a_stop_string_are_counted_so_that_they_can_be_taken_back():
    """D03, D05"""
    assert run([b"a", b"X", b"b", b"c"], [4], ("X",))[2] == 2


def test_text_held_for_a_stop_string_that_never_comes_is_shown_at_the_end():
    """D03"""
    assert run([b"see ST", b"O"], stops=("STOP",))[1] == "see STO"


def test_stop_strings_are_compared_as_they_are_without_lower_casing():
    """D16"""
    assert run(["QUİT quit".encode()], stops=("quit",))[1] == "QUİT "
    assert not run(["QUİT".encode()], stops=("quit", "qui̇t"))[0].stopped


def test_spans_keep_the_origin_of_each_token():
    """E16"""
    stream = TextStream({0: b"a", 1: b"b", 2: b"c"}.__getitem__)
    spans, _ = stream.feed((0, 1, 2), (Origin.DRAFT, Origin.DRAFT, Origin.TARGET))
    assert spans == (Span("ab", Origin.DRAFT), Span("c", Origin.TARGET))
