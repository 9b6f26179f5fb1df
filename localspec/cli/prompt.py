"""What is to be answered: -p, a file, piped input, or nothing, which means a conversation.

Knows bytes and text. Does not know models.
"""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from localspec.core.counted import counted
from localspec.errors import NotHere, OptionError

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
LONGEST_BYTES = 64 << 20
HALVES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
AT = "to ask a text that begins with @, write @@"


@dataclass(frozen=True)
class Question:
    """A prompt given from outside; `notes` are worth a word to the user."""

    text: str
    notes: tuple[str, ...] = ()


def read_question(prompt: str | None, *, as_json: bool = False) -> Question | None:
    """Give what to answer once; None when a person sits at the terminal and gave no prompt.

    A question without text is what came out of an empty pipe: there is nothing to do.
    Raises: OptionError for an empty prompt, NotHere for a file that is not there.
    """
    asked = _text_of(prompt) if prompt is not None else None
    if asked is None and sys.stdin.isatty():
        return None
    piped = Question("") if sys.stdin.isatty() else _piped()
    parts = [piped.text.rstrip("\n"), asked.text if asked else ""]
    text = "\n\n".join(part for part in parts if part.strip())
    if not text and (prompt is not None or as_json):
        raise OptionError("the prompt is empty", "write something to answer")
    return Question(text, (*piped.notes, *(asked.notes if asked else ())))


def _text_of(prompt: str) -> Question:
    """Read `@FILE`; a prompt that begins with @ itself is written @@."""
    if prompt.startswith("@@"):
        return Question(prompt[1:])
    if not prompt.startswith("@"):
        return _decoded(_bytes_of(prompt), "the prompt")
    path = Path(os.path.expanduser(prompt[1:]))
    try:
        with path.open("rb") as file:
            return _decoded(_bounded(file, str(path)), str(path))
    except FileNotFoundError:
        raise NotHere(f"no file {path}", AT) from None
    except OSError as failure:
        raise NotHere(f"{path} cannot be read: {failure.strerror}", AT) from failure
    except ValueError as failure:  # a NUL in the name
        raise NotHere(f"{path} cannot be the name of a file", AT) from failure


def _bytes_of(prompt: str) -> bytes:
    """Give the bytes that were typed; half a character that no byte stands for is U+FFFD."""
    return HALVES.sub(REPLACEMENT, prompt).encode("utf-8", "surrogateescape")


def _piped() -> Question:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return Question(sys.stdin.read())
    return _decoded(_bounded(stream, "the input"), "the input")


def _bounded(stream: BinaryIO, where: str) -> bytes:
    """Read to the end, unless there is none: no context holds that much.

    Raises: OptionError.
    """
    data = stream.read(LONGEST_BYTES + 1)
    if len(data) > LONGEST_BYTES:
        raise OptionError(f"{where} is longer than {LONGEST_BYTES >> 20} MiB", "shorten it")
    return data


def _decoded(data: bytes, where: str) -> Question:
    """Read UTF-8 whatever the locale: each run of other bytes is one U+FFFD, and is mentioned."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    broken = text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())
    if broken <= 0:
        return Question(text)
    places = counted(broken, "place")
    return Question(text, (f"{where} is not UTF-8 in {places}: each is read as {REPLACEMENT}",))
