"""`localspec trace`: one answer, round by round, as text, as a document or as a page.

Knows the order of things: what can be refused without a model is refused before one is loaded.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from localspec.cli.binding import Common
from localspec.cli.build import COLORS, one_of, whole
from localspec.cli.chat import settings_of
from localspec.cli.files import existing, writable, write_whole
from localspec.cli.notes import Notes
from localspec.cli.opening import opened
from localspec.cli.options import ModelOptions
from localspec.cli.prompt import read_question
from localspec.cli.streams import INTERRUPTED
from localspec.cli.trace_options import TraceOptions
from localspec.cli.trace_run import Ask, measured_costs, trace_answer
from localspec.core.rules import RuleName
from localspec.errors import NotHere, OptionError
from localspec.report.bench_documents import BenchDocument
from localspec.report.trace import DEFAULT_TOP
from localspec.report.trace_documents import TraceDocument, TraceRound
from localspec.report.trace_page import Busy, PageOptions, trace_page
from localspec.report.trace_words import LANGUAGES, Language
from localspec.report.write import to_json
from localspec.runtime.settings import RunSettings
from localspec.ui.interrupts import Interrupts
from localspec.ui.terminal import Terminal, open_terminal
from localspec.ui.trace import show_round, show_summary, show_ways, wait_for_key

MOST_TOP = 100
PASS_REPEATS = 5
GAMMA = 4


@dataclass(frozen=True)
class Show:
    """How the trace is shown; each value checked."""

    terminal: Terminal
    lang: Language
    top: int
    step: bool
    html: Path | None
    busy: tuple[Busy, ...]
    as_json: bool

    def round(self, one: TraceRound, number: int) -> bool:
        """Show a round; False when the user has seen enough."""
        if not self.as_json:
            show_round(self.terminal, one, number)
        return not self.step or wait_for_key(self.terminal)


def run_trace(model: ModelOptions, trace: TraceOptions, common: Common) -> int:
    """Answer once, and show how.

    Raises: LocalspecError.
    """
    show = _checked(model, trace, common)
    question = read_question(trace.prompt, as_json=common.json)
    if question is None or not question.text:
        raise OptionError("there is nothing to answer", "give it with -p, or pipe it in")
    notes = Notes(bool(common.quiet))
    for note in question.notes:
        notes.say(note)
    settings = telling(settings_of(model, notes), model)
    opening = opened(settings, notes.say, terminal=show.terminal, quiet=notes.quiet)
    with opening as runtime:
        ask = Ask(question.text, trace.system or "", show.top, notes)
        interrupts = Interrupts()
        with interrupts.answering(runtime.cancel):
            traced = trace_answer(runtime, ask, show.round)
        stopped = runtime.cancel.is_set()
        if show.html and not stopped:
            notes.say("timing passes of 1 to 16 tokens …")
            traced = replace(traced, costs=measured_costs(runtime, traced, PASS_REPEATS))
        document = traced.document(runtime, ask)
    _show(document, show, quiet=bool(common.quiet), notes=notes)
    return INTERRUPTED if stopped else 0


def telling(settings: RunSettings, model: ModelOptions) -> RunSettings:
    """Choose what shows most where nobody chose: the token rule, and guesses even if they cost.

    The token rule's chances can be read off one place, those of the block rule cannot; `auto` stops
    guessing where it does not pay, and then there is nothing to see.
    """
    rule = settings.rule if model.rule else RuleName.TOKEN
    gamma = settings.gamma
    if model.gamma is None:
        gamma = min(GAMMA, settings.strict_rows - 1) if settings.strict else GAMMA
    return replace(settings, rule=rule, gamma=gamma, keep_laws=True)


def _checked(model: ModelOptions, trace: TraceOptions, common: Common) -> Show:
    """Refuse what cannot be honoured.

    Raises: OptionError, NotHere.
    """
    if model.stop:
        raise OptionError("trace knows no --stop", "end the answer with -n")
    if trace.step and common.json:
        raise OptionError("--step and --json contradict each other", "leave one out")
    if trace.step and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OptionError("--step waits for keys, and there is no terminal", "leave it out")
    if (trace.lang or trace.bench) and not trace.html:
        flag = "--lang" if trace.lang else "--bench"
        raise OptionError(f"{flag} is for the page", "add --html FILE")
    writable("--html", trace.html)
    return Show(
        terminal=open_terminal(one_of("--color", common.color or COLORS[0], COLORS)),
        lang=cast("Language", one_of("--lang", trace.lang or LANGUAGES[0], LANGUAGES)),
        top=whole("--top", trace.top, low=1, high=MOST_TOP) or DEFAULT_TOP,
        step=trace.step,
        html=trace.html,
        busy=busy_machine(trace.bench) if trace.bench else (),
        as_json=common.json,
    )


def busy_machine(path: Path) -> tuple[Busy, ...]:
    """Read what a bench measured with several requests at the same time.

    Raises: NotHere, OptionError for another kind of file or a bench without streams.
    """
    existing("--bench", path)
    try:
        document = BenchDocument.model_validate_json(path.read_bytes())
    except OSError as failure:
        raise NotHere(f"--bench: {path} cannot be read", str(failure.strerror)) from None
    except ValidationError:
        raise OptionError(
            f"--bench: {path} is no document of a bench",
            "make one with: localspec bench … --streams 1,2,4,8 --save FILE",
        ) from None
    if not document.streams:
        raise OptionError(
            f"--bench: {path} measured no streams",
            "add --streams 1,2,4,8 to that bench, or leave --bench out",
        )
    best: dict[int, float] = {}
    for point in document.streams:
        best[point.streams] = max(best.get(point.streams, 0.0), point.speedup.value)
    return tuple(Busy(count, speedup) for count, speedup in best.items())


def _show(document: TraceDocument, show: Show, *, quiet: bool, notes: Notes) -> None:
    if show.as_json:
        sys.stdout.write(to_json(document) + "\n")
    elif not quiet:
        show_ways(show.terminal, [one.way for one in document.rounds])
        show_summary(show.terminal, document)
    if show.html:
        samples = PASS_REPEATS if document.costs else 0
        options = PageOptions(show.lang, busy=show.busy, samples=samples)
        write_whole(show.html, trace_page(document, options))
        notes.say(f"the page is in {show.html}")
