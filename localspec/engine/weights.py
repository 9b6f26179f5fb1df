"""Weights into memory: Ctrl-C and progress are heard between two tensors, large pages asked for.

Knows a file's path and how it is to be placed. Does not know if it is a text model.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from localspec.engine import library, placement
from localspec.engine.interrupt import hold_interrupts
from localspec.engine.pages import ask_for_large_pages
from localspec.engine.placement import ModelOptions
from localspec.errors import LocalspecError

Progress = Callable[[float], bool]


class Interrupted(LocalspecError):
    """The user stopped a load or a decode; what was there before is intact."""

    exit_code = 130


def load_weights(path: Path, options: ModelOptions, progress: Progress | None) -> int | None:
    """Load a file; give the engine's pointer, None when the engine refuses it.

    `progress` gets 0 to 1 and stops the load by returning False.

    Raises: Interrupted when it did; whatever it raises itself; KeyboardInterrupt.
    """
    keep: list[Any] = []
    params = placement.params(options, keep)
    pressed: list[bool] = []
    stopped: list[BaseException] = []  # an exception cannot pass through the engine

    def report(done: float, _data: object) -> bool:
        try:
            if not done:  # memory for the weights is there, and nothing is written yet
                ask_for_large_pages()
            if progress is not None and not progress(done):
                stopped.append(Interrupted(f"loading {path.name} was stopped"))
        except BaseException as error:
            stopped.append(error)
        return not (stopped or pressed)

    params.progress_callback = library.load().llama_progress_callback(report)
    restore = hold_interrupts(pressed)
    try:
        name = str(path).encode("utf-8", "surrogateescape")
        handle: int | None = library.load().llama_model_load_from_file(name, params)
    finally:
        restore()
    for error in [*stopped, *(KeyboardInterrupt() for _ in pressed)]:
        if handle:
            library.load().llama_model_free(handle)
        raise error
    return handle
