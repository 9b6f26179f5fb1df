"""`localspec tune`: the fastest arrangement of files here, and what it costs in quality.

Knows the order of things: what can be refused without a model is refused before one is loaded.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from localspec.cli import pairs_here
from localspec.cli.bench_options import BenchOptions
from localspec.cli.bench_request import Request, read_request
from localspec.cli.binding import Common
from localspec.cli.build import COLORS, number, one_of
from localspec.cli.chat import settings_of
from localspec.cli.effective import OptionValue, effective_options
from localspec.cli.notes import Notes
from localspec.cli.opening import opened
from localspec.cli.options import ModelOptions
from localspec.cli.streams import INTERRUPTED
from localspec.cli.tune_options import TuneOptions
from localspec.cli.tuned import words
from localspec.core.theory import MAX_GAMMA
from localspec.errors import LocalspecError, NotHere, OptionError
from localspec.measure.identity import machine_identity
from localspec.measure.noise import SystemMeter
from localspec.measure.prepare import Asked, check_sizes, kinds_of
from localspec.measure.tune.candidates import Layout
from localspec.measure.tune.guessers import heads_of
from localspec.measure.tune.layerskip import layerskip_guessers
from localspec.measure.tune.result import Tried, Tuned
from localspec.measure.tune.tune import tune
from localspec.measure.tune.wanted import MOST_KL, Told, Wanted
from localspec.pairs.catalogue import Pair
from localspec.pairs.resolve import find_model
from localspec.report.tune import TuneFacts, tune_document
from localspec.report.write import to_json
from localspec.runtime.choices import Choice, ChosenFile, save_choice
from localspec.runtime.loading import carries_prediction_layers
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import (
    AUTO,
    HEADS,
    LAYERSKIP,
    LOOKUP,
    MODEL,
    MTP,
    NONE,
    PairFiles,
    RunSettings,
)
from localspec.ui.terminal import open_terminal
from localspec.ui.tune import tune_lines
from localspec.ui.tune_progress import TuneLine

NO = 3
TRIED = (AUTO, MODEL, LOOKUP, *HEADS, NONE)


@dataclass(frozen=True)
class _Asked:
    """A tune as asked for; all of it checked."""

    request: Request
    max_kl: float
    save: bool
    drafters: tuple[str, ...]
    layerskip: bool
    began: float


def run_tune(model: ModelOptions, options: TuneOptions, common: Common) -> int:
    """Search, show, keep the choice; give 0 when one pays, 3 when none does, 130 after Ctrl-C.

    Raises: LocalspecError.
    """
    terminal = open_terminal(one_of("--color", common.color or COLORS[0], COLORS))
    asked = _asked(model, options)
    notes, quiet = Notes(bool(common.quiet)), bool(common.quiet)
    settings = _settings(settings_of(_loaded(model, asked), notes))
    _check_heads(settings, asked)
    with (
        opened(settings, notes.say, terminal=terminal, quiet=quiet) as runtime,
        TuneLine(terminal, quiet=quiet) as line,
    ):
        check_sizes(runtime)
        wanted, found_notes = _wanted(runtime, model, asked, line)
        tuned = tune(runtime, wanted)
        tuned = replace(tuned, notes=(*found_notes, *tuned.notes))
        options_echo = _echo(runtime, asked)
        name = runtime.describe().name
    saved = _keep(settings.files, tuned, asked, notes)
    facts = TuneFacts(name, settings.files, machine_identity(), options_echo, saved)
    document = tune_document(facts, tuned)
    if common.json:
        sys.stdout.write(to_json(document) + "\n")
    else:
        pair = words(model)
        lines = tune_lines(document, terminal.width(), pair=pair, unicode=terminal.unicode)
        sys.stdout.write("".join(f"{each}\n" for each in lines))
    if tuned.stopped == "interrupted":
        return INTERRUPTED
    return 0 if tuned.best else NO


def _asked(model: ModelOptions, options: TuneOptions) -> _Asked:
    """Check what can be checked without a model.

    Raises: OptionError, NotHere.
    """
    if model.tuned:
        raise OptionError("tune starts from the files as they are given", "leave --tuned out")
    if model.head and not model.plain:
        raise OptionError(
            "tune tries the heads of the pair, not one that --head names",
            "leave --head out; localspec bench tries it",
        )
    if options.layerskip and model.plain:
        raise OptionError("--layerskip looks for a draft, --plain wants none", "leave one out")
    texts = BenchOptions(suite=options.suite, text=options.text, max_time=options.max_time)
    request = read_request(texts, temperature=model.temp)
    most = number("--max-kl", options.max_kl, low=0, high=100)
    named = NONE if model.plain else model.drafter
    drafters = tuple(map(str.strip, named.split(","))) if named and named != AUTO else ()
    other = [name for name in drafters if name not in TRIED]
    if other:
        more = "tune --layerskip searches it" if other[0] == LAYERSKIP else (
            f"localspec bench --drafters {other[0]} measures it")  # fmt: skip
        raise OptionError(
            f"tune tries {', '.join(TRIED[1:-1])}, not {other[0]}", f"leave it out; {more}"
        )
    if options.layerskip and drafters:
        drafters = (*drafters, LAYERSKIP)
    kl = MOST_KL if most is None else most
    return _Asked(request, kl, options.save, drafters, options.layerskip, perf_counter())


def _loaded(model: ModelOptions, asked: _Asked) -> ModelOptions:
    """Leave the heads out of what is loaded first; they are made when they are tried."""
    if not set(asked.drafters) & set(HEADS):
        return model
    rest = [name for name in asked.drafters if name in (MODEL, LOOKUP)]
    return replace(model, drafter=",".join(rest) or LOOKUP)


def _check_heads(settings: RunSettings, asked: _Asked) -> None:
    """Refuse a head that does not come with the pair, before anything is loaded.

    Raises: OptionError.
    """
    own = heads_of(settings)
    missing = [name for name in asked.drafters if name in HEADS and name not in own]
    if missing:
        raise OptionError(
            f"tune tries the heads of the pair, and this one has none for {missing[0]}",
            f"leave {missing[0]} out; localspec bench --head FILE tries another file's",
        )


def _settings(settings: RunSettings) -> RunSettings:
    """Give settings that load the draft, with room for the largest gamma."""
    most = min(MAX_GAMMA, settings.strict_rows - 1) if settings.strict else MAX_GAMMA
    model = settings.files.draft is not None and set(settings.drafters) & {AUTO, MODEL}
    own = (MTP,) if carries_prediction_layers(settings.files.target) else ()
    return replace(settings, drafters=(MODEL if model else LOOKUP, *own), gamma=most)


def _wanted(
    runtime: Runtime, model: ModelOptions, asked: _Asked, line: TuneLine
) -> tuple[Wanted, list[str]]:
    request = asked.request
    published, notes = _published(model, runtime.loaded.model.path)
    wanted = Wanted(
        kinds_of(runtime, Asked(request.texts, temperatures=request.temperatures)),
        request.temperatures[0],
        max(request.max_s - (perf_counter() - asked.began), 1.0),
        asked.max_kl,
        published=published,
        sources=(layerskip_guessers,) if asked.layerskip else (),
        drafters=asked.drafters,
        told=Told(line.say, line.done, line.progress),
        meter=SystemMeter(perf_counter),
    )
    return wanted, notes


def _published(model: ModelOptions, target: Path) -> tuple[tuple[Layout, ...], list[str]]:
    """Find the makers' own files of the target in other layouts; name those that are not here."""
    pair = _pair(model)
    if pair is None:
        return (), []
    here, notes = [], []
    for quant, variant in pair.variants.items():
        path = find_model(variant.target)
        if path is None:
            notes.append(
                f"a published {quant} would lose less than one made here: localspec models pull "
                f"{pair.name}@{quant}"
            )
        elif path.resolve() != target.resolve():
            here.append(Layout(path, published=True))
    return tuple(here), notes


