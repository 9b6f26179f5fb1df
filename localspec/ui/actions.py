"""What each command of a conversation does.

Knows session and view. Does not read keys.
"""

import os
from contextlib import suppress
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path

from localspec.chat.conversation import Conversation, from_json
from localspec.chat.session import ChatSession
from localspec.core.counted import counted
from localspec.core.sampling import SamplingParams
from localspec.errors import NotHere, OptionError
from localspec.ui.commands import COMMANDS, Call
from localspec.ui.notes import show_note
from localspec.ui.stats import comparison, stats
from localspec.ui.stream import ChatView, View
from localspec.ui.tables import table

PLAIN = ("none",)
AUTO = "auto"
SETTABLE = {
    "temp": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "repeat_penalty": "repeat_penalty",
}
RANGES = {
    "temp": (0.0, 100.0),
    "top_k": (0.0, 1e9),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "repeat_penalty": (0.01, 100.0),
}


class Outcome(Enum):
    """What a message leads to."""

    STAY = auto()
    LEAVE = auto()


class Actions:
    """Carry commands out; `draft` is the text the next prompt begins with."""

    def __init__(self, session: ChatSession, view: ChatView) -> None:
        self.session = session
        self.view = view
        self.draft = ""
        self._before = ""

    def run(self, call: Call) -> Outcome:
        """Carry a command out.

        Raises: LocalspecError that says what is wrong with it.
        """
        if call.name == "quit":
            return Outcome.LEAVE
        actions = {
            "help": self._help,
            "stats": self._stats,
            "compare": self._compare,
            "gamma": self._gamma,
            "drafter": self._drafter,
            "plain": lambda _: self._drafter(",".join(PLAIN)),
            "again": self._again,
            "undo": self._undo,
            "clear": self._clear,
            "system": self._system,
            "set": self._set,
            "read": self._read,
            "edit": self._edit,
            "save": self._save,
            "load": self._load,
            "colors": self._colors,
        }
        actions[call.name](call.argument)
        return Outcome.STAY

    def answer(self, text: str) -> None:
        """Answer a message, with what was read before it."""
        text = f"{self._before}{text}"
        self._before = ""
        self.view.show(self.session.reply(text), self.session.runtime.cancel)

    def _say(self, lines: list[str]) -> None:
        for line in lines:
            self.view.terminal.say(line)

    def _note(self, text: str) -> None:
        show_note(self.view.terminal, text)

    @property
    def _width(self) -> int:
        return self.view.terminal.width() - 1

    def _help(self, _: str) -> None:
        rows = [["command", "", "does"]]
        rows += [[f"/{each.name}", each.takes, each.does] for each in COMMANDS]
        self._say(table(rows, self._width, left=frozenset({0, 1, 2})))
        self._note('Alt+Enter, Ctrl+J, a \\ at the end or """ make more lines; Ctrl+G: editor')
        self._note("Ctrl+C stops an answer, twice leaves; // sends a leading slash")

    def _stats(self, _: str) -> None:
        if self.session.last is None:
            raise OptionError("nothing was answered yet", "ask something first")
        unicode = self.view.terminal.unicode
        self._say(stats(self.session.last, self._width, unicode=unicode))

    def _compare(self, _: str) -> None:
        runtime = self.session.runtime
        found = self.view.watch(self.session.compare(), runtime.cancel)
        if found is None:
            self._note("stopped")
            return
        sampled = not runtime.settings.sampling.greedy
        self._say(comparison(found, self._width, sampled=sampled))

    def _gamma(self, argument: str) -> None:
        runtime = self.session.runtime
        if argument and argument != AUTO and not _is_whole(argument):
            raise OptionError(f"γ is a number or 'auto', not '{argument}'")
        if argument:
            runtime.set_gamma(None if argument == AUTO else int(argument))
        self._note(f"γ {runtime.describe().gamma}")

    def _drafter(self, argument: str) -> None:
        runtime = self.session.runtime
        if argument:
            runtime.set_drafters(tuple(name.strip() for name in argument.split(",")))
        off = runtime.settings.drafters == PLAIN
        more = "; /drafter auto switches it on again" if off else ""
        reason = f" ({runtime.reason()})" if runtime.reason() else ""
        self._note(f"drafter {runtime.describe().drafter}{more}{reason}")

    def _again(self, _: str) -> None:
        events = self.session.again()
        self._note(f"seed {self.session.runtime.seed}")
        self.view.show(events, self.session.runtime.cancel)

    def _undo(self, _: str) -> None:
        turn = self.session.conversation.undo()
        self._note(f"taken back; {self._turns()} left" if turn else "there is nothing to take back")

    def _clear(self, _: str) -> None:
        self.session.clear()
        self._before = ""
        self._note("a new conversation")

    def _system(self, argument: str) -> None:
        conversation = self.session.conversation
        if argument:
            conversation.system = "" if argument in ('""', "''") else argument
        self._note(f"system prompt: {conversation.system or 'none'}")

    def _set(self, argument: str) -> None:
        runtime = self.session.runtime
        name, _, value = argument.replace("=", " ").replace("-", "_", 1).partition(" ")
        if name == "seed":
            if not _is_whole(value.strip()):
                raise OptionError(f"a seed is a whole number, not '{value.strip()}'")
            runtime.seed = int(value)
        elif name:
            runtime.set_sampling(changed(runtime.settings.sampling, name, value.strip()))
        sampling = runtime.settings.sampling
        values = [f"{name} {getattr(sampling, key):g}" for name, key in SETTABLE.items()]
        self._note(" · ".join([*values, f"seed {runtime.seed}"]))

    def _read(self, argument: str) -> None:
        text = read_text(argument, "/read FILE")
        self._before += f"{text.rstrip()}\n\n"
        self._note(f"{counted(len(text), 'character')} of {argument} before your next message")

    def _edit(self, _: str) -> None:
        if not self.session.last_prompt:
            raise OptionError("nothing was asked yet")
        turns = self.session.conversation.turns
        if turns and turns[-1].prompt == self.session.last_prompt:
            self.session.conversation.undo()
        self.draft = self.session.last_prompt

    def _save(self, argument: str) -> None:
        path = _path(argument, "/save FILE")
        if path.exists():
            _check_ours(path)
        _write(path, self.session.conversation)
        self._note(f"{self._turns()} kept in {path}")

    def _load(self, argument: str) -> None:
        self.session.load(from_json(read_text(argument, "/load FILE")))
        self._note(f"{self._turns()} taken up")

    def _turns(self) -> str:
        return counted(len(self.session.conversation.turns), "turn")

    def _colors(self, _: str) -> None:
        on = self.view.options.view is not View.TOKENS
        self.view.options = replace(self.view.options, view=View.TOKENS if on else View.PLAIN)
        self._note(f"colours {'on: amber guessed, blue written by the target' if on else 'off'}")


