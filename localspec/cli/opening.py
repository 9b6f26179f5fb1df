"""A pair opened with a sign of life on the terminal.

Knows how a load is shown. What is loaded, and how, is known by `runtime`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import RunSettings
from localspec.ui.terminal import Terminal
from localspec.ui.waiting import Waiting


@contextmanager
def opened(
    settings: RunSettings, say: Callable[[str], None], *, terminal: Terminal, quiet: bool = False
) -> Iterator[Runtime]:
    """Load a pair and give it ready to write; close everything afterwards.

    Raises: NotHere, PairRefused, OptionError.
    """
    with ExitStack() as resources:
        with Waiting(terminal, "loading", quiet=quiet) as waiting:
            notify = waiting.telling(say)
            opening = open_runtime(settings, notify, progress=waiting.show)
            runtime = resources.enter_context(opening)
        yield runtime
