"""Rows of numbers kept by position.

Knows positions and room. Does not know what a row means.
"""

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.float32]

_FEWEST_ROWS = 64


class Window:
    """The newest stretch of rows that has no gap, at most `room` of them; the oldest go first.

    Writing at a position forgets what stood there and after it.
    """

    def __init__(self, width: int, room: int) -> None:
        self.room = room
        self.first = self.end = 0
        self._data = np.empty((min(room, _FEWEST_ROWS), width), np.float32)
        self._offset = 0

    def place(self, start: int, count: int) -> States:
        """Give the place of rows at `start` and after, to be filled."""
        self.cut(start)
        self._drop(self.end - max(self.room - count, 0))
        kept = self.end - self.first
        if self._offset + kept + count > len(self._data):
            self._move(kept, count)
        base = self._offset + kept
        self.end = start + count
        return self._data[base : base + count]

    def rows(self, begin: int, end: int) -> States | None:
        """Give the rows of positions from `begin` to before `end`; None when one is missing.

        Shapes: (positions, width), borrowed until the next change.
        """
        if not self.first <= begin <= end <= self.end:
            return None
        base = self._offset + begin - self.first
        return self._data[base : base + end - begin]

    def cut(self, start: int) -> None:
        """Forget everything from `start` on, and all of it where a gap would open."""
        if not self.first <= start <= self.end:
            self.first, self._offset = start, 0
        self.end = start

    def _drop(self, position: int) -> None:
        """Forget what lies before a position."""
        gone = max(position - self.first, 0)
        self.first += gone
        self._offset += gone

    def _move(self, kept: int, count: int) -> None:
        """Bring the rows to the front, of a larger array while there is room to grow.

        A quarter more than the room, so that a full window is moved now and then only.
        """
        rows = self._data[self._offset : self._offset + kept]
        most = self.room + self.room // 4
        size = max(kept + count, min(2 * len(self._data), most))
        if size > len(self._data):
            self._data = np.empty((size, self._data.shape[1]), np.float32)
            self._data[:kept] = rows
        else:
            self._data[:kept] = rows.copy()
        self._offset = 0
