"""A line that moves while something is waited for, and is gone without a trace afterwards.

Knows a terminal and a clock of its own. Does not know what is waited for. Draws from a thread,
since whoever waits is deep in the engine's native code.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from localspec.ui.cells import clip
from localspec.ui.terminal import Terminal, Tone

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ASCII_FRAMES = "|/-\\"
FRAME_S = 0.1
_ERASE = "\r\x1b[K"


class Waiting:
    """Show that something goes on: only on a terminal, and not with `quiet`."""

    def __init__(self, terminal: Terminal, text: str, *, quiet: bool = False) -> None:
        self._terminal = terminal
        self._text = text
        self._done = Event()
        self._lock = Lock()
        self._frame = 0
        self._drawn = False
        shown = terminal.live and not quiet
        self._thread = Thread(target=self._run, daemon=True) if shown else None

    def __enter__(self) -> Self:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
            if self._drawn:
                self._write(_ERASE)
                self._drawn = False
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
        frames = FRAMES if self._terminal.unicode else ASCII_FRAMES
        text = self._text if "…" in self._text else f"{self._text} …"
        line = clip(f" {frames[self._frame % len(frames)]} {text}", self._terminal.width() - 1)
        self._write(f"\r{self._terminal.paint(line, Tone.DIM)}\x1b[K")
        self._frame += 1
        self._drawn = True

    def _write(self, text: str) -> None:
        self._terminal.err.write(text)
        self._terminal.err.flush()
