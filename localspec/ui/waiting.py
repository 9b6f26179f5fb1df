"""A line that moves while something is waited for, and is gone without a trace afterwards.

Knows a terminal and a clock of its own. Does not know what is waited for. Draws from a thread,
since whoever waits is deep in the engine's native code.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Self

from localspec.ui.status_line import StatusLine
from localspec.ui.terminal import Terminal

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ASCII_FRAMES = "|/-\\"
FRAME_S = 0.1


class Waiting:
    """Show that something goes on: only on a terminal, and not with `quiet`."""

    def __init__(self, terminal: Terminal, text: str, *, quiet: bool = False) -> None:
        shown = terminal.live and not quiet
        self._frames = FRAMES if terminal.unicode else ASCII_FRAMES
        self._text = text
        self._line = StatusLine(terminal, shown=shown)
        self._done = Event()
        self._lock = Lock()
        self._frame = 0
        self._thread = Thread(target=self._run, daemon=True) if shown else None

    def __enter__(self) -> Self:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()
        with self.aside():
            pass

    def show(self, text: str, share: float | None = None) -> None:
        """Say what is waited for now, and which share of it is done."""
        self._text = text if share is None else f"{text} … {share:.0%}"

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the line away while something else is written."""
        with self._lock:
            self._line.clear()
            yield

    def telling(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """Give a `say` that may be used while the line is there."""

        def told(text: str) -> None:
            with self.aside():
                say(text)

        return told

    def _run(self) -> None:
        while not self._done.is_set():
            with self._lock:
                self._draw()
            self._done.wait(FRAME_S)

    def _draw(self) -> None:
        text = self._text if "…" in self._text else f"{self._text} …"
        self._line.draw(text, lead=f" {self._frames[self._frame % len(self._frames)]} ")
        self._frame += 1
