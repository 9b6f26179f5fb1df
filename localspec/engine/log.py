"""What the engine says, kept quiet.

Knows the log callback and the last lines. Deliberately leaves file descriptors alone, and does not
know which lines matter to whom.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Sink = Callable[[str], object]

_KEPT_LINES = 400


class _Recorder:
    """Join the fragments of the engine's log into lines; keep the last ones."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.sink: Sink | None = None
        self.captures: list[list[str]] = []
        self._partial = ""

    def write(self, text: str) -> None:
        *lines, self._partial = (self._partial + text).split("\n")
        for line in filter(None, lines):
            self._keep(line)

    def _keep(self, line: str) -> None:
        self.lines.append(line)
        for capture in self.captures:
            capture.append(line)
        if self.sink is not None:
            self.sink(line)


_recorder = _Recorder()
_callbacks: list[Any] = []  # the library holds the pointer only, so the object lives here


def install(binding: Any) -> None:
    """Take over the engine's log, for the rest of the process."""

    def receive(_level: int, text: bytes | None, _data: object) -> None:
        # An exception cannot pass through the engine, and a full disk must not stop an answer.
        try:
            _recorder.write((text or b"").decode("utf-8", "replace"))
        except (OSError, ValueError):
            _recorder.sink = None

    callback = binding.llama_log_callback(receive)
    _callbacks.append(callback)
    binding.llama_log_set(callback, ctypes.c_void_p(0))


def tail(count: int = 5) -> list[str]:
    """Give the last lines the engine logged."""
    return list(_recorder.lines)[-count:]


def send_to(sink: Sink | None) -> None:
    """Pass every further line on, to a file's `write` or a screen; None is quiet again."""
    _recorder.sink = sink


@contextmanager
def captured() -> Iterator[list[str]]:
    """Collect the lines logged inside the block."""
    lines: list[str] = []
    _recorder.captures.append(lines)
    try:
        yield lines
    finally:
        _recorder.captures = [each for each in _recorder.captures if each is not lines]
