"""The one line that goes away, and the lines of a bench and a tune drawn with it."""

import io

from localspec.measure.arms import Arm, Prompt, Slot
from localspec.measure.bench import Progress
from localspec.ui.bench_progress import BenchLine
from localspec.ui.status_line import REDRAW_S, StatusLine
from localspec.ui.terminal import Terminal
from localspec.ui.tune_progress import TuneLine

ERASED = "\r\x1b[K"


def _terminal() -> Terminal:
    return Terminal(io.StringIO(), io.StringIO(), err_ansi=True, many_colours=False)


def _written(terminal: Terminal) -> str:
    assert isinstance(terminal.err, io.StringIO)
    return terminal.err.getvalue()


def _progress(done: int) -> Progress:
    slot = Slot(0, "code", 0, Prompt("a", (1,)), Arm(), 0)
    return Progress(done, 9, slot, None, None, None)


def test_a_line_is_erased_once_and_only_if_it_was_drawn() -> None:
    terminal = _terminal()
    with StatusLine(terminal, shown=True):
        pass
    assert _written(terminal) == ""
    with StatusLine(terminal, shown=True) as line:
        line.draw("one")
        line.clear()
    assert _written(terminal).count(ERASED) == 1


def test_a_line_never_reaches_the_last_column(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    terminal = _terminal()
    StatusLine(terminal, shown=True).draw("first", "x" * 90, lead="  0:07 … ")
    StatusLine(terminal, shown=True).draw("y" * 90, lead="  0:07 … ")
    shown = _written(terminal).replace("\x1b[2m", "").replace("\x1b[0m", "").split("\x1b[K")
    assert shown == ["\r  0:07 … first", "\r  0:07 … yyyyyyyyy…", ""]


def test_the_lines_of_a_bench_and_a_tune_are_drawn_no_more_often_than_can_be_read() -> None:
    for kind in (BenchLine, TuneLine):
        terminal, now = _terminal(), [0.0]
        with kind(terminal, clock=lambda now=now: now[0]) as line:
            show = line if isinstance(line, BenchLine) else line.progress
            for done in range(9):
                now[0] = done * REDRAW_S / 3
                show(_progress(done))
        drawn = [part for part in _written(terminal).split("\x1b[K") if "of 9" in part]
        assert [part.split(" of 9")[0][-1] for part in drawn] == ["0", "3", "6"]
        assert _written(terminal).endswith(ERASED)


def test_a_line_that_stays_takes_the_other_away_first() -> None:
    terminal = _terminal()
    with BenchLine(terminal) as line:
        line(_progress(1))
        line.say("disturbed")
    assert _written(terminal).endswith(f"{ERASED}disturbed\n")
