"""Text that is only ever appended, and one live line below it.

Knows a terminal and a clock. Does not know what the text means. Nothing moves the cursor up over
text: the live line is drawn one row below the cursor and erased before text may reach that row.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from localspec.ui.cells import Column, Neutraliser
from localspec.ui.terminal import RESET, Terminal, Tone

FRAME_S = 0.1
SHOW_CURSOR = "\x1b[?25h"
_ERASE_BELOW = "\x1b[J"

Piece = tuple[str, tuple[Tone, ...]]


class Screen:
    """Append text to `out`; keep a line below it on `err` while the answer is written.

    At most ten redraws a second: text that stays in its row is shown at once, text that would
    move the live line waits for the next one.
    """

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self.terminal = terminal
        self._clock = clock
        self._column = Column(terminal.width())
        self._neutral = Neutraliser()
        self._waiting: list[Piece] = []
        self._line = ""
        self._drawn = ""
        self._frame = float("-inf")
        self._lost = False
        self._asides: list[str] = []
        self.redraws = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, text: str, *tones: Tone) -> None:
        """Append text; on a screen its control characters become visible."""
        self._append(self._neutral(text) if self.terminal.shown else text, tones)

    def write_rendered(self, text: str) -> None:
        """Append whole lines that carry escapes of our own."""
        self._append(text, ())

    def _append(self, text: str, tones: tuple[Tone, ...]) -> None:
        if not text:
            return
        self._look_at_width()
        joined = "".join(piece for piece, _ in self._waiting) + text
        self._waiting.append((text, tones))
        if not self._drawn or (not self._lost and self._column.fits(joined)):
            self._emit()

    @property
    def due(self) -> bool:
        """Say whether another live line would be drawn now: no need to make one otherwise."""
        return self.terminal.live and self._clock() - self._frame >= FRAME_S

    def live(self, line: str) -> None:
        """Show another live line, when the next frame is due."""
        self._line = line
        if not self.due:
            return
        self._look_at_width()
        if self._waiting:
            self._erase()
            self._emit()
        if self._drawn != line or self._lost:
            self._draw(line)
            self._frame = self._clock()

    def pause(self) -> None:
        """Take the live line away and leave the terminal as a shell expects it."""
        self._erase()
        if self.terminal.live:
            self._err(RESET + SHOW_CURSOR)

    def resume(self) -> None:
        """Go on after a pause: the shell has left the cursor at the start of a row."""
        self._column = Column(self.terminal.width())
        self._frame = float("-inf")
        if self._line:
            self.live(self._line)

    def aside(self, text: str) -> None:
        """Say a line beside the text: now if no row is begun, else when the text ends."""
        if self._column.at or self._waiting:
            self._asides.append(text)
        else:
            self._erase()
            self.terminal.say(text)

    def close(self) -> None:
        """Show what is waiting, take the live line away, end the row."""
        self._erase()
        self._line = ""
        if held := self._neutral.flush():
            self._waiting.append((held, ()))
        if self._waiting:
            self._emit()
        if self._column.at:
            self._waiting.append(("\n", ()))
            self._emit()
        while self._asides:
            self.terminal.say(self._asides.pop(0))

    def _look_at_width(self) -> None:
        """After a resize nobody knows where the cursor stands until the next new line."""
        width = self.terminal.width()
        if width != self._column.width:
            self._column = Column(width, self._column.at)
            self._lost = True

    def _erase(self) -> None:
        if self._drawn:
            self._err(_ERASE_BELOW)
            self._drawn = ""

    def _draw(self, line: str) -> None:
        if line and self._column.certain and not self._lost:
            self._err(_below([self.terminal.paint(row, Tone.DIM) for row in line.split("\n")]))
            self._drawn = line
            self.redraws += 1
        elif self._drawn:
            self._erase()

    def _emit(self) -> None:
        """Write what waits to `out` and follow the cursor."""
        text = "".join(self._coloured(piece, tones) for piece, tones in self._waiting)
        for piece, _ in self._waiting:
            self._column.feed(piece)
            self._lost = self._lost and "\n" not in piece
        self._waiting.clear()
        self.terminal.out.write(text)
        self.terminal.out.flush()

    def _coloured(self, text: str, tones: tuple[Tone, ...]) -> str:
        if not (tones and self.terminal.out_ansi):
            return text
        return f"{self.terminal.sgr(*tones)}{text}{RESET}"

    def _err(self, text: str) -> None:
        self.terminal.err.write(text)
        self.terminal.err.flush()


def _below(rows: list[str]) -> str:
    """Draw rows below the cursor and come back to it.

    Moving down scrolls at the bottom, so the rows are there before the place is remembered.
    """
    room = "\x1bD" * len(rows) + f"\x1b[{len(rows)}A"
    return f"{room}\x1b7" + "".join(f"\x1b[B\r{row}\x1b[K" for row in rows) + "\x1b8"