def _pair(model: ModelOptions) -> Pair | None:
    if not model.pair or model.target:
        return None
    try:
        return pairs_here.catalogue().get(model.pair.partition("@")[0])
    except NotHere:
        return None


def _echo(runtime: Runtime, asked: _Asked) -> dict[str, OptionValue]:
    request = asked.request
    own: dict[str, OptionValue] = {
        "suite": [texts.name for texts in request.texts],
        "max_time_s": request.max_s,
        "max_kl": asked.max_kl,
        "layerskip": asked.layerskip,
        "save": asked.save,
        "temps": [f"{value:g}" for value in request.temperatures],
    }
    return {**effective_options(runtime), **own}


def _keep(given: PairFiles, tuned: Tuned, asked: _Asked, notes: Notes) -> Path | None:
    """Keep the choice; one that cannot be written is said, since the tune itself was done."""
    if tuned.best is None:
        return None
    try:
        return save_choice(given, _choice(tuned.best, asked.save))
    except LocalspecError as failure:
        notes.say(f"{failure.message}; {failure.hint}")
        return None


def _choice(best: Tried, always: bool) -> Choice:
    arrangement = best.arrangement
    return Choice(
        _file(arrangement.target),
        _file(arrangement.draft) if arrangement.draft else None,
        arrangement.drafter,
        arrangement.gamma or None,
        best.speedup or 1.0,
        best.quality.kl_mean.value if best.quality else 0.0,
        always=always,
    )


def _file(layout: Layout) -> ChosenFile:
    return ChosenFile(str(layout.source.absolute()), layout.recipe)
