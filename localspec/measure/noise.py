"""What else the machine was doing: other programs, drift, outliers, clocks.

The only place that asks psutil. Knows shares, seconds and thresholds; does not run anything.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import psutil

OTHERS_LIMIT = 0.10
DRIFT_LIMIT = 0.03
DRIFT_TOO_MUCH = 0.15
OUTLIER_Z = 3.5
OUTLIER_SHARE = 0.10
CLOCK_LIMIT = 0.10


@dataclass(frozen=True)
class Reading:
    """Processor seconds since some fixed moment: all used, ours, and the seconds that passed."""

    used_s: float
    own_s: float
    wall_s: float


class Meter(Protocol):
    """Tell how busy the processors were."""

    def read(self) -> Reading:
        """Give the counters now."""
        ...

    @property
    def processors(self) -> int:
        """Give the processors we may use."""
        ...


def others_share(before: Reading, after: Reading, processors: int) -> float | None:
    """Give other programs' share of our processors between two readings; None for no time.

    The counters tick in hundredths of a second: a span below a few ticks says nothing.
    """
    wall = after.wall_s - before.wall_s
    if wall < 0.05:
        return None
    others = (after.used_s - before.used_s) - (after.own_s - before.own_s)
    return min(max(others / (wall * processors), 0.0), 1.0)


@dataclass
class SystemMeter:
    """Read the system's counters for the processors this process may run on.

    Time stolen by a hypervisor counts as used by others.
    """

    clock: Callable[[], float]
    _cpus: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._process = psutil.Process()
        affinity = getattr(os, "sched_getaffinity", None)
        self._cpus = tuple(sorted(affinity(0))) if affinity else tuple(range(os.cpu_count() or 1))

    @property
    def processors(self) -> int:
        """Give the processors we may use."""
        return len(self._cpus)

    def read(self) -> Reading:
        """Give the counters now."""
        times = psutil.cpu_times(percpu=True)
        ours = self._process.cpu_times()
        used = sum(_busy(times[cpu]) for cpu in self._cpus if cpu < len(times))
        own = ours.user + ours.system
        return Reading(used, own, self.clock())


def _busy(times: object) -> float:
    """Add everything but waiting; guests are in `user` already."""
    names = ("user", "nice", "system", "irq", "softirq", "steal", "interrupt", "dpc")
    return sum(float(getattr(times, name, 0.0)) for name in names)


def clock_mhz() -> float | None:
    """Give the processors' present clock, where the system tells."""
    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError, AttributeError, RuntimeError):
        return None
    return float(frequency.current) if frequency and frequency.current else None


def outliers(values: Sequence[float]) -> list[int]:
    """Name the places of values far above the others, by the modified z-score.

    Only slow ones: nothing makes a pass faster than it is. At least a tenth above the median, as
    very even values have a tiny spread.
    Source: Iglewicz and Hoaglin 1993, "How to detect and handle outliers".
    """
    if len(values) < 4:
        return []
    data = np.asarray(values, np.float64)
    middle = np.median(data)
    spread = float(np.median(np.abs(data - middle)))
    scores = 0.6745 * (data - middle) / max(spread, 1e-3 * float(middle))
    found = (scores > OUTLIER_Z) & (data > middle * (1 + OUTLIER_SHARE))
    return [int(place) for place in np.flatnonzero(found)]


def relative_spread(values: Sequence[float]) -> float:
    """Give a robust standard deviation over the median."""
    data = np.asarray(values, np.float64)
    middle = float(np.median(data))
    return 1.4826 * float(np.median(np.abs(data - middle))) / middle if middle > 0 else 0.0
