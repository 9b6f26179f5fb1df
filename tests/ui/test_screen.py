"""The streamed text in a pseudo-terminal: every line once, and nothing else left over."""

import re

import pytest
from terminal import chat, shell

LINES = [f"line {n:03d} of the answer" for n in range(400)]


def numbered(text):
    return re.findall(r"line (\d{3}) of the answer", text)


def test_four_hundred_lines_on_24_rows_come_each_once_in_order_without_a_readout_left():
    """N01"""
    term = chat(rows=24, answers=["\n".join(LINES)], block=16, once="x")
    assert term.finish() == 0
    assert numbered(term.text()) == [f"{n:03d}" for n in range(400)]
    left = [line for line in term.lines() if not line.startswith("line ")]
    assert len(left) == 1
    assert "tokens in" in left[0]


def test_two_hundred_long_lines_on_80_by_10_equal_the_text():
    """N01"""
    lines = [f"{n:03d} " + "long words that wrap " * 5 for n in range(200)]
    term = chat(rows=10, answers=["\n".join(lines)], block=24, once="x")
    assert term.finish() == 0
    shown = "".join(term.lines()[:-1]).replace(" ", "")
    assert shown == "".join(lines).replace(" ", "")


def test_text_that_fills_rows_exactly_loses_no_character():
    """N01"""
    text = "".join(chr(97 + n % 26) for n in range(80 * 30))
    term = chat(rows=10, answers=[text], block=8, once="x")
    assert term.finish() == 0
    assert "".join(term.lines()[:-1]) == text


@pytest.mark.parametrize("block", [3, 16])
def test_wide_characters_and_emoji_are_shown_once(block):
    """N02"""
    lines = [f"{n:03d} 模型说你好 🙂🙃 şığ" for n in range(60)]
    term = chat(rows=12, answers=["\n".join(lines)], block=block, once="x")
    assert term.finish() == 0
    shown = re.sub(r"\s", "", "".join(term.lines()[:-1]))
    assert shown == re.sub(r"\s", "", "".join(lines))


def test_a_resize_from_80_to_40_in_the_middle_duplicates_nothing():
    """N02"""
    term = chat(rows=20, answers=["\n".join(f"{line} 🙂" for line in LINES[:150])], once="x")
    term.wait_for("line 040")
    term.resize(20, 40)
    assert term.finish() == 0
    found = numbered(term.text())
    assert found == sorted(set(found))
    assert found[-1] == "149"
    assert sum("tok/s" in line for line in term.lines()) == 1


def test_the_live_line_shows_speed_baseline_and_acceptance_and_goes_when_the_answer_ends():
    term = chat(answers=["word " * 60], pass_s=0.02, once="x")
    term.wait_for("× plain (")
    live = term.lines()[-1]
    assert re.fullmatch(
        r" [\d.]+ tok/s · [\d.]+× plain \([\d.]+, (measured )?\d+ tok ago\)"
        r" · accepted \d+ % · [\d.]+/pass · γ 4",
        live,
    ), live
    assert term.finish() == 0
    assert "tok ago" not in term.text()
    assert re.search(r" 301 tokens in [\d.]+ s · [\d.]+ tok/s · [\d.]+× plain", term.text())


def test_at_most_ten_redraws_a_second():
    """N03"""
    term = chat(answers=["word " * 400], pass_s=0.005, once="x")
    term.finish()
    seconds = float(re.search(r"tokens in ([\d.]+) s", term.text())[1])
    wall = 3 * max(seconds, 1)  # the machine may be busy: rounds last longer than they say
    assert 2 <= term.raw.count(b"\x1b8") <= 10 * wall


def test_brackets_in_model_text_are_shown_as_they_are():
    """N05"""
    text = "[/INST] [red]x [id].tsx [/] [bold]"
    term = chat(answers=[text], once="x")
    assert term.finish() == 0
    assert term.lines()[0] == text


