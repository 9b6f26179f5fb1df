"""Cost curves kept between runs, with their age; and where they come from.

Knows files of JSON in the cache. A curve is read back only for the very machine, engine, file and
options it was measured with.
"""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path

from localspec.measure.costs import CostPoint
from localspec.runtime.folders import cache_dir

VERSION = 2


@dataclass(frozen=True)
class Calibration:
    """A curve and when it was measured. Units: seconds since 1970."""

    points: tuple[CostPoint, ...]
    measured_at: float

    def age_s(self, now: float | None = None) -> float:
        """Give how old it is."""
        return max((time.time() if now is None else now) - self.measured_at, 0.0)


def folder() -> Path:
    """Give the folder of all calibrations."""
    return cache_dir() / "calibration"


def load(key: str) -> Calibration | None:
    """Read a curve back; None where there is none, or none that can be read."""
    try:
        kept = json.loads((folder() / f"{key}.json").read_text(encoding="utf-8"))
        if kept["version"] != VERSION:
            return None
        return Calibration(tuple(map(_point, kept["points"])), float(kept["at"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _point(kept: dict[str, float]) -> CostPoint:
    """Take a point as it was stored.

    Raises: KeyError, TypeError, ValueError, OverflowError for anything else.
    """
    rows, context, samples = (int(kept[name]) for name in ("rows", "context", "samples"))
    median_s, iqr_s = float(kept["median_s"]), float(kept["iqr_s"])
    if rows < 1 or context < 0 or not (isfinite(median_s) and median_s > 0 and iqr_s >= 0):
        raise ValueError("no cost of a pass")
    return CostPoint(rows, context, median_s, iqr_s, samples)


def store(key: str, points: Sequence[CostPoint], *, now: float | None = None) -> None:
    """Keep a curve; a cache that cannot be written is no reason to stop."""
    at = time.time() if now is None else now
    text = json.dumps({"version": VERSION, "at": at, "points": [asdict(p) for p in points]})
    path = folder() / f"{key}.json"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
