"""The line that moves while a model is loaded."""

import io
import re
import sys
from pathlib import Path

from terminal import run

from localspec.ui.terminal import Terminal
from localspec.ui.waiting import Waiting

ROOT = Path(__file__).parents[2]
LOAD = """
import sys, time
from localspec.ui.terminal import open_terminal
from localspec.ui.waiting import Waiting
terminal = open_terminal()
with Waiting(terminal, "loading", quiet="quiet" in sys.argv) as waiting:
    time.sleep(0.3)
    waiting.telling(terminal.say)("a note")
    waiting.show("loading the target", 0.42)
    time.sleep(0.7)
terminal.say("ready")
"""


def started(*words, **env):
    return run([sys.executable, "-c", LOAD, *words], 10, 60, {"PYTHONPATH": str(ROOT), **env})


def test_at_least_five_frames_show_that_something_goes_on_and_leave_no_trace():
    """L03"""
    term = started()
    assert term.finish() == 0
    assert len(set(re.findall("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", term.raw.decode()))) >= 5
    assert "loading the target … 42%" in term.raw.decode()
    assert term.lines() == ["a note", "ready"]


def test_nothing_moves_with_quiet_or_without_escapes():
    """L03"""
    for term in (started("quiet"), started(NO_COLOR="1"), started(TERM="dumb")):
        assert term.finish() == 0
        assert term.raw.decode().splitlines() == ["a note", "ready"]


def test_off_a_terminal_nothing_is_written():
    err = io.StringIO()
    with Waiting(Terminal(io.StringIO(), err), "loading") as waiting:
        waiting.show("loading", 0.5)
    assert err.getvalue() == ""
