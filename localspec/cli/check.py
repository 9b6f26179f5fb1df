"""`localspec check`: does a draft fit this target, this machine and this text.

Knows the order of things: headers first, then memory, then costs and replay of plain answers.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from localspec.cli.bench_options import BenchOptions
from localspec.cli.bench_request import read_request
from localspec.cli.binding import Common
from localspec.cli.build import COLORS, one_of
from localspec.cli.chat import settings_of
from localspec.cli.check_options import CheckModel, CheckOptions
from localspec.cli.notes import Notes
from localspec.cli.opening import opened
from localspec.cli.options import ModelOptions
from localspec.cli.quick import Quick, quick_check, quick_document, quick_lines
from localspec.cli.room import headers_of, need
from localspec.core.theory import MAX_GAMMA
from localspec.errors import LocalspecError
from localspec.measure.check import (
    Bench,
    Candidate,
    Checked,
    check_draft,
    check_heads,
    check_lookup,
    ranked,
    ready,
)
from localspec.measure.prepare import Asked, kinds_of
from localspec.report.check import Looked, check_document
from localspec.report.documents import CheckDocument
from localspec.report.write import to_json
from localspec.runtime.loading import carries_prediction_layers
from localspec.runtime.settings import LOOKUP, MODEL, MTP, RunSettings
from localspec.ui.check import check_lines
from localspec.ui.terminal import open_terminal

NO = 3


@dataclass(frozen=True)
class Wanted:
    """One draft to look at: the run it would be, and what its headers say."""

    settings: RunSettings
    quick: Quick | None
    failure: str = ""

    @property
    def path(self) -> Path | None:
        """Give the draft's file."""
        return self.settings.files.draft

    @property
    def fits(self) -> bool:
        """Say whether it can be loaded at all."""
        return not self.failure and (self.quick is None or self.quick.fits)

    def looked(self) -> Looked:
        """Give what the document says of its headers and its memory."""
        findings = self.quick.findings if self.quick else ()
        try:
            headers = headers_of(self.settings)
            memory = need(self.settings, headers).total if headers else None
        except LocalspecError:
            memory = None
        refusal = self.failure or (self.quick.refusal if self.quick else "")
        return Looked(self.path, findings, memory, refusal)


def run_check(model: CheckModel, check: CheckOptions, common: Common) -> int:
    """Look at every draft, rank them, and give 0 when one pays, else 3.

    Raises: LocalspecError.
    """
    color = one_of("--color", common.color or COLORS[0], COLORS)
    request = read_request(BenchOptions(suite=check.suite, text=check.text), temperature=model.temp)
    notes = Notes(bool(common.quiet))
    wanted = [_wanted(each, notes, heads_fit=not check.quick) for each in models_of(model)]
    if check.quick:
        return _show_quick(wanted, common)
    document = measured(wanted, Asked(request.texts, temperatures=request.temperatures), notes)
    if common.json:
        sys.stdout.write(to_json(document) + "\n")
    else:
        terminal = open_terminal(color)
        lines = check_lines(document, terminal.width(), unicode=terminal.unicode)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if document.verdict.use else NO


def models_of(model: CheckModel) -> list[ModelOptions]:
    """Give the options of one run for each draft; one run where no draft is named."""
    shared = {
        field.name: getattr(model, field.name)
        for field in fields(ModelOptions)
        if field.name != "draft"
    }
    drafts: Sequence[str | None] = model.draft or (None,)
    return [ModelOptions(**shared, draft=each) for each in drafts]


def _wanted(model: ModelOptions, notes: Notes, *, heads_fit: bool) -> Wanted:
    """Find the files and read the headers; what cannot be read is a finding, not an end."""
    settings = replace(settings_of(model, notes, heads_fit=heads_fit), gamma=MAX_GAMMA)
    if settings.files.draft is None:
        return Wanted(replace(settings, drafters=(LOOKUP,)), None)
    settings = replace(settings, drafters=(MODEL,))
    try:
        return Wanted(settings, quick_check(settings))
    except LocalspecError as failure:
        return Wanted(settings, None, failure.message)


def _show_quick(wanted: Sequence[Wanted], common: Common) -> int:
    wanted = [
        each if each.quick or each.failure else replace(each, quick=quick_check(each.settings))
        for each in wanted
    ]
    first = next((each.quick for each in wanted if each.quick), None)
    quick = first or quick_check(wanted[0].settings)
    if common.json:
        sys.stdout.write(to_json(quick_document(quick)) + "\n")
    else:
        for each in wanted:
            lines = quick_lines(each.quick) if each.quick else [f"  !  {each.failure}"]
            name = each.path.name if each.path else each.settings.files.target.name
            sys.stdout.write("\n".join([name, *lines, ""]))
    return 0 if all(each.fits for each in wanted) else NO


def measured(wanted: Sequence[Wanted], asked: Asked, notes: Notes) -> CheckDocument:
    """Load the target once, and hold every draft against it.

    Raises: LocalspecError when the target cannot be used.
    """
    own = (MTP,) if carries_prediction_layers(wanted[0].settings.files.target) else ()
    settings = replace(wanted[0].settings, drafters=(LOOKUP, *own))
    terminal = open_terminal(COLORS[0])
    with opened(settings, notes.say, terminal=terminal, quiet=notes.quiet) as runtime:
        kinds = kinds_of(runtime, asked)
        bench = ready(runtime, kinds, temperature=asked.temperatures[0], notify=notes.say)
        candidates = [check_lookup(bench)] if bench.stored.transcripts else []
        candidates += check_heads(bench) if bench.stored.transcripts else []
        looked = []
        for each in wanted:
            looked.append(_screen(each, bench, candidates, notes))
        found: Checked = ranked(bench, candidates)
    return check_document(found, looked)


def _screen(each: Wanted, bench: Bench, found: list[Candidate], notes: Notes) -> Looked:
    """Add a draft's candidate; one that fails to load is said and left out."""
    looked = each.looked()
    if each.path is None or not each.fits or not bench.stored.transcripts:
        return looked
    notes.say(f"reading the answers with {each.path.name} …")
    try:
        found.append(check_draft(bench, each.path))
    except LocalspecError as failure:
        return replace(looked, refusal=failure.message)
    return looked
