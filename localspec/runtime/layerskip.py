"""A draft made of the target: some blocks or halves left out, the rest as it is or requantised.

Knows what was chosen for a target on this machine, a default where nothing was, and how the file is
made and kept. Does not search; `measure.layerskip` does.
"""

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from localspec.engine import halves as files
from localspec.engine import header
from localspec.engine.library import engine_version
from localspec.engine.metadata import opened
from localspec.engine.quantise import COPY, Recipe, quantise
from localspec.engine.skipping import ATTENTION, FEED_FORWARD, Half, Part, whole
from localspec.errors import PairRefused
from localspec.runtime.folders import cache_dir, cannot_write, short_name
from localspec.runtime.layouts import ensure_layout, locked
from localspec.runtime.settings import LAYERSKIP, RunSettings

Notify = Callable[[str], None]

LAYOUT_BITS = {"q4_0": 4.5}
"""Layouts that a draft may be requantised to, with their bits a weight."""

# Without a search: a tenth of the blocks, just after the middle, which costs least in models of
# this kind (the demo pair's three of thirty were found so).
_SHARE, _AFTER = 0.1, 0.53
_FEWEST_BLOCKS = 4
_BY_PLACE = ("attention.sliding_window", "full_attention_interval", "leading_dense_block_count")


@dataclass(frozen=True)
class Choice:
    """What a draft leaves out of its target, and how the rest is stored; None: as it is."""

    halves: frozenset[Half]
    type: str | None = None
    how: Literal["searched", "default"] = "default"

    @property
    def blocks(self) -> tuple[int, ...]:
        """Give the blocks that are left out whole."""
        return tuple(sorted({h.block for h in self.halves if whole([h.block]) <= self.halves}))

    @property
    def label(self) -> str:
        """Say it in a few words: `without blocks 16-18, attention 20; q4_0`."""
        single = self.halves - whole(self.blocks)
        said = [f"blocks {_runs(self.blocks)}"] if self.blocks else []
        for part, word in ((ATTENTION, "attention"), (FEED_FORWARD, "feed-forward")):
            places = tuple(sorted(half.block for half in single if half.part == part))
            said += [f"{word} {_runs(places)}"] if places else []
        stored = f"; {self.type}" if self.type else ""
        return f"without {', '.join(said) or 'nothing'}{stored}"


