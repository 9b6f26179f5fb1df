"""One answer on a screen: its text by who wrote it, the readout below, the line that stays.

Knows the events of a reply. Does not know where they come from.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum

from localspec.chat.partners import Cancel
from localspec.chat.session import Begun, Comparison, Reply, ReplyEvent, Said
from localspec.chat.text import Span
from localspec.core.events import FinishReason, Notice, Origin, Step
from localspec.core.tally import Tally
from localspec.ui.cells import Neutraliser, clip
from localspec.ui.interrupts import Interrupts, quiet_keys
from localspec.ui.markdown import Blocks, render
from localspec.ui.notes import show_note
from localspec.ui.readout import Readout, summary, verdict
from localspec.ui.screen import Screen
from localspec.ui.stats import stats
from localspec.ui.terminal import Terminal, Tone
from localspec.ui.visible import visible

READING = " reading the prompt …"
TAIL_ROWS = 3
ENDS = {
    FinishReason.LENGTH: "cut at the length asked for",
    FinishReason.CONTEXT: "the context is full: the answer ends here",
}


class View(StrEnum):
    """How the answer's text is drawn."""

    TOKENS = "tokens"
    MARKDOWN = "markdown"
    PLAIN = "plain"


class Mark(StrEnum):
    """What tells guessed text apart besides colour; brackets where there are no escapes."""

    NONE = "none"
    UNDERLINE = "underline"


@dataclass(frozen=True)
class ViewOptions:
    """What the user asked to see.

    `readout` is the live line; `quiet` leaves the rest out too; `stats`: all counters each time.
    """

    view: View = View.TOKENS
    mark: Mark = Mark.NONE
    readout: bool = True
    quiet: bool = False
    stats: bool = False


@dataclass
class ChatView:
    """Show answers; remembers what was said once and need not be said again.

    `listeners` see every event, in order, before it is drawn.
    """

    terminal: Terminal
    options: ViewOptions = field(default_factory=ViewOptions)
    interrupts: Interrupts = field(default_factory=Interrupts)
    listeners: list[Callable[[ReplyEvent], None]] = field(default_factory=list)
    reason: Callable[[], str] = str
    _told: str = ""

    def show(self, events: Iterable[ReplyEvent], cancel: Cancel) -> Reply | None:
        """Draw an answer while it is written; give it, however it ended."""
        reply: Reply | None = None
        with (
            Screen(self.terminal) as screen,
            closing(_Painter(screen, self.options)) as painter,
            self.interrupts.answering(cancel),
        ):
            screen.live(READING if self.options.readout else "")
            with quiet_keys(screen):
                for event in events:
                    self.interrupts.check()
                    for listener in self.listeners:
                        listener(event)
                    painter.take(event)
                    reply = event if isinstance(event, Reply) else reply
        if reply and not self.options.quiet:
            self._close(reply)
        if reply:
            self.show_stats(reply)
        return reply

    def show_stats(self, reply: Reply) -> None:
        """Say every counter of an answer, if the user asked for that after each."""
        if self.options.stats:
            for line in stats(reply, self.terminal.width() - 1, unicode=self.terminal.unicode):
                self.terminal.say(line)

    def watch(self, events: Iterator[Step | Comparison], cancel: Cancel) -> Comparison | None:
        """Show how a plain run gets on, without its text; None if it was stopped."""
        found: Comparison | None = None
        with Screen(self.terminal) as screen, self.interrupts.answering(cancel):
            readout = Readout(Tally())
            screen.live(" answering again without the draft …")
            with quiet_keys(screen):
                for event in events:
                    self.interrupts.check()
                    if isinstance(event, Comparison):
                        found = event
                        continue
                    readout.window.add(event)
                    screen.live(readout.line(self.terminal.width()))
        return found

    def _close(self, reply: Reply) -> None:
        """Leave one dim line, and say once what the user should know about it."""
        width = self.terminal.width() - 1
        if self.options.readout:
            line = summary(reply.tally, reply.finish, width)
            self.terminal.say(self.terminal.paint(line, Tone.DIM))
        elif reply.finish is FinishReason.INTERRUPTED:
            show_note(self.terminal, "stopped")
        if reply.finish in ENDS:
            show_note(self.terminal, ENDS[reply.finish])
        sentence = self.reason() or verdict(reply.tally)
        kind = sentence.split(":")[0]
        if sentence and kind != self._told:
            self._told = kind
            show_note(self.terminal, sentence)


class _Painter:
    """Draw the events of one answer."""

    def __init__(self, screen: Screen, options: ViewOptions) -> None:
        self._screen = screen
        self._options = options
        self._readout: Readout | None = None
        self._blocks = Blocks()
        self._neutral = Neutraliser()
        self._gap = ""
        terminal = screen.terminal
        self._markdown = options.view is View.MARKDOWN and terminal.out_ansi

    def take(self, event: ReplyEvent) -> None:
        """Draw one event."""
        if isinstance(event, Said):
            for span in event.spans:
                self._text(span)
        elif isinstance(event, Begun):
            self._readout = Readout(event.tally)
        elif isinstance(event, Step) and self._readout and self._options.readout:
            self._step(event, self._readout)
        elif isinstance(event, Notice) and not self._options.quiet:
            self._screen.aside(self._screen.terminal.paint(f" {visible(event.text)}", Tone.DIM))

    def close(self) -> None:
        """Draw what is still unfinished."""
        if self._markdown:
            for block in self._blocks.flush():
                self._render(block)

    def _text(self, span: Span) -> None:
        if self._markdown:
            for block in self._blocks.feed(self._neutral(span.text)):
                self._render(block)
            return
        terminal = self._screen.terminal
        marked = self._options.mark is Mark.UNDERLINE and span.origin is Origin.DRAFT
        if marked and terminal.shown and not terminal.out_ansi:
            self._screen.write(f"[{span.text}]")
            return
        tones = [Tone.UNDERLINE] if marked else []
        if self._options.view is View.TOKENS:
            tones.append(Tone.DRAFT if span.origin is Origin.DRAFT else Tone.TARGET)
        self._screen.write(span.text, *tones)

    def _render(self, block: str) -> None:
        terminal = self._screen.terminal
        drawn = render(block, terminal.width(), many_colours=terminal.many_colours)
        self._screen.write_rendered(self._gap + drawn)
        self._gap = "\n"

    def _step(self, step: Step, readout: Readout) -> None:
        readout.add(step)
        if not self._screen.due:
            return
        width = self._screen.terminal.width()
        self._screen.live("\n".join([*self._tail(width), readout.line(width)]))

    def _tail(self, width: int) -> list[str]:
        """Give the last lines of the block that is not finished yet."""
        if not self._markdown:
            return []
        return [clip(line, width - 1) for line in self._blocks.rest.splitlines()[-TAIL_ROWS:]]
