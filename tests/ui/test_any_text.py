"""Whatever is written, however it is cut and timed: the screen holds the text, once."""

import io
from dataclasses import dataclass

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal import Recorder

from localspec.ui.screen import Screen
from localspec.ui.terminal import Terminal, Tone

LINE = " 8.1 tok/s"


class Sink(io.StringIO):
    """A stream that a terminal emulator reads, new lines translated as a terminal does."""

    def __init__(self, stream):
        super().__init__()
        self._stream = stream

    def write(self, text):
        self._stream.feed(text.replace("\n", "\r\n"))
        return len(text)


@dataclass(frozen=True)
class Emulated(Terminal):
    """A terminal of a known width."""

    columns: int = 80

    def width(self):
        return self.columns


def emulator(columns, rows):
    shown = Recorder(columns, rows)
    sink = Sink(pyte.Stream(shown))
    flags = {"out_ansi": True, "err_ansi": True, "shown": True, "live": True}
    return shown, Emulated(sink, sink, columns=columns, **flags)


def everything(shown):
    rows = [*shown.history.top, *(shown.buffer[y] for y in range(shown.lines))]
    lines = ["".join(row[x].data for x in range(shown.columns)).rstrip() for row in rows]
    return "\n".join(lines).rstrip("\n")


@settings(max_examples=150, deadline=None)
@given(
    pieces=st.lists(st.tuples(st.text("ab c\n\t模🙂ş", max_size=9), st.booleans()), max_size=40),
    columns=st.integers(12, 24),
    rows=st.integers(3, 6),
)
def test_the_screen_holds_the_same_as_without_a_live_line(pieces, columns, rows):
    """N01, N02"""
    now = [0.0]
    shown, terminal = emulator(columns, rows)
    screen = Screen(terminal, lambda: now[0])
    for number, (text, frame) in enumerate(pieces):
        screen.write(text, Tone.DRAFT)
        now[0] += 0.11 if frame else 0.0
        screen.live(f"{LINE} {number}"[: columns - 1])
    screen.close()
    plain, bare = emulator(columns, rows)
    text = "".join(piece for piece, _ in pieces)
    bare.out.write(text if text.endswith("\n") or not text else f"{text}\n")
    assert everything(shown) == everything(plain)


def test_the_live_line_really_is_on_the_screen_meanwhile():
    """N01"""
    shown, terminal = emulator(20, 4)
    screen = Screen(terminal, iter(range(100)).__next__)
    for _ in range(6):
        screen.write("text\n")
        screen.write("more")
        screen.live(LINE)
        assert shown.display[shown.cursor.y].startswith("more")
        assert shown.display[shown.cursor.y + 1].startswith(LINE)
        screen.write("\n")
    screen.close()
    assert LINE not in everything(shown)


@pytest.mark.parametrize("rows", [1, 2])
def test_live_rows_of_an_unfinished_block_leave_with_it(rows):
    shown, terminal = emulator(20, 5)
    screen = Screen(terminal, iter(range(100)).__next__)
    screen.write("one\ntwo\nthree\nfour\n")
    screen.live("\n".join(["tail"] * rows + [LINE]))
    assert sum("tail" in line for line in shown.display) == rows
    screen.close()
    assert everything(shown) == "one\ntwo\nthree\nfour"