def _runs(numbers: tuple[int, ...]) -> str:
    """Write 1,2,3,5 as `1-3 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def with_skipped(settings: RunSettings, notify: Notify) -> RunSettings:
    """Make the draft that the drafter `layerskip` needs, once, and name its file.

    Raises: PairRefused for a target that cannot be pruned, or where nothing can be written.
    """
    if LAYERSKIP not in settings.drafters or settings.files.skipped is not None:
        return settings
    target = settings.files.target
    choice = chosen(target) or default(target)
    if choice.how == "default":
        notify(
            f"layerskip: no search was made for {target.name}, so its draft is the target "
            f"{choice.label}; on most models this does not pay, bench says whether it does"
        )
    path = ensure_skipped(target, choice, notify)
    return replace(settings, files=replace(settings.files, skipped=path))


def refusal(target: Path) -> str:
    """Say why no block of a target can be left out; empty when some can."""
    found = header.read(target)
    with opened(target) as facts:
        arch = facts.architecture
        if found.blocks < _FEWEST_BLOCKS:
            return f"it has {found.blocks} blocks, too few to leave any out"
        for field in _BY_PLACE:
            if facts.number(f"{arch}.{field}"):
                return f"its blocks are of several kinds, told apart by their place ({field})"
        several = facts.array_fields(arch)
        if several:
            return f"its header describes each block by its place ({several[0]})"
    return ""


def default(target: Path) -> Choice:
    """Give what is left out where no search was made.

    Raises: PairRefused for a target that cannot be pruned.
    """
    reason = refusal(target)
    if reason:
        raise PairRefused(
            f"no draft can be made of {target.name}: {reason}",
            "use another drafter: lookup, or a draft model with --draft",
        )
    blocks = header.read(target).blocks
    count = max(round(_SHARE * blocks), 1)
    first = min(round(_AFTER * blocks), blocks - 1 - count)
    return Choice(whole(range(first, first + count)), _smaller(target))


def _smaller(target: Path) -> str | None:
    """Give q4_0 for a target that is stored in clearly more bits."""
    with opened(target) as facts:
        tensors = [each for each in facts.tensors() if len(each.shape) > 1]
    weights = sum(_count(each.shape) for each in tensors)
    bits = 8 * sum(each.bytes for each in tensors) / max(weights, 1)
    return next((name for name, own in LAYOUT_BITS.items() if own < 0.95 * bits), None)


def _count(shape: tuple[int, ...]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total


def recipe_of(choice: Choice) -> Recipe | None:
    """Give the recipe of a choice; None where single halves are left out, which no recipe says."""
    if choice.halves - whole(choice.blocks):
        return None
    return Recipe(choice.type or COPY, bool(choice.type), prune_layers=choice.blocks)


def ensure_skipped(target: Path, choice: Choice, notify: Notify) -> Path:
    """Give the draft's file, making it first if it is not there; whole or not at all.

    Raises: PairRefused when it cannot be made or the disk is full, OptionError when the cache
    cannot be written.
    """
    recipe = recipe_of(choice)
    if recipe is not None:
        return ensure_layout(target, recipe, notify)
    path = _path(target, choice)
    if os.path.exists(path):  # never raises, as Path does for a long name
        return path
    with locked(path):
        if not path.exists():
            notify(f"making {path.name} from {target.name} (once)")
            _make(target, path, choice)
    return path


def _make(target: Path, path: Path, choice: Choice) -> None:
    if choice.type is None:
        files.write_without(target, path, choice.halves)
        return
    with tempfile.TemporaryDirectory(prefix=".layerskip-", dir=path.parent) as folder:
        between = files.write_without(target, Path(folder) / "as-it-is.gguf", choice.halves)
        quantise(between, path, Recipe(choice.type, pure=True))


def _path(target: Path, choice: Choice) -> Path:
    facts = target.stat()
    what = [target.name, facts.st_size, facts.st_mtime_ns, _written(choice), engine_version()]
    digest = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]
    kind = choice.type or "as-it-is"
    name = f"{short_name(target.stem)}-{kind}-without-{len(choice.halves)}-halves-{digest}.gguf"
    return cache_dir() / "layouts" / name


def chosen(target: Path) -> Choice | None:
    """Give what a search found best for this file on this machine; None without one."""
    try:
        kept = json.loads(_kept_at(target).read_text(encoding="utf-8"))
        halves = frozenset(Half(int(block), _part(part)) for block, part in kept["halves"])
        kind = kept["type"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    known = kind is None or kind in LAYOUT_BITS
    blocks = header.read(target).blocks
    sound = known and all(0 <= half.block < blocks for half in halves)
    return Choice(halves, kind, "searched") if sound else None


def keep(target: Path, choice: Choice) -> None:
    """Remember a choice for this file on this machine.

    Raises: OptionError when it cannot be written.
    """
    path = _kept_at(target)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(_written(choice)), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path.parent, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _written(choice: Choice) -> dict[str, object]:
    halves = [[half.block, half.part] for half in sorted(choice.halves)]
    return {"halves": halves, "type": choice.type}


def _part(word: object) -> Part:
    if word == ATTENTION:
        return ATTENTION
    if word == FEED_FORWARD:
        return FEED_FORWARD
    raise ValueError(f"no part of a block: {word!r}")


def _kept_at(target: Path) -> Path:
    facts = target.stat()
    key = [platform.node(), platform.machine(), os.cpu_count(), engine_version()]
    key += [target.name, facts.st_size, facts.st_mtime_ns]
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
    return cache_dir() / "layerskip" / f"{short_name(target.stem)}-{digest}.json"
