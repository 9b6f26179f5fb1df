"""The conversation at the keyboard: read, answer or obey, again.

Knows session, view and reader. Does not know how answers are made or drawn.
"""

from dataclasses import dataclass, field

from localspec.chat.session import ChatSession
from localspec.errors import LocalspecError
from localspec.ui.actions import Actions, Outcome
from localspec.ui.commands import Call, Unknown, parse
from localspec.ui.lineinput import Reader
from localspec.ui.notes import show_error, show_note
from localspec.ui.stats import banner
from localspec.ui.stream import ChatView, View
from localspec.ui.terminal import Terminal, Tone

INTERRUPTED = 130
LEGEND = ("amber: guessed by the draft and accepted", "blue: written by the target")
SHORT_LEGEND = ("amber: guessed and kept", LEGEND[1])
WAY_OUT = "/help · Ctrl+D leaves"


def show_banner(session: ChatSession, view: ChatView) -> None:
    """Say what is loaded, how it guesses, and what the colours mean."""
    terminal = view.terminal
    about = session.runtime.describe()
    width = terminal.width() - 1
    for number, line in enumerate(banner(about, width)):
        name = about.name if number == 0 and line.startswith(about.name) else ""
        terminal.say(terminal.paint(name, Tone.BOLD) + line[len(name) :])
    for line in legend(view, width):
        terminal.say(line)


def legend(view: ChatView, width: int, *, ending: str = WAY_OUT) -> list[str]:
    """Give the meaning of the colours, and how to get help, on as many lines as needed."""
    terminal = view.terminal
    coloured = terminal.out_ansi and view.options.view is View.TOKENS
    if not coloured:
        return [terminal.paint(ending, Tone.DIM)] if ending else []
    tones = [Tone.DRAFT, Tone.TARGET, Tone.DIM]
    for words in (LEGEND, SHORT_LEGEND):
        texts = [*words, ending] if ending else [*words]
        painted = [terminal.paint(text, tone) for text, tone in zip(texts, tones, strict=False)]
        if len("    ".join(texts)) <= width:
            return ["    ".join(painted)]
    return painted


@dataclass
class Repl:
    """A conversation; `run` gives the exit code."""

    session: ChatSession
    view: ChatView
    reader: Reader
    _actions: Actions = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._actions = Actions(self.session, self.view)

    @property
    def _terminal(self) -> Terminal:
        return self.view.terminal

    def run(self) -> int:
        """Talk until the user leaves."""
        try:
            show_banner(self.session, self.view)
            return self._until_left()
        except KeyboardInterrupt:  # pressed again while the first press was seen to
            return INTERRUPTED

    def _until_left(self) -> int:
        code: int | None = None
        while code is None:
            try:
                code = self._turn()
            except KeyboardInterrupt:
                code = self._pressed()
        return code

    def _turn(self) -> int | None:
        """Read one message and see to it; give the exit code when that was the last."""
        self._terminal.say()
        try:
            text = self.reader.read(self._actions.draft)
        except EOFError:
            return 0
        self._actions.draft = ""
        outcome = self._guarded(text)
        if self.view.interrupts.leave:
            return INTERRUPTED
        return 0 if outcome is Outcome.LEAVE else None

    def _pressed(self) -> int | None:
        """See to Ctrl+C where no answer is written: at the prompt, or between two of them."""
        if self.view.interrupts.press():
            return INTERRUPTED
        show_note(self._terminal, "Ctrl+C again leaves")
        return None

    def _guarded(self, text: str) -> Outcome:
        """Handle a message; a failure is shown and the conversation goes on."""
        try:
            return self._handle(text)
        except LocalspecError as failure:
            show_error(self._terminal, failure)
            return Outcome.STAY

    def _handle(self, text: str) -> Outcome:
        if not text.strip():
            return Outcome.STAY
        meant = parse(text)
        if isinstance(meant, Call):
            return self._actions.run(meant)
        if isinstance(meant, Unknown):
            nearest = f", did you mean /{meant.nearest}?" if meant.nearest else ""
            show_note(self._terminal, f"no command /{meant.name}{nearest}")
            show_note(self._terminal, "/help lists them; // sends a message that begins with /")
            return Outcome.STAY
        self._actions.answer(meant.text)
        return Outcome.STAY