def test_escapes_in_model_text_do_not_reach_the_terminal():
    text = "a\x1b[2Jb\x1b]0;title\x07c\rd\x9be\x7f\r\nnext"
    term = chat(answers=[text], once="x")
    assert term.finish() == 0
    assert term.lines()[:2] == ["a␛[2Jb␛]0;title␇c␍d<9b>e␡", "next"]


def test_guessed_text_is_amber_and_the_targets_is_blue():
    """E16"""
    term = chat(answers=["abcdefghij"], once="x")
    term.finish()
    row = term.screen.buffer[0]
    # The first pass is plain, then three guesses and one of the target's own.
    colours = [row[x].fg for x in range(9)]
    amber, blue = colours[1], colours[0]
    assert amber != blue
    assert colours == [blue, amber, amber, amber, blue, amber, amber, amber, blue]


def test_guessed_text_can_be_underlined():
    """E16"""
    term = chat(answers=["abcdefghij"], mark="underline", once="x")
    term.finish()
    row = term.screen.buffer[0]
    assert [row[x].underscore for x in range(5)] == [False, True, True, True, False]


def test_without_colour_guessed_text_stands_in_brackets():
    """E16"""
    term = chat(answers=["abcdefghi"], mark="underline", once="x", env={"NO_COLOR": "1"})
    term.finish()
    assert term.lines()[0] == "a[bcd]e[fgh]i"


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_escape_byte_where_none_is_wanted(env):
    """N06"""
    term = chat(answers=["some text\nmore"], once="x", env=env)
    assert term.finish() == 0
    assert b"\x1b" not in term.raw
    assert term.lines()[:2] == ["some text", "more"]
    assert "tokens in" in term.lines()[2]


def test_piped_into_cat_there_is_no_escape_byte_and_stdout_is_the_answer_only(tmp_path):
    """N06"""
    term = shell(
        f"CHAT | cat > {tmp_path}/out; cat {tmp_path}/out", answers=["ığ\x1b[0m"], once="x"
    )
    term.finish()
    assert (tmp_path / "out").read_bytes() == "ığ\x1b[0m\n".encode()
    plain = shell("CHAT | cat", answers=["text " * 50], once="x")
    plain.finish()
    assert b"\x1b" not in plain.raw


def test_forced_colour_reaches_a_pipe():
    """N06"""
    term = shell("CHAT 2>/dev/null | cat", answers=["abc"], once="x", color="always")
    term.finish()
    assert b"\x1b[38;5;33ma" in term.raw


def test_colour_never_leaves_no_escape_byte():
    """N06"""
    term = chat(answers=["abc"], once="x", color="never")
    term.finish()
    assert b"\x1b" not in term.raw


def test_a_narrow_terminal_still_gets_whole_fields():
    term = chat(columns=40, answers=["word " * 20], once="x")
    term.finish()
    assert re.fullmatch(r" 101 tokens in [\d.]+ s · [\d.,]+ tok/s", term.lines()[-1])


def test_markdown_is_rendered_block_by_block_and_nothing_is_lost():
    text = (
        "# Title\n\nSome *text* with [/INST].\n\n```python\nx = 1\n\ny = 2\n```\n\n"
        + "\n\n".join(f"Paragraph number {n}." for n in range(60))
    )
    term = chat(rows=12, answers=[text], view="markdown", block=16, once="x")
    assert term.finish() == 0
    shown = term.text()
    assert re.findall(r"Paragraph number (\d+)\.", shown) == [str(n) for n in range(60)]
    assert "[/INST]" in shown
    assert shown.count("x = 1") == shown.count("y = 2") == 1
    assert "```" not in shown


def test_plain_view_has_no_colour_but_a_readout():
    term = chat(answers=["abcdefghij"], view="plain", once="x")
    term.finish()
    assert len({term.screen.buffer[0][x].fg for x in range(9)}) == 1


def test_readout_off_leaves_the_text_alone():
    term = chat(answers=["abcdefghij"], readout=False, once="x")
    term.finish()
    assert term.lines() == ["abcdefghij"]
