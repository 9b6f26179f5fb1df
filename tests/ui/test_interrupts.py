"""How presses of Ctrl+C are counted, without a terminal."""

import ctypes
import io
import signal
from threading import Event as Flag
from threading import Thread

import pytest
from scripted import ScriptedRuntime, saying

from localspec.chat.session import ChatSession
from localspec.ui import repl
from localspec.ui.interrupts import Interrupts
from localspec.ui.stream import ChatView
from localspec.ui.terminal import Terminal


def test_two_presses_within_two_seconds_mean_to_leave():
    """K04"""
    now = [0.0]
    interrupts = Interrupts(lambda: now[0])
    assert not interrupts.press()
    now[0] = 2.5
    assert not interrupts.press()
    now[0] = 4.4
    assert interrupts.press()
    assert interrupts.leave


def test_a_press_while_the_answer_begins_is_not_lost_when_the_flag_is_cleared():
    """K01"""
    cancel = Flag()
    interrupts = Interrupts()
    with interrupts.answering(cancel):
        signal.raise_signal(signal.SIGINT)
        assert cancel.is_set()
        cancel.clear()
        interrupts.check()
        assert cancel.is_set()
    with interrupts.answering(cancel):
        cancel.clear()
        interrupts.check()
        assert not cancel.is_set()


def test_two_presses_that_are_told_as_one_mean_to_leave():
    """K04: Python calls a handler once for all signals that come while native code runs."""

    def press_twice():
        ctypes.pythonapi.PyErr_SetInterrupt()
        ctypes.pythonapi.PyErr_SetInterrupt()

    interrupts = Interrupts()
    with interrupts.answering(Flag()):
        presses = Thread(target=press_twice)
        presses.start()
        presses.join()
    assert interrupts.leave


def test_a_press_while_the_one_before_is_answered_leaves_with_130(monkeypatch):
    """K04"""
    session = ChatSession(ScriptedRuntime(saying("x")))
    view = ChatView(Terminal(io.StringIO(), io.StringIO()))

    class Pressed:
        """A prompt at which Ctrl+C is pressed."""

        def read(self, default=""):
            raise KeyboardInterrupt

    def pressed_again(_terminal, _text):
        raise KeyboardInterrupt

    monkeypatch.setattr(repl, "show_note", pressed_again)
    assert repl.Repl(session, view, Pressed()).run() == 130


def test_a_third_press_ends_a_program_that_does_not_listen():
    """K04"""
    with Interrupts().answering(Flag()):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
