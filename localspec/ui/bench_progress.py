"""The line below a bench: what is being measured, the present estimate, the time left.

Knows a terminal and progress. Off a terminal it writes a line per tenth, and nothing with --quiet.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from localspec.measure.bench import Progress
from localspec.ui.cells import fit_fields
from localspec.ui.terminal import Terminal, Tone

REDRAW_S = 0.1
TENTHS = 10


class BenchLine:
    """Show progress while a bench runs; the line is gone when it ends."""

    def __init__(
        self,
        terminal: Terminal,
        *,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terminal, self._quiet, self._clock = terminal, quiet, clock
        self._shown_at = float("-inf")
        self._tenth = -1
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def __call__(self, progress: Progress) -> None:
        """Show where the bench stands."""
        if self._quiet:
            return
        if self._terminal.err_ansi:
            now = self._clock()
            if now - self._shown_at >= REDRAW_S:
                self._shown_at = now
                self._draw(words(progress))
            return
        tenth = TENTHS * progress.done // max(progress.total, 1)
        if tenth > self._tenth:
            self._tenth = tenth
            self._terminal.say(" · ".join(words(progress)))

    def say(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        if not self._quiet:
            self._terminal.say(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._drawn:
            self._terminal.err.write("\r\x1b[K")
            self._terminal.err.flush()
            self._drawn = False

    def _draw(self, fields: list[str]) -> None:
        line = fit_fields(fields, width=self._terminal.width() - 1)
        self._terminal.err.write(f"\r\x1b[K{self._terminal.paint(line, Tone.DIM)}")
        self._terminal.err.flush()
        self._drawn = True


def words(progress: Progress) -> list[str]:
    """Give the fields of the line, the most important first."""
    slot = progress.slot
    fields = [f"{progress.done} of {progress.total}", f"{slot.kind}, {slot.arm.label}"]
    if progress.left_s is not None:
        fields.append(f"{_duration(progress.left_s)} left")
    if progress.estimate is not None and progress.best is not None:
        fields.append(f"best so far {progress.best.label}: {progress.estimate:.2f}×")
    return fields


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0.0)), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
