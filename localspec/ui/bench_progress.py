"""The line below a bench: what is being measured, the present estimate, the time left.

Knows a terminal and progress. Off a terminal it writes a line per tenth, and nothing with --quiet.
"""

import time
from collections.abc import Callable
from typing import Self

from localspec.measure.bench import Progress
from localspec.ui.status_line import StatusLine
from localspec.ui.terminal import Terminal

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
        self._terminal, self._quiet = terminal, quiet
        self._line = StatusLine(terminal, shown=terminal.err_ansi and not quiet, clock=clock)
        self._tenth = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._line.clear()

    def __call__(self, progress: Progress) -> None:
        """Show where the bench stands."""
        if self._quiet:
            return
        if self._terminal.err_ansi:
            if self._line.due:
                self._line.draw(*words(progress))
            return
        tenth = TENTHS * progress.done // max(progress.total, 1)
        if tenth > self._tenth:
            self._tenth = tenth
            self._terminal.say(" · ".join(words(progress)))

    def say(self, text: str) -> None:
        """Write a line that stays."""
        self._line.clear()
        if not self._quiet:
            self._terminal.say(text)


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
