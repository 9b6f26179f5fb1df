"""How often a pair's drafters were accepted in earlier sessions: kept beside its calibration.

Knows a file in the cache and the date. A habit weighs half as much after a month.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from localspec.core.habits import Habit
from localspec.runtime.calibration import kept_path, write_kept
from localspec.runtime.loading import Loaded

Habits = Mapping[str, Mapping[str, Habit]]
"""By the law that judges (`greedy`, `sampled`, `coupled`), then by drafter."""

HALVED_S = 30 * 24 * 3600.0
Clock = Callable[[], float]


def kept_habits(loaded: Loaded, *, clock: Clock = time.time) -> Habits:
    """Give what is kept of this pair, the older the weaker; nothing where it cannot be read."""
    try:
        kept = json.loads(_path(loaded).read_text(encoding="utf-8"))
        share = 0.5 ** (max(clock() - float(kept["at"]), 0.0) / HALVED_S)
        return {
            str(law): {str(name): _habit(found).aged(share) for name, found in drafters.items()}
            for law, drafters in kept["habits"].items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def keep_habits(loaded: Loaded, habits: Habits, *, clock: Clock = time.time) -> None:
    """Write them; a cache that cannot be written is no reason to fail."""
    if not habits:
        return
    found = {law: {name: asdict(it) for name, it in kept.items()} for law, kept in habits.items()}
    with suppress(OSError):
        write_kept(_path(loaded), json.dumps({"at": clock(), "habits": found}))


def _habit(found: Mapping[str, float]) -> Habit:
    """Read one.

    Raises: ValueError for numbers that no acceptance has.
    """
    habit = Habit(float(found["mean"]), float(found["count"]))
    if not (0.0 <= habit.mean <= 1.0 and 0.0 <= habit.count < 1e9):
        raise ValueError("no acceptance rate")
    return habit


def _path(loaded: Loaded) -> Path:
    return kept_path(loaded).with_suffix(".acceptance.json")
