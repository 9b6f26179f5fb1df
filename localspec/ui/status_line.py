"""One line on a terminal that says what goes on now, and is gone without a trace afterwards.

Knows a terminal and how often a line may be drawn. Does not know what it says. Apart from the bars
of a download, so that whoever needs a line does not import those.
"""

import time
from collections.abc import Callable
from typing import Self

from localspec.ui.cells import clip, fit_fields
from localspec.ui.terminal import Terminal, Tone

REDRAW_S = 0.1
_ERASE = "\r\x1b[K"


class StatusLine:
    """Draw the line where it is `shown`; elsewhere nothing is written."""

    def __init__(
        self, terminal: Terminal, *, shown: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._terminal, self._shown, self._clock = terminal, shown, clock
        self._drawn_at = float("-inf")
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.clear()

    @property
    def due(self) -> bool:
        """Say whether the line is old enough to be drawn again."""
        return self._shown and self._clock() - self._drawn_at >= REDRAW_S

    def draw(self, *fields: str, lead: str = "") -> None:
        """Write `lead` and as many fields as there is room for over what the line said."""
        if not self._shown:
            return
        self._drawn_at = self._clock()
        room = self._terminal.width() - 1
        line = clip(lead + fit_fields(list(fields), width=max(room - len(lead), 1)), room)
        self._write(f"\r{self._terminal.paint(line, Tone.DIM)}\x1b[K")
        self._drawn = True

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._write(_ERASE)
            self._drawn = False

    def _write(self, text: str) -> None:
        self._terminal.err.write(text)
        self._terminal.err.flush()
