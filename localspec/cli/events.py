"""One JSON line a target pass, into a file or onto stdout.

Knows where lines go. Does not know what is in them: that is `report`.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from localspec.core.events import Step
from localspec.core.tokens import Token
from localspec.errors import NotHere
from localspec.report.answer import event_document
from localspec.report.write import to_json

STDOUT = "-"
Record = Callable[[Step], None]


@contextmanager
def recorder(where: str | None, piece: Callable[[Token], bytes]) -> Iterator[Record]:
    """Give the function that writes a pass down; it does nothing without a place.

    Raises: NotHere when the file cannot be written.
    """
    if where is None:
        yield lambda _step: None
        return
    try:
        out = sys.stdout if where == STDOUT else Path(where).open("w", encoding="utf-8")  # noqa: SIM115
    except OSError as failure:
        raise NotHere(f"--events {where}: {failure.strerror}") from failure
    written = 0

    def record(step: Step) -> None:
        nonlocal written
        texts = [piece(token).decode("utf-8", "replace") for token in step.tokens]
        out.write(to_json(event_document(step, index=written, texts=texts)) + "\n")
        out.flush()
        written += 1

    try:
        yield record
    finally:
        if out is not sys.stdout:
            out.close()


def only_steps(record: Record) -> Callable[[object], None]:
    """Give a listener to every event of an answer that writes the passes down."""

    def listen(event: object) -> None:
        if isinstance(event, Step):
            record(event)

    return listen
