"""Words beside the answer: on stderr, one line each, and none with --quiet.

Knows stderr. Does not know what is said.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from localspec.ui.visible import visible

ENGINE_LOG = 2


@dataclass
class Notes:
    """Say and remember: `said` ends up in the JSON document."""

    quiet: bool = False
    verbose: int = 0
    said: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Tell the user something that is not the answer, and not twice."""
        if text in self.said:
            return
        self.said.append(text)
        if not self.quiet:
            _write(text)

    def detail(self, text: str) -> None:
        """Tell what only --verbose asks for."""
        if self.verbose and not self.quiet:
            _write(text)


@contextmanager
def engine_log(verbose: int) -> Iterator[None]:
    """Pass the engine's log on to stderr meanwhile, with -vv."""
    if verbose < ENGINE_LOG:
        yield
        return
    from localspec.engine.log import send_to  # noqa: PLC0415

    send_to(_write)
    try:
        yield
    finally:
        send_to(None)


def _write(text: str) -> None:
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()
