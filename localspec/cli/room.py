"""Room for a run: contexts and layers that fit in what is free now, settled before any weight.

Knows headers, this machine's free memory and the engine's devices. Loads nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localspec.cli.notes import Notes
from localspec.engine.devices import list_devices
from localspec.errors import LocalspecError, PairRefused
from localspec.measure.machine import available_bytes
from localspec.pairs.header import Header, read_header
from localspec.pairs.kinds import NOT_A_DRAFT, an, mode_of
from localspec.pairs.memory import Load, Memory, Room, auto_context, estimate, show_bytes
from localspec.pairs.placement import Device, plan
from localspec.pairs.rollback import in_words
from localspec.runtime.caches import draft_load, target_load
from localspec.runtime.settings import DEFAULT_CONTEXT, RunSettings


@dataclass(frozen=True)
class Headers:
    """What is known of a run's files before they are loaded; no draft when none is used."""

    target: Header
    draft: Header | None
    skipped: Header | None = None

    @property
    def shared(self) -> bool:
        """Tell whether both are one file, whose weights are loaded once."""
        return self.draft is not None and self.draft.path == self.target.path


@dataclass(frozen=True)
class Need:
    """What both models take, at the contexts of the settings."""

    target: Memory
    draft: Memory | None
    shared: bool = False
    skipped: Memory | None = None

    @property
    def total(self) -> int:
        """Give the bytes of all together."""
        own = self.target.total + (self.skipped.total if self.skipped else 0)
        if self.draft is None:
            return own
        both = own + self.draft.total
        return both - self.draft.weights - self.draft.vocabulary if self.shared else both

    def __str__(self) -> str:
        """Write it as a person would read it."""
        named = {"target": self.target, "draft": self.draft, "layerskip draft": self.skipped}
        parts = [(name, part) for name, part in named.items() if part]
        words = [
            f"{name} {show_bytes(part.weights + part.vocabulary)} weights, "
            f"{show_bytes(part.kv)} cache, {show_bytes(part.compute)} buffers"
            + (f", {show_bytes(part.rollback)} to take guesses back" if part.rollback else "")
            for name, part in parts
        ]
        return f"{show_bytes(self.total)}: {'; '.join(words)}"


def make_room(settings: RunSettings, notes: Notes) -> RunSettings:
    """Give settings whose contexts and layers fit; say what was changed.

    Raises: PairRefused when the pair cannot fit, or not at the context that was asked for.
    """
    headers = headers_of(settings)
    if headers is None:
        return settings
    notes.detail(f"memory needed, {need(settings, headers)}")
    if kept := in_words(headers.target, loads(settings, headers)[0]):
        notes.detail(f"{headers.target.path.name}: {kept}")
    gpus = [each for each in list_devices() if each.is_gpu]
    if gpus and not _on_the_processor(settings):
        found = [Device(each.name, each.free_bytes) for each in gpus]
        return placed(settings, headers, found, notes)
    free = available_bytes()
    if settings.target.context is None:
        return _shortened(settings, headers, free, notes)
    if need(settings, headers).total > free:
        settings = _fused(settings)
    needed = need(settings, headers)
    if needed.total > free:
        raise PairRefused(
            f"the pair needs {needed} at {settings.target.context} tokens; "
            f"{show_bytes(free)} is free",
            "a shorter --ctx, --kv q8_0, or a smaller pair: localspec models list --fits",
        )
    return settings


def headers_of(settings: RunSettings) -> Headers | None:
    """Read the headers; None for a target whose numbers cannot be estimated.

    Raises: PairRefused for a target that writes no text, and for a damaged file, unless it is a
    draft that is not required.
    """
    target = check_target(settings.files.target)
    draft = None
    if settings.wants_draft_model and settings.files.draft:
        try:
            draft = read_header(settings.files.draft)
        except LocalspecError:
            if settings.draft_required:
                raise
    skipped = read_header(settings.files.skipped) if settings.files.skipped else None
    return Headers(target, draft, skipped) if target.number("{arch}.block_count") else None


def check_target(path: Path) -> Header:
    """Read a target's header.

    Raises: PairRefused for a damaged file, and for one that writes no text.
    """
    target = read_header(path)
    mode = mode_of(target)
    if mode != "model":
        what = NOT_A_DRAFT.get(mode, f"{an(mode)} head, which needs a target of its own")
        raise PairRefused(
            f"{target.path.name} is {what}", "name a model that writes text with --target"
        )
    return target


def need(settings: RunSettings, headers: Headers) -> Need:
    """Say what a run takes on the processor."""
    target, draft = loads(settings, headers)
    return Need(
        estimate(headers.target, target),
        estimate(headers.draft, draft) if headers.draft else None,
        headers.shared,
        estimate(headers.skipped, draft) if headers.skipped else None,
    )


def loads(settings: RunSettings, headers: Headers) -> tuple[Load, Load]:
    """Say how both models would be loaded."""
    trained = headers.target.number("{arch}.context_length") or DEFAULT_CONTEXT
    context = settings.target.context or min(trained, DEFAULT_CONTEXT)
    own = settings.draft.context or context
    target = target_load(headers.target, settings, context)
    return target, draft_load(headers.draft or headers.target, settings, own)


def _on_the_processor(settings: RunSettings) -> bool:
    device, layers = settings.target.device, settings.target.gpu_layers
    return layers == 0 or (device is not None and device.lower() == "cpu")


def _fused(settings: RunSettings) -> RunSettings:
    """Give up the table of scores for flash attention, unless the user wants it so."""
    return replace(settings, flash_attn="on") if settings.flash_attn == "auto" else settings


def _shortened(settings: RunSettings, headers: Headers, free: int, notes: Notes) -> RunSettings:
    """Take the usual context, or the longest shorter one that fits."""
    load, _ = loads(settings, headers)
    if need(settings, headers).total <= Room(free).usable:
        return settings
    draft = headers.skipped if headers.shared else headers.draft or headers.skipped
    context = auto_context(headers.target, draft, load, Room(free))
    if context >= load.n_ctx:
        return settings
    notes.say(f"a context of {context} tokens: more does not fit in {show_bytes(free)} free")
    return replace(settings, target=replace(settings.target, context=context))


def placed(
    settings: RunSettings, headers: Headers, devices: Sequence[Device], notes: Notes
) -> RunSettings:
    """Spread both models over the devices: all that fits, the draft first.

    Raises: PairRefused when what is left for the processor does not fit in memory.
    """
    target_load, draft_load = loads(settings, headers)
    draft = (headers.draft, draft_load) if headers.draft and not headers.shared else None
    found = plan((headers.target, target_load), draft, ram_free=available_bytes(), devices=devices)
    target = settings.target
    if target.gpu_layers == "auto" and not found.target.whole:
        target = replace(target, gpu_layers=found.target.layers)
    small = settings.draft
    if found.draft and small.gpu_layers == "auto" and not found.draft.whole:
        small = replace(small, gpu_layers=found.draft.layers)
    if (target, small) != (settings.target, settings.draft):
        notes.say(found.reason)
    return replace(settings, target=target, draft=small)
