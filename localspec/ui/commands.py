"""The commands of a conversation: their names, what they take, and what a line means.

Knows one line of input at a time. Does not carry anything out.
"""

from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Command:
    """A command as /help shows it; `path` says that it takes a file's name."""

    name: str
    takes: str
    does: str
    path: bool = False


COMMANDS = (
    Command("help", "", "show this"),
    Command("stats", "", "all counters of the last answer"),
    Command("compare", "", "answer again without the draft: time and text"),
    Command("gamma", "N|auto", "draft so many tokens per target pass"),
    Command("drafter", "NAME,…", "who guesses: auto, model, lookup, ngram, none"),
    Command("plain", "", "no draft from now on"),
    Command("again", "", "answer the last message again, with the next seed"),
    Command("undo", "", "take the last turn back"),
    Command("clear", "", "begin a new conversation"),
    Command("system", "TEXT", 'set the system prompt; "" takes it away'),
    Command("set", "NAME VALUE", "temp, top_k, top_p, min_p, repeat_penalty, seed"),
    Command("read", "FILE", "put a file before your next message", path=True),
    Command("edit", "", "take the last turn back and change the message"),
    Command("save", "FILE", "keep the conversation", path=True),
    Command("load", "FILE", "take up a kept conversation", path=True),
    Command("colors", "", "who wrote what, on or off"),
    Command("quit", "", "leave"),
)
NAMES = tuple(command.name for command in COMMANDS)


@dataclass(frozen=True)
class Message:
    """Something to answer."""

    text: str


@dataclass(frozen=True)
class Call:
    """A command to carry out."""

    name: str
    argument: str


@dataclass(frozen=True)
class Unknown:
    """A slash and no command: never sent to the model. `nearest` may be empty."""

    name: str
    nearest: str


def parse(text: str) -> Message | Call | Unknown:
    """Say what a line means: more than one line is a message whatever it holds.

    Names are compared without regard to case in ASCII only: other letters have no say in it.
    """
    if text.startswith("//") and "\n" not in text:
        return Message(text[1:])
    if not text.startswith("/") or "\n" in text.strip():
        return Message(text)
    name, _, argument = text[1:].strip().partition(" ")
    folded = name.lower() if name.isascii() else name
    if folded in NAMES:
        return Call(folded, argument.strip())
    return Unknown(name, next(iter(get_close_matches(folded, NAMES, 1)), ""))
