"""The options of `trace` alone. Knows words and types; values are checked where they are used."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from localspec.cli.binding import flag, setting
from localspec.cli.options import ANSWER

TRACE = "Trace"


@dataclass(frozen=True)
class TraceOptions:
    """What to answer, and how the trace is shown."""

    prompt: Annotated[
        str | None,
        flag(
            "--prompt",
            "-p",
            group=ANSWER,
            metavar="TEXT|@FILE",
            help="What to answer; piped input is put before it.",
        ),
    ] = None
    system: Annotated[
        str | None,
        setting("--system", "-s", group=ANSWER, metavar="TEXT", help="System prompt."),
    ] = None
    step: Annotated[bool, flag("--step", group=TRACE, help="Wait for a key after each round.")] = (
        False
    )
    html: Annotated[
        Path | None,
        flag(
            "--html",
            group=TRACE,
            metavar="FILE",
            help="Write the trace as a page that explains itself, with this machine's times.",
        ),
    ] = None
    lang: Annotated[
        str | None,
        flag("--lang", group=TRACE, metavar="en|tr", help="Language of that page."),
    ] = None
    bench: Annotated[
        Path | None,
        flag(
            "--bench",
            group=TRACE,
            metavar="FILE",
            help="A bench document that measured several requests at once, for figure a.",
        ),
    ] = None
    top: Annotated[
        int | None,
        flag(
            "--top",
            group=TRACE,
            metavar="N",
            help="Tokens kept of each law; the others are summed up.",
        ),
    ] = None
