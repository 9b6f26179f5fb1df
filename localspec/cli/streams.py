"""Standard streams and signals: UTF-8 whatever the locale, closed pipes, termination.

Knows the process around a command. Does not know what is written.
"""

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


class Terminated(BaseException):
    """The process was asked to end."""


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
    """Turn SIGTERM into `Terminated`, so that resources are given back on the way out."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_terminated(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def finish() -> None:
    """Write out what is still held back.

    Raises: BrokenPipeError when nobody reads any more.
    """
    sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.flush()


def reader_gone() -> int:
    """Throw away what nobody will read, so that leaving is silent too."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return READER_GONE