def changed(sampling: SamplingParams, name: str, value: str) -> SamplingParams:
    """Give the law with one value changed.

    Raises: OptionError for an unknown name or a value out of range.
    """
    if name not in SETTABLE:
        raise OptionError(f"no setting '{name}'", f"one of: {', '.join(SETTABLE)}, seed")
    if not value:
        raise OptionError(f"which {name}?", f"/set {name} NUMBER")
    low, high = RANGES[name]
    try:
        number = int(value) if name == "top_k" else float(value)
    except ValueError:
        number = -1
    if not low <= number <= high:
        raise OptionError(f"{name} must be a number from {low:g} to {high:g}, not '{value}'")
    new: SamplingParams = replace(sampling, **{SETTABLE[name]: number})  # type: ignore[arg-type]
    return new


def read_text(argument: str, usage: str) -> str:
    """Read a file the user named.

    Raises: NotHere, or OptionError when it is not text.
    """
    path = _path(argument, usage)
    try:
        if path.exists() and not path.is_file():
            raise NotHere(f"{path} is no file")  # a pipe or a device might never end
        return path.read_text(encoding="utf-8")
    except OSError as failure:
        raise NotHere(f"cannot read {path}: {failure.strerror or failure}") from failure
    except UnicodeDecodeError as failure:
        raise OptionError(f"{path} is not UTF-8 text") from failure
    except ValueError as failure:  # a NUL in the name
        raise NotHere(f"{path} cannot be the name of a file") from failure


def _write(path: Path, conversation: Conversation) -> None:
    """Write beside the file, then put it in place: a full disk costs nothing."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(conversation.to_json(), encoding="utf-8")
        os.replace(part, path)
    except OSError as failure:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise NotHere(f"cannot write {path}: {failure.strerror or failure}") from failure


def _check_ours(path: Path) -> None:
    try:
        from_json(read_text(str(path), ""))
    except OptionError as failure:
        raise OptionError(
            f"{path} exists and is no saved conversation", "choose another name"
        ) from failure


def _path(argument: str, usage: str) -> Path:
    if not argument:
        raise OptionError("which file?", usage)
    return Path(os.path.expanduser(argument.strip("\"'")))


def _is_whole(value: str) -> bool:
    return value.removeprefix("-").isdecimal()
