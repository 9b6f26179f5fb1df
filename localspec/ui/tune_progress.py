"""What a tune is doing: done steps stay as lines, the present one is a line that goes away.

Knows a terminal. Off a terminal only done steps are written, and nothing with --quiet.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from localspec.measure.bench import Progress
from localspec.ui.bench_progress import REDRAW_S, words
from localspec.ui.cells import fit_fields
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
        self._shown_at = float("-inf")
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clear()

    def say(self, text: str) -> None:
        """Show what goes on now."""
        self._draw([text])

    def done(self, text: str) -> None:
        """Write a step that is done, with the time since the begin."""
        if self._quiet:
            return
        self._clear()
        mark = "✓" if self._terminal.unicode else "ok"
        shown = self._terminal.paint(mark, Tone.GOOD)
        spent = self._terminal.paint(f"{self._spent():>6}", Tone.DIM)
        self._terminal.say(f"{spent} {shown} {_plain(text, self._terminal.unicode)}")

    def progress(self, progress: Progress) -> None:
        """Show where the trial stands."""
        if self._clock() - self._shown_at >= REDRAW_S:
            self._draw(words(progress))

    def _spent(self) -> str:
        minutes, seconds = divmod(int(self._clock() - self._began), 60)
        return f"{minutes}:{seconds:02d}"

    def _draw(self, fields: list[str]) -> None:
        if self._quiet or not self._terminal.err_ansi:
            return
        self._shown_at = self._clock()
        dots = "…" if self._terminal.unicode else ".."
        line = fit_fields(fields, width=self._terminal.width() - 12)
        shown = f"{self._spent():>6} {dots} {line}"
        self._terminal.err.write(f"\r\x1b[K{self._terminal.paint(shown, Tone.DIM)}")
        self._terminal.err.flush()
        self._drawn = True

    def _clear(self) -> None:
        if self._drawn:
            self._terminal.err.write("\r\x1b[K")
            self._terminal.err.flush()
            self._drawn = False


def _plain(text: str, unicode: bool) -> str:
    return text if unicode else text.replace("γ", "g").replace("×", "x")
