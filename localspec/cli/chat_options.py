"""The options of `chat` alone. Knows words and types; values are checked where they are used."""

from dataclasses import dataclass
from typing import Annotated

from localspec.cli.binding import flag, setting
from localspec.cli.options import ANSWER, LOOK


@dataclass(frozen=True)
class ChatOptions:
    """What `chat` alone has."""

    prompt: Annotated[
        str | None,
        flag(
            "--prompt",
            "-p",
            group=ANSWER,
            metavar="TEXT|@FILE",
            help="Answer this once and leave; piped input is put before it.",
        ),
    ] = None
    system: Annotated[
        str | None,
        setting("--system", "-s", group=ANSWER, metavar="TEXT", help="System prompt."),
    ] = None
    view: Annotated[
        str | None,
        setting(
            "--view",
            group=LOOK,
            metavar="VIEW",
            help="tokens (coloured by who wrote them), markdown or plain.",
        ),
    ] = None
    mark: Annotated[
        str | None,
        setting(
            "--mark",
            group=LOOK,
            metavar="MARK",
            help="Mark the draft's tokens without colour: none or underline.",
        ),
    ] = None
    readout: Annotated[
        str | None,
        setting("--readout", group=LOOK, metavar="HOW", help="The live line: line or off."),
    ] = None
    stats: Annotated[
        bool | None, setting("--stats", group=LOOK, help="All counters after each answer.")
    ] = None
    events: Annotated[
        str | None,
        flag("--events", group=LOOK, metavar="FILE|-", help="One JSON line a target pass."),
    ] = None
    no_history: Annotated[
        bool | None, setting("--no-history", group=LOOK, help="Remember no typed lines.")
    ] = None
