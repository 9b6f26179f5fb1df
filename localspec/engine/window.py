"""Rows of numbers kept by position.

Knows positions and room. Does not know what a row means.
"""

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.float32]

_FEWEST_ROWS = 64


class Window:
    """Rows by position: the newest stretch that has no gap.

    Holds at most `room` rows; the oldest go first. Writing at a position forgets what stood there
    and after it.
    """

    def __init__(self, width: int, room: int) -> None:
        self.width, self.room = width, room
        self.first = self.end = 0
        self._data = np.empty((min(room, _FEWEST_ROWS), width), np.float32)
        self._offset = 0

    def place(self, start: int, count: int) -> States:
        """Give the place of rows at `start` and after, to be filled."""
        self.cut(start)
        self.release(self.end - max(self.room - count, 0))
        kept = self.end - self.first
        if self._offset + kept + count > len(self._data):
            self._move(kept, count)
        base = self._offset + kept
        self.end = start + count
        return self._data[base : base + count]

    def rows(self, begin: int, end: int) -> States | None:
        """Give the rows of positions from `begin` to before `end`; None when one is missing.

        Shapes: (positions, width), borrowed until the next pass.
        """
        if not self.first <= begin <= end <= self.end:
            return None
        base = self._offset + begin - self.first
        return self._data[base : base + end - begin]

    def cut(self, start: int) -> None:
        """Forget everything from `start` on, and all of it where a gap would open."""
        if not self.first <= start <= self.end:
            self.first = start
        self.end = start

    def release(self, position: int) -> None:
        """Forget what lies before a position."""
        gone = min(max(position - self.first, 0), self.end - self.first)
        self.first += gone
        self._offset = self._offset + gone if self.first < self.end else 0

    def _move(self, kept: int, count: int) -> None:
        """Bring the rows to the front, of a larger array if need be."""
        rows = self._data[self._offset : self._offset + kept]
        if kept + count > len(self._data):
            size = max(kept + count, min(2 * len(self._data), self.room))
            self._data = np.empty((size, self.width), np.float32)
        self._data[:kept] = rows.copy()
        self._offset = 0
