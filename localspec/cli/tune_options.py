"""The options of `tune` alone. Knows words and types; values are checked where they are used."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from localspec.cli.bench_options import TEXTS
from localspec.cli.binding import flag

SEARCH = "Searching"


@dataclass(frozen=True)
class TuneOptions:
    """What to tune for, how long, and what may be lost."""

    suite: Annotated[
        str | None,
        flag("--suite", group=TEXTS, metavar="builtin|KIND|FILE", help="As for bench."),
    ] = None
    text: Annotated[
        list[Path] | None,
        flag("--text", group=TEXTS, metavar="FILE|-", help="Your own text; may be repeated."),
    ] = None
    max_time: Annotated[
        str | None,
        flag(
            "--max-time",
            group=SEARCH,
            metavar="10m",
            help="Longest time, 10m: what there is no time for is left out and named.",
        ),
    ] = None
    max_kl: Annotated[
        float | None,
        flag(
            "--max-kl",
            group=SEARCH,
            metavar="X",
            help="Most that a new target may differ from the given one: mean KL divergence in "
            "nats a token, 0.05.",
        ),
    ] = None
    layerskip: Annotated[
        bool,
        flag(
            "--layerskip",
            group=SEARCH,
            help="Also look for blocks that the target can do without, and try what is left as "
            "its draft; it seldom pays.",
        ),
    ] = False
    save: Annotated[
        bool,
        flag(
            "--save",
            group=SEARCH,
            help="Let chat use the choice without --tuned; --no-tuned leaves it out.",
        ),
    ] = False
