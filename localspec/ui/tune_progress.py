"""What a tune is doing: done steps stay as lines, the present one is a line that goes away.

Knows a terminal. Off a terminal only done steps are written, and nothing with --quiet.
"""

import time
from collections.abc import Callable
from typing import Self

from localspec.measure.bench import Progress
from localspec.ui.bench_progress import words
from localspec.ui.status_line import StatusLine
from localspec.ui.terminal import Terminal, Tone


class TuneLine:
    """Show a tune while it runs."""

    def __init__(
        self,
        terminal: Terminal,
        *,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terminal, self._quiet, self._clock = terminal, quiet, clock
        self._began = clock()
        self._line = StatusLine(terminal, shown=terminal.err_ansi and not quiet, clock=clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._line.clear()

    def say(self, text: str) -> None:
        """Show what goes on now."""
        self._draw([text])

    def done(self, text: str) -> None:
        """Write a step that is done, with the time since the begin."""
        if self._quiet:
            return
        self._line.clear()
        mark = "✓" if self._terminal.unicode else "ok"
        shown = self._terminal.paint(mark, Tone.GOOD)
        spent = self._terminal.paint(f"{self._spent():>6}", Tone.DIM)
        self._terminal.say(f"{spent} {shown} {_plain(text, self._terminal.unicode)}")

    def progress(self, progress: Progress) -> None:
        """Show where the trial stands."""
        if self._line.due:
            self._draw(words(progress))

    def _spent(self) -> str:
        minutes, seconds = divmod(int(self._clock() - self._began), 60)
        return f"{minutes}:{seconds:02d}"

    def _draw(self, fields: list[str]) -> None:
        dots = "…" if self._terminal.unicode else ".."
        self._line.draw(*fields, lead=f"{self._spent():>6} {dots} ")


def _plain(text: str, unicode: bool) -> str:
    return text if unicode else text.replace("γ", "g").replace("×", "x")
