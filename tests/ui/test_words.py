"""Numbers and words of readout, summary, tables and commands, without a terminal."""

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import ScriptedRuntime, saying

from localspec.chat.session import ChatSession
from localspec.core.events import FinishReason, Origin, Step
from localspec.core.tally import Baseline, Tally
from localspec.core.theory import curve, interpolated
from localspec.ui.cells import Column, Neutraliser, clip, width_of
from localspec.ui.commands import Call, Message, Unknown, parse
from localspec.ui.markdown import Blocks
from localspec.ui.readout import Readout, SpeedWindow, summary, verdict
from localspec.ui.screen import Screen
from localspec.ui.stats import stats
from localspec.ui.tables import broken, curve_chart, facts, table
from localspec.ui.terminal import Terminal


def step(tokens=1, seconds=0.1, drafted=0, accepted=0, judged=0):
    origins = (Origin.DRAFT,) * accepted + (Origin.TARGET,) * (tokens - accepted)
    return Step(
        tokens=tuple(range(tokens)),
        origins=origins,
        position=0,
        drafter="lookup" if drafted else "",
        drafted=drafted,
        judged=judged,
        accepted=accepted,
        verify_s=seconds,
        baseline=not drafted,
    )


def tallied(*steps):
    tally = Tally(baseline=Baseline())
    readout = Readout(tally)
    for each in steps:
        tally.add(each)
        readout.add(each)
    return tally, readout


PAYS = [step(1, 0.1), *[step(4, 0.12, 4, 3, 4)] * 10]
LOSES = [step(1, 0.1), *[step(1, 0.2, 4, 0, 1)] * 10]


def test_bursts_of_eight_every_400_ms_show_20_tokens_per_second():
    """E07"""
    window = SpeedWindow()
    for _ in range(30):
        window.add(step(8, 0.4))
        assert window.tokens_per_s == pytest.approx(20, rel=0.1)


def test_the_window_follows_a_change_of_speed_within_about_a_second():
    """E07"""
    window = SpeedWindow()
    for _ in range(100):
        window.add(step(1, 0.1))
    for _ in range(12):
        window.add(step(2, 0.1))
    assert window.tokens_per_s == pytest.approx(20, rel=0.1)


def test_tokens_are_counted_by_id_not_by_round():
    """E06"""
    tally, _ = tallied(*PAYS)
    assert summary(tally, FinishReason.STOP, 200).startswith(" 41 tokens in 1.3 s · 31.5 tok/s")


def test_without_a_measured_baseline_no_speedup_is_guessed():
    _, readout = tallied(*[step(4, 0.12, 4, 3, 4)] * 3)
    assert "· × … ·" in readout.line(120)


def test_the_live_line_has_every_field_and_loses_them_from_the_right():
    _, readout = tallied(*PAYS)
    whole = readout.line(120)
    assert whole == (
        " 33.3 tok/s · 3.33× plain (10.0, measured 40 tok ago) · accepted 75 % · 3.7/pass · γ 4"
    )
    seen = {readout.line(width) for width in range(12, 121)}
    starts = [line.split(" · ")[0] for line in seen]
    assert all(start.startswith(" 33.3") or start.endswith("…") for start in starts)
    assert all(width_of(readout.line(width)) < width for width in range(3, 121))


def test_the_line_that_stays_says_accepted_of_judged_and_what_was_saved():
    """E08, E01"""
    tally, _ = tallied(*PAYS)
    assert summary(tally, FinishReason.STOP, 200) == (
        " 41 tokens in 1.3 s · 31.5 tok/s · 3.15× plain · accepted 30 of 40 judged (75 %)"
        " · saved 2.8 s"
    )
    assert "accepted 75 %" in summary(tally, FinishReason.STOP, 79)


def test_an_answer_that_took_longer_says_lost_and_why_in_numbers():
    """F04"""
    tally, _ = tallied(*LOSES)
    assert "lost 1.0 s" in summary(tally, FinishReason.STOP, 200)
    assert verdict(tally) == (
        "Guessing did not pay here: a draft token costs 25.0 ms and saves 0.0 ms "
        "(0.52× plain). /plain leaves it off."
    )


def test_what_was_saved_is_left_out_while_it_rounds_to_nothing():
    """The sign would be noise: `0.99× plain · saved 0.0 s` says two things."""
    tally, _ = tallied(*[step(1, 0.1)] * 9, step(2, 0.16, 2, 1, 2))
    line = summary(tally, FinishReason.STOP, 200)
    assert "plain" in line
    assert "saved 0.0" not in line
    assert "lost" not in line


def test_the_line_that_stays_and_the_counters_tell_one_speedup():
    tally, _ = tallied(*[step(1, 0.1)] * 9, *[step(1, 0.2, 3, 0, 1)] * 20)
    found = tally.speedup_estimate()
    assert f"{found.value:.2f}× plain" in summary(tally, FinishReason.STOP, 200)


def test_an_answer_that_paid_is_left_without_comment():
    assert verdict(tallied(*PAYS)[0]) == ""


def test_plain_decoding_says_so():
    tally, readout = tallied(*[step(1, 0.1)] * 9)
    assert readout.line(80) == " 10.0 tok/s · nothing guessed"
    assert summary(tally, FinishReason.LENGTH, 80).endswith("nothing guessed")


