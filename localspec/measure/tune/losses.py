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


@dataclass
class Scales:
    """Hold new targets against the given one, each once; the given one is read when first needed.

    `found`: what was held so far.
    """

    reading: Reading
    found: dict[Path, Quality] = field(default_factory=dict, repr=False)
    _reference: Reference | None = field(default=None, repr=False)

    def lost(self, path: Path) -> Quality | None:
        """Give what a target loses; None, with a note, where there is no memory or time for it."""
        if path not in self.found:
            try:
                lost = _lost(path, self._read(), self.reading)
            except OutOfTime:
                self.reading.note(f"no time to hold {path.name} against the given target")
                return None
            if lost is None:
                return None
            self.found[path] = lost
        return self.found[path]

    def _read(self) -> Reference:
        if self._reference is None:
            loaded, reading = self.reading.runtime.loaded, self.reading
            size, room = loaded.model.n_vocab, _options(reading).n_ctx
            windows = windows_of(reading.texts, vocabulary=size, capacity=room)
            reading.say("reading the text with the given target")
            with Context(loaded.model, _options(reading)) as context:
                self._reference = read_reference(context, windows)
        return self._reference


def _options(reading: Reading) -> ContextOptions:
    return replace(reading.runtime.loaded.target.options, strict_rows=None, max_rows=ROWS)


def _lost(path: Path, reference: Reference, reading: Reading) -> Quality | None:
    if not reference.windows:
        reading.note("the text is too short to hold a new target against the given one")
        return None
    if path.stat().st_size > available_bytes():
        reading.note(f"no memory to hold {path.name} against the given target")
        return None
    reading.say(f"reading the text with {path.name}")
    placement = reading.runtime.settings.target
    how = ModelOptions(placement.gpu_layers, placement.device)
    with Model.load(path, how) as model, Context(model, _options(reading)) as context:
        return quality(context, reference, check=reading.deadline.check)
