"""Stopping a long pass: the engine asks between two nodes of its graph whether to go on.

Knows the abort callback and Ctrl-C. Used around long prefills only, since the engine asks
thousands of times a pass, and around loads.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from localspec.engine import library


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


def hold_interrupts(pressed: list[bool]) -> Callable[[], Any]:
    """Note Ctrl-C instead of raising: an exception inside a callback of the engine is lost."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return lambda: None
    signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    return lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
