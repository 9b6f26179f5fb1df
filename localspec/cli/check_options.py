"""The options of `check` alone. Knows words and types; values are checked where they are used."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from localspec.cli.bench_options import TEXTS
from localspec.cli.binding import flag
from localspec.cli.options import PAIR, ModelOptions

CHECK = "Checking"


@dataclass(frozen=True)
class CheckModel(ModelOptions):
    """The options of a run, with as many drafts as one likes."""

    draft: Annotated[
        list[str] | None,
        flag(
            "--draft",
            group=PAIR,
            metavar="REF",
            help="A draft model to look at: a GGUF file or user/repo[:quant]; may be repeated.",
        ),
    ] = None  # type: ignore[assignment]


@dataclass(frozen=True)
class CheckOptions:
    """What to look at, and how closely."""

    quick: Annotated[
        bool, flag("--quick", group=CHECK, help="Headers and memory only; nothing is loaded.")
    ] = False
    suite: Annotated[
        str | None,
        flag("--suite", group=TEXTS, metavar="builtin|KIND|FILE", help="As for bench."),
    ] = None
    text: Annotated[
        list[Path] | None,
        flag("--text", group=TEXTS, metavar="FILE|-", help="Your own text; may be repeated."),
    ] = None
