"""`localspec bench`: measure against plain decoding, and say whether it pays.

Knows the order of things: what can be refused without a model is refused before one is loaded.
"""

import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from localspec.cli.bench_options import BenchOptions
from localspec.cli.bench_out import exit_code, export, save, show
from localspec.cli.bench_request import Request, read_request
from localspec.cli.binding import Common
from localspec.cli.build import COLORS, one_of
from localspec.cli.chat import settings_of
from localspec.cli.effective import OptionValue, effective_options
from localspec.cli.notes import Notes
from localspec.cli.opening import opened
from localspec.cli.options import ModelOptions
from localspec.core.theory import MAX_GAMMA
from localspec.errors import OptionError
from localspec.measure.bench import Tools, run_bench
from localspec.measure.findings import findings_of
from localspec.measure.identity import identify, machine_identity
from localspec.measure.noise import SystemMeter
from localspec.measure.prepare import Asked, Prepared, prepare
from localspec.measure.result import BenchResult
from localspec.measure.streams import StreamsFound, StreamsTools, measure_streams
from localspec.report.bench import BenchFacts, bench_document
from localspec.report.bench_compare import check_same_machine
from localspec.report.bench_documents import BenchDocument, MachineInfo
from localspec.runtime.folders import state_dir
from localspec.runtime.heads import check_heads
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import AUTO, LAYERSKIP, LOOKUP, MODEL, MTP, NONE, RunSettings
from localspec.ui.bench_progress import BenchLine
from localspec.ui.terminal import Terminal, open_terminal

ALONE = 0.5
"""The share of the time for one sequence at a time, where several are measured too."""


@dataclass(frozen=True)
class Output:
    """Where a bench speaks, and where it is saved while it runs."""

    terminal: Terminal
    notes: Notes
    save: Path | None


def run_bench_command(model: ModelOptions, bench: BenchOptions, common: Common) -> int:
    """Measure, show, export, and give the exit code.

    Raises: LocalspecError.
    """
    terminal = open_terminal(one_of("--color", common.color or COLORS[0], COLORS))
    request = with_model_options(read_request(bench, temperature=model.temp), model)
    if request.old is not None:
        check_same_machine(request.old, MachineInfo(**asdict(machine_identity())))
    notes = Notes(bool(common.quiet))
    settings = settings_of(model, notes)
    if request.drafters:
        check_heads(settings, names_in(request))
    settings = bench_settings(settings, request)
    quiet = bool(common.quiet)
    with opened(settings, notes.say, terminal=terminal, quiet=quiet) as runtime:
        document = measure(runtime, request, Output(terminal, notes, bench.save))
    show(document, common, terminal)
    export(document, bench)
    return exit_code(document, request, strict=settings.strict)


def with_model_options(request: Request, model: ModelOptions) -> Request:
    """Let --drafter and --gamma stand for the lists where no list is given.

    Raises: OptionError for --plain, which leaves nothing to compare.
    """
    if model.plain or model.drafter == NONE:
        raise OptionError("--plain leaves nothing to compare", "leave it out")
    if not request.drafters and model.drafter and model.drafter != AUTO:
        request = replace(request, drafters=(model.drafter.replace(",", "+"),))
    if not request.gammas and model.gamma and model.gamma.isdecimal():
        request = replace(request, gammas=(int(model.gamma),))
    if request.streams and model.strict:
        raise OptionError(
            "--streams and --strict contradict each other: passes that hold other sequences "
            "have no width of their own",
            "leave one out",
        )
    if request.streams and request.drafters == (AUTO,):
        raise OptionError(
            "--streams compares drafters with a fixed γ, and 'auto' has none",
            "name others, like --drafters model,lookup",
        )
    return request


def names_in(request: Request) -> tuple[str, ...]:
    """Give the drafters of all chains."""
    return tuple(name for chain in request.drafters for name in chain.split("+"))


def bench_settings(settings: RunSettings, request: Request) -> RunSettings:
    """Give settings that load everything an arm may need, with room for the largest gamma."""
    names = set(names_in(request)) or {AUTO}
    most = max(request.gammas, default=MAX_GAMMA)
    if settings.strict and not request.gammas:
        most = min(most, settings.strict_rows - 1)
    one = MODEL if MODEL in names else AUTO if AUTO in names else LOOKUP
    first = MODEL if LAYERSKIP in names and one == AUTO and settings.files.draft else one
    first = LOOKUP if LAYERSKIP in names and first == AUTO else first
    own = [name for name in (MTP, LAYERSKIP) if name in names and first != AUTO]
    return replace(settings, drafters=(first, *own), gamma=most)


def measure(runtime: Runtime, request: Request, output: Output) -> BenchDocument:
    """Prepare and run; save after each run."""
    began = perf_counter()
    prepared = prepare(runtime, asked(request, output.notes))
    facts = bench_facts(runtime, request, prepared)
    kept = state_dir() / "runs" / f"bench-{time.strftime('%Y%m%d-%H%M%S')}.json"

    together: list[StreamsFound] = []

    def document(result: BenchResult) -> BenchDocument:
        return bench_document(facts, result, findings_of(result), streams=together)

    def saved(result: BenchResult) -> None:
        save(document(result), output.save, kept)

    left = max(request.max_s - (perf_counter() - began), 1.0)
    with BenchLine(output.terminal, quiet=output.notes.quiet) as line:
        tools = Tools(
            perf_counter,
            meter=SystemMeter(perf_counter),
            costs=prepared.costs,
            max_s=left * (ALONE if request.streams else 1),
            warmup=request.warmup,
            progress=line,
            saved=saved,
            costs_again=prepared.costs_again,
        )
        result = run_bench(prepared.design, prepared.runner, tools)
        if request.streams and result.stopped != "interrupted":
            own = streams_tools(line, end=began + request.max_s)
            for found in measure_streams(prepared.runner, prepared.design, request.streams, own):
                together.append(found)
                saved(result)
        return document(result)


def streams_tools(line: BenchLine, *, end: float) -> StreamsTools:
    """Give what the measurement of several sequences works with."""
    return StreamsTools(
        perf_counter,
        meter=SystemMeter(perf_counter),
        end=end,
        progress=line,
        notify=line.say,
    )


def asked(request: Request, notes: Notes) -> Asked:
    """Give what to compare."""
    return Asked(
        request.texts,
        gammas=request.gammas,
        drafters=request.drafters,
        temperatures=request.temperatures,
        runs=request.runs,
        verify=request.verify,
        raw=request.raw,
        notify=notes.say,
    )


def bench_facts(runtime: Runtime, request: Request, prepared: Prepared) -> BenchFacts:
    """Collect what the document says besides the measurements."""
    loaded = runtime.loaded
    facts = runtime.describe()
    arms = [arm.label for arm in prepared.design.arms]
    own: dict[str, OptionValue] = {
        "arms": arms,
        "temps": [f"{value:g}" for value in request.temperatures],
        "suite": [texts.name for texts in request.texts],
        "runs": request.runs,
        "warmup": request.warmup,
        "max_time_s": request.max_s,
        "streams": [str(count) for count in request.streams],
        "verify": request.verify,
        "raw": request.raw,
        "max_tokens": prepared.runner.max_tokens,
    }
    return BenchFacts(
        facts.name,
        identify(loaded.model.path),
        identify(loaded.draft_model.path) if loaded.draft_model else None,
        machine_identity(),
        {**effective_options(runtime), **own},
        datetime.now(UTC).isoformat(timespec="seconds"),
        expected=prepared.screens,
    )
