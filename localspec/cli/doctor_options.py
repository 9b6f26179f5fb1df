"""The options of `doctor`. Knows words and types."""

from dataclasses import dataclass
from typing import Annotated

from localspec.cli.binding import flag


@dataclass(frozen=True)
class DoctorOptions:
    """How much is looked at, and who reads it."""

    report: Annotated[
        bool,
        flag("--report", group="Doctor", help="Leave out personal paths, to show to others."),
    ] = False
    quick: Annotated[
        bool, flag("--quick", group="Doctor", help="Leave out the measurement with the demo pair.")
    ] = False
