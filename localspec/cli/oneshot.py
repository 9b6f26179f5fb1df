"""One question, one answer: the text to stdout as it comes, or one document at the end.

Knows streams and documents. How text looks is known by `ui`.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localspec.chat.session import ChatSession, Reply, ReplyEvent
from localspec.cli.effective import effective_options
from localspec.cli.events import STDOUT, only_steps, recorder
from localspec.cli.notes import Notes
from localspec.cli.streams import INTERRUPTED
from localspec.core.counted import counted
from localspec.core.events import FinishReason, Notice
from localspec.report.answer import AnswerFacts, chat_document
from localspec.report.write import to_json
from localspec.ui.stream import ChatView

if TYPE_CHECKING:
    from localspec.runtime.pair import Runtime


@dataclass(frozen=True)
class OneShot:
    """Where the answer goes."""

    events: str | None
    as_json: bool
    view: ChatView

    @property
    def shows_text(self) -> bool:
        """Tell whether stdout gets the text."""
        return not self.as_json and self.events != STDOUT


def answer_once(
    session: ChatSession, runtime: "Runtime", text: str, *, how: OneShot, notes: Notes
) -> int:
    """Answer, and give the exit code."""
    with recorder(how.events, runtime.vocabulary.piece) as record:
        events = session.reply(text)
        if how.shows_text:
            how.view.listeners.append(only_steps(record))
            how.view.show(events, runtime.cancel)
        else:
            _follow(events, only_steps(record), notes)
    reply = session.last
    if reply is None:
        raise KeyboardInterrupt
    if reply.invalid:
        notes.say(f"{counted(reply.invalid, 'byte')} of the answer not UTF-8")
    if how.as_json:
        facts = answer_facts(session, runtime, reply, notes)
        sys.stdout.write(to_json(chat_document(facts, reply.tally)) + "\n")
    if not how.shows_text:
        how.view.show_stats(reply)
    return INTERRUPTED if reply.finish is FinishReason.INTERRUPTED else 0


def _follow(events: Iterator[ReplyEvent], listen: Callable[[object], None], notes: Notes) -> None:
    """Let an answer be written without showing its text; Ctrl-C ends it and keeps what is said."""
    try:
        for event in events:
            listen(event)
            if isinstance(event, Notice):
                notes.say(event.text)
    except KeyboardInterrupt:
        notes.say("stopped")


def answer_facts(
    session: ChatSession, runtime: "Runtime", reply: Reply, notes: Notes
) -> AnswerFacts:
    """Collect what the document says besides the counters."""
    facts = runtime.describe()
    options = effective_options(runtime, stops=session.stops, system=session.conversation.system)
    return AnswerFacts(
        pair=facts.name,
        drafter=facts.drafter,
        text=reply.text,
        finish=reply.finish,
        load_s=runtime.loaded.load_s,
        options=options,
        notes=notes.said,
    )
