"""New targets read over the user's text beside the given one.

Knows a loaded pair, files and memory. What is compared, and how, is known by `quality`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from localspec.core.tokens import Tokens
from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.measure.machine import available_bytes
from localspec.measure.tune.candidates import Deadline, OutOfTime
from localspec.measure.tune.quality import (
    ROWS,
    Quality,
    Reference,
    quality,
    read_reference,
    windows_of,
)
from localspec.runtime.pair import Runtime


@dataclass(frozen=True)
class Reading:
    """What is read, until when, and who is told."""

    runtime: Runtime
    texts: Sequence[Tokens] = field(repr=False)
    deadline: Deadline
    say: Callable[[str], None] = field(repr=False)
    note: Callable[[str], None] = field(repr=False)


def losses(paths: Sequence[Path], reading: Reading) -> dict[Path, Quality]:
    """Hold each file against the given target; what there is no memory or time for is noted."""
    loaded = reading.runtime.loaded
    options = replace(loaded.target.options, strict_rows=None, max_rows=ROWS)
    windows = windows_of(reading.texts, vocabulary=loaded.model.n_vocab, capacity=options.n_ctx)
    if not windows:
        reading.note("the text is too short to hold the new target against the given one")
        return {}
    reading.say("reading the text with the given target")
    with Context(loaded.model, options) as context:
        reference = read_reference(context, windows)
    found: dict[Path, Quality] = {}
    for path in paths:
        reading.say(f"reading the text with {path.name}")
        try:
            lost = _lost(path, options, reference, reading)
        except OutOfTime:
            reading.note(f"no time to hold {path.name} against the given target")
            break
        if lost is not None:
            found[path] = lost
    return found


def _lost(
    path: Path, options: ContextOptions, reference: Reference, reading: Reading
) -> Quality | None:
    if path.stat().st_size > available_bytes():
        reading.note(f"no memory to hold {path.name} against the given target")
        return None
    placement = reading.runtime.settings.target
    how = ModelOptions(placement.gpu_layers, placement.device)
    with Model.load(path, how) as model, Context(model, options) as context:
        return quality(context, reference, check=reading.deadline.check)
