"""Stopping a long pass: the engine asks between two nodes of its graph whether to go on.

Knows the abort callback and Ctrl-C. Used around long prefills only, since the engine asks
thousands of times a pass, and around loads.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from localspec.engine import library

_ENDING = ("SIGTERM", "SIGHUP")


@contextmanager
def abortable(context: int, cancelled: Callable[[], bool]) -> Iterator[None]:
    """Let `cancelled`, or Ctrl-C in the main thread, abort the passes inside the block.

    Raises: KeyboardInterrupt after the block, when Ctrl-C was pressed in it.
    """
    binding = library.load()
    pressed: list[bool] = []
    callback = binding.ggml_abort_callback(lambda _data: bool(pressed) or cancelled())
    restore = hold_interrupts(pressed)
    binding.llama_set_abort_callback(context, callback, None)
    try:
        yield
    finally:
        binding.llama_set_abort_callback(context, binding.ggml_abort_callback(), None)
        restore()
        if pressed:
            raise KeyboardInterrupt


def hold_interrupts(pressed: list[bool]) -> Callable[[], object]:
    """Note Ctrl-C instead of raising: an exception inside a callback of the engine is lost.

    A request to end is noted too, and comes again when what is returned here is called.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    held = {number: signal.getsignal(number) for number in _held()}
    asked: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pressed.append(True)
        if number != signal.SIGINT:
            asked.append(number)

    def restore() -> None:
        for number, handler in held.items():
            signal.signal(number, handler)
        if asked:
            signal.raise_signal(asked[0])

    for number in held:
        signal.signal(number, note)
    return restore


def _held() -> list[signal.Signals]:
    """Give the signals whose handlers raise: those of other handlers only set flags."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ending = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    return [
        *([signal.SIGINT] if ours else []),
        *(n for n in ending if callable(signal.getsignal(n))),
    ]
