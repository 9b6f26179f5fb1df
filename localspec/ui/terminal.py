"""What the two output streams can show: escapes, colours, a live line, which width.

Knows streams and the environment. Does not know what is written to them.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TextIO

DEFAULT_WIDTH = 80
RESET = "\x1b[0m"


class Tone(Enum):
    """A use of colour; the values are SGR codes for 16 and for 256 colours.

    Amber and blue of the 256 are dark enough for white and bright enough for black backgrounds.
    """

    DRAFT = ("33", "38;5;172")
    TARGET = ("34", "38;5;33")
    DIM = ("2", "2")
    BOLD = ("1", "1")
    UNDERLINE = ("4", "4")
    GOOD = ("32", "38;5;71")
    BAD = ("31", "38;5;167")


@dataclass(frozen=True)
class Terminal:
    """Where the answer (`out`) and everything else (`err`) go, and what both may carry.

    `shown`: the answer is read on a screen, so control characters in it must not reach it.
    `live`: a line may be redrawn below the answer.
    """

    out: TextIO
    err: TextIO
    out_ansi: bool = False
    err_ansi: bool = False
    shown: bool = False
    live: bool = False
    many_colours: bool = True
    unicode: bool = True

    def width(self) -> int:
        """Give the columns there are now."""
        for stream in (self.err, self.out):
            try:
                return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
            except (OSError, ValueError, AttributeError):
                continue
        columns = os.environ.get("COLUMNS", "")
        return int(columns) if columns.isdecimal() and int(columns) else DEFAULT_WIDTH

    def paint(self, text: str, *tones: Tone) -> str:
        """Colour text for `err`; unchanged where escapes are not welcome."""
        return f"{self.sgr(*tones)}{text}{RESET}" if self.err_ansi and text and tones else text

    def sgr(self, *tones: Tone) -> str:
        """Give the escape that switches tones on."""
        codes = ";".join(tone.value[self.many_colours] for tone in tones)
        return f"\x1b[{codes}m" if codes else ""

    def say(self, text: str = "") -> None:
        """Write a line to `err`."""
        self.err.write(f"{text}\n")
        self.err.flush()


def use_utf8() -> None:
    """Read and write UTF-8 whatever the locale says; what cannot be written is replaced."""
    for stream, errors in (
        (sys.stdin, "replace"),
        (sys.stdout, "replace"),
        (sys.stderr, "replace"),
    ):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors=errors)


def open_terminal(
    color: str = "auto",
    *,
    out: TextIO | None = None,
    err: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
) -> Terminal:
    """Look at the streams and the environment; `color` is auto, always or never."""
    out, err = out or sys.stdout, err or sys.stderr
    environ = os.environ if environ is None else environ
    both = _is_tty(out) and _is_tty(err)
    dumb = environ.get("TERM") == "dumb"
    wanted = _wants_escapes(color, environ, dumb)
    forced = color == "always" or (color == "auto" and wanted and "FORCE_COLOR" in environ)
    return Terminal(
        out,
        err,
        out_ansi=wanted and (forced or _is_tty(out)),
        err_ansi=wanted and (forced or both),
        shown=_is_tty(out),
        live=wanted and both and not dumb and _same_terminal(out, err),
        many_colours=_many_colours(environ),
        unicode=_is_utf8(err),
    )


def _wants_escapes(color: str, environ: Mapping[str, str], dumb: bool) -> bool:
    if color != "auto":
        return color == "always"
    return not (environ.get("NO_COLOR") or dumb)


def _many_colours(environ: Mapping[str, str]) -> bool:
    known = "256" in environ.get("TERM", "") or bool(environ.get("COLORTERM"))
    return known or os.name == "nt"


def _is_utf8(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"


def _is_tty(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def _same_terminal(out: TextIO, err: TextIO) -> bool:
    try:
        return os.ttyname(out.fileno()) == os.ttyname(err.fileno())
    except (OSError, ValueError, AttributeError):
        return os.name == "nt"
