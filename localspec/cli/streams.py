"""Standard streams and signals: UTF-8 whatever the locale, closed pipes, termination.

Knows the process around a command. Does not know what is written.
"""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import FrameType

INTERRUPTED = 130
READER_GONE = 141
TERMINATED = 143


AGAIN_S = 0.02
ENDING = ("SIGTERM", "SIGHUP")


class Terminated(BaseException):
    """The process was asked to end."""


SIGNAL_OF = {KeyboardInterrupt: signal.SIGINT, Terminated: signal.SIGTERM}


class _Best(TextIOWrapper):
    """Standard error as well as it goes: a full disk behind it must not cost the answer."""

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def lenient_stderr() -> None:
    """Never fail for what is said beside the answer; for a process of our own only."""
    if isinstance(sys.stderr, TextIOWrapper):
        raw = sys.stderr.detach()
        sys.stderr = _Best(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)


def prepare() -> None:
    """Make stdin, stdout and stderr usable and UTF-8, even where they are closed.

    A byte that is no UTF-8 arrives as one U+FFFD; a lone surrogate leaves as its escape.
    """
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream, errors in (
        (sys.stdin, "replace"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, TextIOWrapper):
            with suppress(ValueError, OSError):
                stream.reconfigure(encoding="utf-8", errors=errors)


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM, and a closed terminal, into `Terminated`: resources are given back.

    What the process was started to ignore (nohup) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_terminated(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    known = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    before = {each: signal.getsignal(each) for each in known}
    heard = [each for each in known if before[each] is not signal.SIG_IGN]
    for each in heard:
        signal.signal(each, raise_terminated)
    hook, sys.unraisablehook = sys.unraisablehook, _send_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for each in heard:
            signal.signal(each, before[each])


def _send_to_main(number: signal.Signals) -> None:
    if hasattr(signal, "pthread_kill"):  # this wakes the thread as well
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(number)


def _send_again(lost: "sys.UnraisableHookArgs") -> None:
    """Take an exception of a signal that arrived inside a callback of native code.

    It cannot pass through that code, so the signal comes again a moment later.
    """
    number = SIGNAL_OF.get(lost.exc_type)
    if number is None:
        sys.__unraisablehook__(lost)
        return
    waiting = True
    while waiting:
        try:
            later = threading.Timer(AGAIN_S, _send_to_main, (number,))
            later.daemon = True
            later.start()
            waiting = False
        except (KeyboardInterrupt, Terminated):
            continue  # it came again while this was under way, and would be lost here as well


def finish() -> None:
    """Write out what is still held back.

    Raises: BrokenPipeError when nobody reads any more.
    """
    sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.flush()


def let_go() -> None:
    """Write out what is left, or drop it: the way out of the interpreter must be silent."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        reader_gone()


def reader_gone() -> int:
    """Throw away what nobody will read, so that leaving is silent too."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return READER_GONE
