"""What passes cost here: measured once when a pair is opened, kept, and corrected while decoding.

Knows contexts and a file in the cache. Decides nothing: the policy reads the numbers.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from localspec.core.cost_curve import CostPoint, CostSeed
from localspec.core.tokens import TokenSequence, sync
from localspec.engine.library import engine_build, waiting_policy
from localspec.runtime.folders import cache_dir, short_name
from localspec.runtime.loading import Loaded
from localspec.runtime.threading import choose

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)
REPEATS = 3
START = 32
DRAFTED = 4
METHOD = 2
"""How costs are timed; what another way gave is measured anew."""
BUDGET_S = 4.0
Clock = Callable[[], float]
UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def calibrate(loaded: Loaded, *, clock: Clock = perf_counter) -> CostSeed:
    """Measure passes of several widths at a short context, and a drafted token.

    Widths take turns, so that a slow moment hits them all, and the least of each counts: other
    programs can only add. It stops early when the budget of seconds is spent. Leaves both caches
    empty.
    """
    end = clock() + BUDGET_S
    taken: dict[int, list[float]] = {}
    drafted: dict[str, list[float]] = {name: [] for name in loaded.drafts}
    sequences = loaded.contexts
    start = min(START, min(each.capacity for each in sequences) // 4)
    ahead = min(DRAFTED, min(each.capacity for each in sequences) - start)
    rows = [n for n in ROWS if n <= loaded.target.max_rows and start + n <= loaded.target.capacity]
    for sequence in sequences:
        sequence.extend(_filler(start), 0)
    for repeat in range(REPEATS):
        for count in rows:
            if clock() < end or not repeat:
                taken.setdefault(count, []).append(_pass_s(loaded.target, start, count, clock))
        for name, draft in loaded.drafts.items():
            drafted[name] += [_pass_s(draft, start + i, 1, clock) for i in range(ahead)]
    for sequence in sequences:
        sequence.rewind(0)
    points = tuple(CostPoint(count, start, min(seen)) for count, seen in taken.items())
    fastest = {name: median(sorted(seen)[:ahead]) for name, seen in drafted.items()}
    return CostSeed(points, fastest)


def known_costs(loaded: Loaded) -> CostSeed:
    """Give the kept calibration of this machine, engine and pair, or measure it now."""
    try:
        kept = _kept(loaded)
        points = tuple(
            CostPoint(int(p["rows"]), int(p["context"]), _seconds(p["seconds"]))
            for p in kept["passes"]
        )
        return CostSeed(points, {str(k): _seconds(v) for k, v in kept["drafts"].items()})
    except UNREADABLE:
        for context in loaded.contexts:
            choose(context, clock=perf_counter)
        seed = calibrate(loaded)
        keep_costs(loaded, seed)
        return seed


def recall_threads(loaded: Loaded) -> None:
    """Use the numbers of threads that a kept calibration chose; the default where there is none."""
    most = 4 * (os.cpu_count() or 1)
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        kept = [(int(one), int(more)) for one, more in _kept(loaded)["threads"]]
        for context, both in list(zip(loaded.contexts, kept, strict=True)):
            if context.options.threads is None and all(1 <= each <= most for each in both):
                context.set_threads(*both)


def _kept(loaded: Loaded) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kept_path(loaded).read_text(encoding="utf-8"))
    return found


def _seconds(kept: float) -> float:
    """Take seconds as they were stored; anything else is a ValueError or its like."""
    seconds = float(kept)
    if not 0 <= seconds < inf:
        raise ValueError("no seconds of a pass")
    return seconds


def keep_costs(loaded: Loaded, seed: CostSeed) -> None:
    """Write a calibration; a cache that cannot be written is no reason to fail."""
    write_kept(kept_path(loaded), json.dumps(asdict(seed) | _circumstances(loaded)))


def write_kept(path: Path, text: str) -> None:
    """Write a file of the cache at once or not at all."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _circumstances(loaded: Loaded) -> dict[str, object]:
    """Give what a cost was measured with besides files and options."""
    return {
        "threads": [context.threads for context in loaded.contexts],
        "waiting": waiting_policy(),
    }


def _filler(count: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.arange(count, dtype=np.int32) % 100 + 10


def _pass_s(sequence: TokenSequence, start: int, rows: int, clock: Clock) -> float:
    """Time one pass of `rows` rows after `start` tokens, as verification does it."""
    sync(sequence, _filler(start), 0)
    ids = _filler(rows)
    if rows == 1:  # as in plain decoding, where the pass before it had one row too
        sequence.extend(ids, 1)
        sequence.rewind(start)
    begun = clock()
    logits = sequence.extend(ids, rows)
    logits[-1].argmax()
    return clock() - begun


def kept_path(loaded: Loaded) -> Path:
    """Name the file by everything that a cost depends on."""
    contexts = loaded.contexts
    paths = [context.model.path for context in contexts]
    files = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in paths]
    facts: list[object] = [
        METHOD,
        platform.node(),
        platform.processor(),
        os.cpu_count(),
        engine_build(),
        files,
    ]
    facts.append([repr(context.options) for context in contexts])
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    return cache_dir() / "calibration" / f"{short_name(loaded.model.path.stem)}-{digest}.json"
