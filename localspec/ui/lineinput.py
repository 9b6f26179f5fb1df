"""Reading a message: several lines, paste, history, editor, completion.

Knows prompt_toolkit and keys. Does not know what a message means.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus, is_searching
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth, Output, create_output

from localspec.ui.commands import COMMANDS
from localspec.ui.terminal import Terminal

PROMPT = "> "
QUOTES = '"""'
_ARGUMENTS = {"drafter": ("auto", "lookup", "model", "ngram", "medusa", "none"), "gamma": ("auto",)}


class Reader(Protocol):
    """Give one message after another."""

    def read(self, default: str = "") -> str:
        """Give the next message; `default` may be changed before it is sent.

        Raises: EOFError at the end, KeyboardInterrupt on Ctrl+C.
        """
        ...


class LineReader:
    """Read line by line, for terminals that only print."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def read(self, default: str = "") -> str:
        """Give the next line; `default` is what an empty line means."""
        self._terminal.err.write(PROMPT)
        self._terminal.err.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n") or default


class PromptReader:
    """Read with an editable prompt."""

    def __init__(self, terminal: Terminal, history: Path | None = None) -> None:
        self._session: PromptSession[str] = PromptSession(
            FormattedText([("bold", PROMPT)]),
            multiline=True,
            prompt_continuation=" " * len(PROMPT),
            key_bindings=_bindings(_Paste()),
            completer=CommandCompleter(),
            complete_while_typing=False,
            history=open_history(history),
            tempfile_suffix=".md",
            output=_output(terminal),
            color_depth=None if terminal.out_ansi else ColorDepth.MONOCHROME,
            enable_suspend=True,
        )

    def read(self, default: str = "") -> str:
        """Give the next message."""
        return self._session.prompt(default=default)


def open_reader(terminal: Terminal, history: Path | None = None) -> Reader:
    """Choose how to read on this terminal."""
    if os.environ.get("TERM") == "dumb":
        return LineReader(terminal)
    return PromptReader(terminal, history)


def open_history(path: Path | None) -> History:
    """Keep messages in a file that only its owner can read, or in memory only."""
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def is_open(text: str) -> bool:
    """Say whether more lines are wanted: an open triple quote, or a backslash at the end."""
    if text.startswith(QUOTES):
        return len(text) < 2 * len(QUOTES) or not text.endswith(QUOTES)
    return text.endswith("\\")


def unquoted(text: str) -> str:
    """Take the triple quotes away that were typed around a message."""
    if text.startswith(QUOTES) and not is_open(text):
        return text[len(QUOTES) : -len(QUOTES)].strip("\n")
    return text


@dataclass
class _Paste:
    """The message as it was right after a paste: untouched, it is sent as it is."""

    text: str | None = None


def _bindings(paste: _Paste) -> KeyBindings:
    keys = KeyBindings()
    editing = has_focus(DEFAULT_BUFFER) & ~is_searching

    @keys.add("enter", filter=editing)
    def send(event: KeyPressEvent) -> None:
        _enter(event.current_buffer, paste)

    @keys.add("escape", "enter", filter=editing)
    @keys.add("c-j", filter=editing)
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("c-g", filter=editing)
    def editor(event: KeyPressEvent) -> None:
        event.current_buffer.open_in_editor()

    @keys.add(Keys.BracketedPaste, filter=editing)
    def pasted(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.insert_text(event.data.replace("\r\n", "\n").replace("\r", "\n"))
        paste.text = buffer.text

    return keys


def _enter(buffer: Any, paste: _Paste) -> None:
    """Send, or begin another line; an open completion menu is closed first."""
    text: str = buffer.text
    if buffer.complete_state:
        buffer.complete_state = None
    elif text == paste.text or not is_open(text):
        if text != paste.text and text.startswith(QUOTES):
            buffer.text = unquoted(text)
        paste.text = None
        buffer.validate_and_handle()
    else:
        if text.endswith("\\") and not text.startswith(QUOTES):
            buffer.text = text[:-1]
        buffer.cursor_position = len(buffer.text)
        buffer.newline(copy_margin=False)


class CommandCompleter(Completer):
    """Complete commands, what they take, and file names."""

    def __init__(self) -> None:
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """Give what may follow the text before the cursor."""
        before = document.text_before_cursor
        if not before.startswith("/") or "\n" in before:
            return
        name, space, argument = before[1:].partition(" ")
        if not space:
            yield from _named(before)
        elif any(command.path for command in COMMANDS if command.name == name):
            yield from self._paths.get_completions(Document(argument), event)
        else:
            for value in _ARGUMENTS.get(name, ()):
                if value.startswith(argument):
                    yield Completion(value, -len(argument))


def _named(before: str) -> Iterator[Completion]:
    for command in COMMANDS:
        if f"/{command.name}".startswith(before):
            yield Completion(f"/{command.name}", -len(before), display_meta=command.does)


def _output(terminal: Terminal) -> Output:
    """Draw the prompt on stderr, so that stdout is the answers and nothing else.

    The terminal is not asked where its cursor is: some never answer, and typed-ahead keys mix in.
    """
    stream = terminal.err if terminal.err.isatty() else terminal.out
    if sys.platform == "win32":
        return create_output(stdout=stream)
    from prompt_toolkit.output.vt100 import Vt100_Output  # noqa: PLC0415 - not on Windows

    output = Vt100_Output.from_pty(stream, term=os.environ.get("TERM"))
    output.enable_cpr = False
    return output