def test_stats_fit_narrow_terminals_and_show_every_account():
    chat = ChatSession(ScriptedRuntime(saying("some words " * 20)))
    reply = list(chat.reply("x"))[-1]
    for width in (30, 50, 100):
        assert all(width_of(line) <= width for line in stats(reply, width))
    whole = "\n".join(stats(reply, 100))
    assert "by lookup" in whole
    assert "█" in whole
    assert "█" not in "\n".join(stats(reply, 100, unicode=False))


def test_one_token_one_pass_and_one_round_are_not_many():
    chat = ChatSession(ScriptedRuntime(saying("x" * 9)))
    reply = list(chat.reply("x"))[-1]
    tally = Tally(baseline=Baseline(), prompt=1)
    tally.add(step(1, 0.1, 1, 0, 1))
    said = "\n".join(stats(replace(reply, tally=tally), 100))
    assert "1 target pass ·" in said or "1 target pass\n" in said
    assert "1 token ·" in said
    assert "1 round ·" in said


def test_the_chart_of_predict_has_17_rows_and_names_the_best():
    points = curve(0.7, 0.1)
    lines = curve_chart(points, 80)
    assert len(lines) == 18
    assert [line.split()[0] for line in lines if line.endswith("best")] == ["4"]
    plain = "\n".join(curve_chart(points, 80, unicode=False))
    assert plain.isascii()
    steep = curve_chart(curve(0.1, 1.0, verify=interpolated([1, 2])), 30)
    assert all(width_of(line) <= 30 for line in steep)


def test_tables_align_wide_characters_and_lose_columns_from_the_right():
    rows = [["name", "size"], ["模型", "1"], ["abc", "1000"]]
    assert table(rows, 40, left=frozenset({0})) == ["  name  size", "  模型     1", "  abc   1000"]
    assert table(rows, 9, left=frozenset({0})) == ["  name", "  模型", "  abc"]


def test_a_sentence_breaks_between_words_and_loses_none():
    sentence = "Guessing did not pay here: a draft token costs 25.0 ms. /plain leaves it off."
    for width in (12, 30, 60):
        lines = broken(sentence, width)
        assert " ".join(lines) == sentence
        assert all(width_of(line) <= width for line in lines)
    assert broken("supercalifragilistic x", 5) == ["supercalifragilistic", "x"]


def test_facts_break_between_fields():
    assert facts([("a", "one two · three"), ("bb", "x")], 18) == [
        "  a   one two",
        "      three",
        "  bb  x",
    ]


@given(st.text(max_size=30), st.integers(0, 40))
def test_clipping_never_exceeds_the_width(text, width):
    assert width_of(clip(text, width)) <= width


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("hello", Message("hello")),
        ("/quit", Call("quit", "")),
        ("/QUIT ", Call("quit", "")),
        ("/Set temp 0", Call("set", "temp 0")),
        ("/QUİT", Unknown("QUİT", "")),
        ("/gama 3", Unknown("gama", "gamma")),
        ("//x", Message("/x")),
        ("/quit\nand more", Message("/quit\nand more")),
        (" /quit", Message(" /quit")),
        ("/", Unknown("", "")),
    ],
)
def test_lines_are_commands_or_messages(line, meant):
    """D16"""
    assert parse(line) == meant


@given(st.text("a\r\n\x1b\x9b🙂", max_size=12), st.data())
def test_control_characters_become_visible_however_the_text_is_split(text, data):
    at = data.draw(st.integers(0, len(text)))
    parts, whole = Neutraliser(), Neutraliser()
    split = parts(text[:at]) + parts(text[at:]) + parts.flush()
    assert split == whole(text) + whole.flush()
    assert not set(split) & set("\r\x1b\x9b")


@given(st.text("ab \n🙂模", max_size=60), st.data())
def test_blocks_of_markdown_join_to_the_text(text, data):
    at = data.draw(st.integers(0, len(text)))
    blocks = Blocks()
    found = [*blocks.feed(text[:at]), *blocks.feed(text[at:]), *blocks.flush()]
    assert "".join(found).split() == text.split()


def test_a_fence_keeps_its_blank_lines_in_one_block():
    assert Blocks().feed("```\na\n\nb\n```\n\nnext") == ["```\na\n\nb\n```\n\n"]


def test_a_row_that_is_exactly_full_is_not_certain():
    column = Column(4)
    column.feed("abcd")
    assert not column.certain
    assert not Column(4, 2).fits("cd")
    assert Column(4, 2).fits("c")


def test_joined_emoji_make_a_position_uncertain_until_the_next_line():
    column = Column(20)
    column.feed("👨‍👩‍👧")
    assert column.slack > 0
    column.feed("\n")
    assert (column.at, column.slack) == (0, 0)


def test_text_waits_for_a_frame_only_when_it_would_move_the_live_line():
    now = [0.0]
    out = io.StringIO()
    terminal = Terminal(out, io.StringIO(), out_ansi=True, err_ansi=True, shown=True, live=True)
    screen = Screen(terminal, lambda: now[0])
    screen.write("a")
    screen.live("line 1")
    screen.write("b")
    assert out.getvalue() == "ab"
    screen.write("\nc")
    screen.live("line 2")
    assert out.getvalue() == "ab"
    now[0] = 0.1
    screen.live("line 2")
    assert out.getvalue() == "ab\nc"
    assert screen.redraws == 2
    screen.write("\nd")
    screen.close()
    assert out.getvalue() == "ab\nc\nd\n"
