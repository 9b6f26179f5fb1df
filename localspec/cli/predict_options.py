"""The options of `predict`. Knows words and types; the ranges are checked where they are used."""

from dataclasses import dataclass
from typing import Annotated

from localspec.cli.binding import flag

NUMBERS = "Numbers"


@dataclass(frozen=True)
class PredictOptions:
    """What the formulas need."""

    alpha: Annotated[
        float | None,
        flag(
            "--alpha",
            "-a",
            group=NUMBERS,
            metavar="A",
            help="Acceptance rate: accepted over judged, 0 to 1.",
        ),
    ] = None
    cost_ratio: Annotated[
        float | None,
        flag(
            "--cost-ratio",
            "-c",
            group=NUMBERS,
            metavar="C",
            help="Seconds of a draft token over seconds of a one-row target pass.",
        ),
    ] = None
    verify_cost: Annotated[
        str | None,
        flag(
            "--verify-cost",
            group=NUMBERS,
            metavar="V2,V3,…",
            help="Cost of passes over 2, 3, … rows, in one-row passes. The papers take 1 each.",
        ),
    ] = None
