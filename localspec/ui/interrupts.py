"""Ctrl+C and Ctrl+Z while an answer is written, and keys that must not show in it.

Knows signals and the terminal's echo. A handler only sets flags: an exception raised inside the
engine's native code would be lost, or leave it half done.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from localspec.chat.partners import Cancel
from localspec.ui.screen import Screen

if sys.platform != "win32":
    import termios

LEAVE_WITHIN_S = 2.0
IMPATIENT = 3


class Interrupts:
    """Count presses of Ctrl+C: one stops the answer, two within 2 s mean to leave."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = float("-inf")
        self._count = 0
        self._cancel: Cancel | None = None
        self._arrived: Callable[[], int] = int
        self.leave = False

    def press(self) -> bool:
        """Take a press in; say whether it was the second within 2 s."""
        now = self._clock()
        self.leave = self.leave or now - self._last < LEAVE_WITHIN_S
        self._last = now
        self._count += 1
        if self._cancel:
            self._cancel.set()
        return self.leave

    def check(self) -> None:
        """Say again that the answer shall stop: beginning it may have cleared the flag."""
        if self._count and self._cancel:
            self._cancel.set()

    @contextmanager
    def answering(self, cancel: Cancel) -> Iterator[None]:
        """Let Ctrl+C stop the answer written inside; a third press ends the program."""
        self._cancel, self._count = cancel, 0
        if threading.current_thread() is not threading.main_thread():  # nobody presses keys there
            yield
            return
        with _counted() as self._arrived:
            before = signal.signal(signal.SIGINT, self._handle)
            try:
                yield
            finally:
                signal.signal(signal.SIGINT, before)
                self._cancel = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        for _ in range(self._arrived()):
            self.press()
        if self._count >= IMPATIENT:
            raise KeyboardInterrupt


@contextmanager
def _counted() -> Iterator[Callable[[], int]]:
    """Give a function that counts the presses since it was last asked.

    Python calls a handler once for all that come while the engine's native code runs, which is
    most of the time; but each one leaves a byte in this socket.
    """
    inside, outside = socket.socketpair()
    with inside, outside:
        inside.setblocking(False)
        outside.setblocking(False)

        def count() -> int:
            with suppress(BlockingIOError):
                return inside.recv(4096).count(signal.SIGINT)
            return 0

        before = signal.set_wakeup_fd(outside.fileno(), warn_on_full_buffer=False)
        try:
            yield count
        finally:
            signal.set_wakeup_fd(before)


@contextmanager
def quiet_keys(screen: Screen) -> Iterator[None]:
    """Keep typed keys out of the answer, and leave the terminal in order on Ctrl+Z.

    What is typed meanwhile is not lost: the next prompt reads it.
    """
    keys = _Echo()
    if not screen.terminal.live or not keys.known:
        yield
        return

    def suspend(number: int, frame: FrameType | None) -> None:
        with suppress(RuntimeError):  # the signal came in the middle of a write
            screen.pause()
        keys.restore()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, suspend)
        keys.hide()
        with suppress(RuntimeError):
            screen.resume()

    before: Any = signal.signal(signal.SIGTSTP, suspend)
    keys.hide()
    try:
        yield
    finally:
        keys.restore()
        signal.signal(signal.SIGTSTP, before)


class _Echo:
    """The terminal's echo of typed keys, where there is such a thing.

    Lines are not edited by the terminal meanwhile either: Enter typed ahead stays Enter.
    """

    def __init__(self) -> None:
        self._before: list[Any] | None = None
        with suppress(NameError, OSError, ValueError, AttributeError, *_termios_errors()):
            self._before = termios.tcgetattr(sys.stdin.fileno())

    @property
    def known(self) -> bool:
        """Say whether echo can be switched."""
        return self._before is not None

    def hide(self) -> None:
        """Switch the echo off."""
        if self._before:
            quiet = [*self._before]
            quiet[0] &= ~termios.ICRNL
            quiet[3] &= ~(termios.ECHO | termios.ICANON)
            self._set(quiet)

    def restore(self) -> None:
        """Give the terminal back as it was."""
        if self._before:
            self._set(self._before)

    def _set(self, attributes: list[Any]) -> None:
        with suppress(*_termios_errors()):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, attributes)


def _termios_errors() -> tuple[type[Exception], ...]:
    return () if sys.platform == "win32" else (termios.error,)
