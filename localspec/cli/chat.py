"""`localspec chat`: open a pair, then answer once or talk.

Knows the order of things: what can be refused without a model is refused before one is loaded.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from localspec.chat.conversation import Conversation
from localspec.chat.session import ChatSession
from localspec.cli.binding import Common
from localspec.cli.build import COLORS, build_settings, one_of
from localspec.cli.chat_options import ChatOptions
from localspec.cli.events import STDOUT, only_steps, recorder
from localspec.cli.files import check_inputs, writable
from localspec.cli.notes import ENGINE_LOG, Notes, engine_log
from localspec.cli.oneshot import OneShot, answer_once
from localspec.cli.opening import opened
from localspec.cli.options import ModelOptions
from localspec.cli.pairfiles import find_pair
from localspec.cli.prompt import Question, read_question
from localspec.cli.room import check_target, make_room
from localspec.cli.tokentext import token_finder
from localspec.cli.tuned import with_tuned
from localspec.errors import OptionError
from localspec.runtime.folders import state_dir
from localspec.runtime.heads import check_heads
from localspec.runtime.layerskip import with_skipped
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import RunSettings
from localspec.ui.stream import ChatView, Mark, View, ViewOptions
from localspec.ui.terminal import open_terminal

VIEWS = tuple(view.value for view in View)
MARKS = tuple(mark.value for mark in Mark)
READOUTS = ("line", "off")
HISTORY = "history"


@dataclass(frozen=True)
class Look:
    """How an answer is shown; each value checked."""

    view: str
    mark: str
    readout: str
    color: str
    stats: bool
    history: bool

    def chat_view(self, quiet: bool) -> ChatView:
        """Open the terminal for answers that look like this."""
        options = ViewOptions(
            View(self.view),
            Mark(self.mark),
            readout=self.readout == "line",
            quiet=quiet,
            stats=self.stats,
        )
        return ChatView(open_terminal(self.color), options)


def run_chat(model: ModelOptions, chat: ChatOptions, common: Common) -> int:
    """Answer a question, or hold a conversation.

    Raises: LocalspecError.
    """
    look = check_look(chat, common)
    question = read_question(chat.prompt, as_json=common.json)
    _check_streams(chat, common, question)
    notes = Notes(bool(common.quiet), common.verbose)
    for note in question.notes if question else ():
        notes.say(note)
    if question and not question.text:
        notes.say("nothing came in: there is nothing to answer")
        return 0
    settings = settings_of(_named(model, notes), notes, tuned_if_saved=True)
    view = look.chat_view(bool(common.quiet))
    silent = notes.quiet or common.verbose >= ENGINE_LOG
    opening = opened(settings, notes.say, terminal=view.terminal, quiet=silent)
    with engine_log(common.verbose), opening as runtime:
        view.reason = runtime.reason
        session = ChatSession(runtime, Conversation(chat.system or ""), tuple(model.stop or ()))
        if question:
            how = OneShot(chat.events, common.json, view)
            return answer_once(session, runtime, question.text, how=how, notes=notes)
        return _talk(session, runtime, view=view, look=look, chat=chat)


def settings_of(
    model: ModelOptions, notes: Notes, *, tuned_if_saved: bool = False, heads_fit: bool = True
) -> RunSettings:
    """Find the files and put the settings together.

    `tuned_if_saved`: a choice kept by `tune --save` is used without being asked for. `heads_fit`:
    heads that were made for another target are refused here, and not found out later.
    Raises: OptionError, NotHere, HubError, PairRefused.
    """
    check_inputs(model)
    model, chosen = with_tuned(model, find_pair(model, notes), notes, if_saved=tuned_if_saved)
    if model.strict_rows is not None and not model.strict:
        notes.say("--strict-rows does nothing without --strict")
    settings = build_settings(
        model,
        chosen.files,
        recommended=chosen.recommended,
        token_of=token_finder(chosen.files.target),
    )
    check_target(settings.files.target)
    if heads_fit:
        check_heads(settings, settings.drafters)
    return make_room(with_skipped(settings, notes.say), notes)


def _named(model: ModelOptions, notes: Notes) -> ModelOptions:
    """Propose a pair when none is named."""
    if model.pair or model.target:
        return model
    check_inputs(model)  # before a download is offered
    from localspec.cli.firstrun import first_pair  # noqa: PLC0415  (a machine is looked at)

    name = first_pair(notes, yes=model.yes, offline=bool(model.offline))
    return replace(model, pair=name)


def check_look(chat: ChatOptions, common: Common) -> Look:
    """Check the words that choose how an answer looks.

    Raises: OptionError.
    """
    return Look(
        view=one_of("--view", chat.view or VIEWS[0], VIEWS),
        mark=one_of("--mark", chat.mark or MARKS[0], MARKS),
        readout=one_of("--readout", chat.readout or READOUTS[0], READOUTS),
        color=one_of("--color", common.color or COLORS[0], COLORS),
        stats=bool(chat.stats),
        history=not chat.no_history,
    )


def _check_streams(chat: ChatOptions, common: Common, question: Question | None) -> None:
    """Refuse two writers on stdout, and a document of a conversation that has no end."""
    if chat.events == STDOUT and common.json:
        raise OptionError(
            "--json and --events - both want stdout", "write the events to a file: --events FILE"
        )
    if chat.events and chat.events != STDOUT:
        writable("--events", Path(chat.events))
    if question is not None:
        return
    if common.json:
        raise OptionError("--json answers one question", "give it with -p, or pipe it in")
    if chat.events == STDOUT:
        raise OptionError(
            "--events - would mix with the conversation", "write the events to a file, or use -p"
        )


def _talk(
    session: ChatSession, runtime: Runtime, *, view: ChatView, look: Look, chat: ChatOptions
) -> int:
    """Hold a conversation until the user leaves; give the exit code."""
    from localspec.ui.lineinput import open_reader  # noqa: PLC0415  (prompt_toolkit is slow)
    from localspec.ui.repl import Repl  # noqa: PLC0415

    reader = open_reader(view.terminal, state_dir() / HISTORY if look.history else None)
    with recorder(chat.events, runtime.vocabulary.piece) as record:
        view.listeners.append(only_steps(record))
        return Repl(session, view, reader).run()
