"""The options of `bench` alone. Knows words and types; values are checked where they are used."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from localspec.cli.binding import flag, setting

MEASURE = "Measuring"
TEXTS = "Texts"
EXPORT = "Export"


@dataclass(frozen=True)
class BenchOptions:
    """What to measure, on what, for how long, and where it goes."""

    suite: Annotated[
        str | None,
        flag(
            "--suite",
            group=TEXTS,
            metavar="builtin|KIND|FILE",
            help="builtin: code, edit, summary, json, qa, story and turkish; or some of them, with "
            "commas; or a TOML file with a list of prompts.",
        ),
    ] = None
    text: Annotated[
        list[Path] | None,
        flag(
            "--text",
            group=TEXTS,
            metavar="FILE|-",
            help="Your own text, each paragraph continued; may be repeated, each a row.",
        ),
    ] = None
    raw: Annotated[
        bool,
        flag("--raw", group=TEXTS, help="Measure each kind without the chat template, too."),
    ] = False
    gammas: Annotated[
        str | None,
        flag(
            "--gammas",
            group=MEASURE,
            metavar="1,2,4|auto",
            help="auto: the one that the costs and a replay of plain answers promise most of.",
        ),
    ] = None
    drafters: Annotated[
        str | None,
        flag(
            "--drafters",
            group=MEASURE,
            metavar="NAMES",
            help="Which to compare, with commas; a + chains: model,lookup,lookup+model,auto.",
        ),
    ] = None
    temps: Annotated[
        str | None, flag("--temps", group=MEASURE, metavar="0,0.7", help="Temperatures; 0 if none.")
    ] = None
    runs: Annotated[
        int | None,
        setting("--runs", "-r", group=MEASURE, metavar="N", help="Runs of two prompts a kind: 3."),
    ] = None
    warmup: Annotated[
        int | None,
        setting("--warmup", group=MEASURE, metavar="N", help="Prompts before it counts: 1."),
    ] = None
    max_time: Annotated[
        str | None,
        setting("--max-time", group=MEASURE, metavar="10m", help="Longest time: 10m, 90s, 1h."),
    ] = None
    streams: Annotated[
        str | None,
        flag(
            "--streams",
            group=MEASURE,
            metavar="1,2,4,8",
            help="After that, decode so many sequences together: where is the gain gone?",
        ),
    ] = None
    verify: Annotated[
        bool | None,
        flag(
            "--verify/--no-verify",
            group=MEASURE,
            help="Compare the texts with plain ones at temperature 0 (on); with --strict a "
            "difference is an error.",
        ),
    ] = None
    min_speedup: Annotated[
        float | None,
        flag(
            "--min-speedup",
            group=MEASURE,
            metavar="X",
            help="Exit with 3 when the best drafter is not surely that much faster overall.",
        ),
    ] = None
    compare: Annotated[
        Path | None,
        flag(
            "--compare",
            group=EXPORT,
            metavar="FILE",
            help="An older document of this machine; exit with 3 on a clear loss.",
        ),
    ] = None
    save: Annotated[
        Path | None,
        flag("--save", group=EXPORT, metavar="FILE", help="JSON, rewritten after each run."),
    ] = None
    csv: Annotated[
        Path | None, flag("--csv", group=EXPORT, metavar="FILE", help="The raw samples.")
    ] = None
    md: Annotated[Path | None, flag("--md", group=EXPORT, metavar="FILE", help="Markdown.")] = None
    html: Annotated[
        Path | None,
        flag("--html", group=EXPORT, metavar="FILE", help="One page with charts (extra: report)."),
    ] = None
