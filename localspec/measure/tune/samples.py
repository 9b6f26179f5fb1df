"""What a layout's passes cost, before the layout is made: timed on a sample of its blocks.

A sample has the layout's shapes and types and no weights. Two samples of different size give the
cost of a block and of everything else; the rest of the model is a straight line. Knows plans,
files and a clock. Makes no layout.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from time import perf_counter

from filelock import FileLock, Timeout

from localspec.core.counted import counted
from localspec.core.tokens import Tokens, sync
from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.engine.hollow import write_hollow
from localspec.engine.layout_plan import PlannedTensor
from localspec.errors import PairRefused
from localspec.pairs.ggml_types import TYPE_NAMES, row_bytes
from localspec.pairs.header import read_header
from localspec.runtime.folders import cannot_write
from localspec.runtime.layouts import folder

TIMED_BYTES = 256 * 2**20
"""Blocks of so many bytes are timed: well above the processors' caches, well below a large file."""
FEWEST_BLOCKS = 2
MORE_OF_ONE = 4
PREFIX = ".samples-"
LOCK = "in-use.lock"


@dataclass(frozen=True)
class Shape:
    """How a file's layouts are sampled: blocks of the whole, of the small and the large sample.

    `small` None: the whole model is small enough to be timed at once.
    """

    source: Path
    blocks: int
    small: int | None
    large: int


def shape_of(source: Path) -> Shape:
    """Choose the samples of a file.

    Raises: PairRefused for a model that a few blocks say too little about.
    """
    header = read_header(source)
    blocks = header.number("{arch}.block_count") or 0
    if blocks < 1:
        raise PairRefused(f"{source.name} does not say how many blocks it has")
    if (header.number("{arch}.expert_count") or 0) > 1:
        raise PairRefused(
            f"{source.name} has experts: what a pass over several rows costs depends on the text, "
            "so its layouts cannot be predicted from samples"
        )
    inside = sum(tensor.bytes for tensor in header.tensors if tensor.name.startswith("blk."))
    large = max(-(-TIMED_BYTES // max(inside // blocks, 1)), FEWEST_BLOCKS)
    if large >= blocks:
        return Shape(source, blocks, None, blocks)
    return Shape(source, blocks, max(large // 4, 1), large)


@contextmanager
def sample_folder() -> Iterator[Path]:
    """Give a folder for samples, gone afterwards; those of killed programs go, too.

    Raises: OptionError when the cache cannot be written.
    """
    try:
        folder().mkdir(parents=True, exist_ok=True)
        _clear()
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder()))
    except OSError as failure:
        raise cannot_write(folder(), failure) from failure
    try:
        with FileLock(place / LOCK):
            yield place
    finally:
        rmtree(place, ignore_errors=True)


def _clear() -> None:
    for old in folder().glob(f"{PREFIX}*"):
        with suppress(Timeout, OSError), FileLock(old / LOCK, timeout=0):
            rmtree(old, ignore_errors=True)


@dataclass(frozen=True)
class Timing:
    """How samples are timed: the options of a context, what to time, and a folder for the files.

    `rows` after `context` tokens of `text`; `repeats` of each.
    """

    place: Path
    options: ContextOptions
    text: Tokens = field(repr=False)
    rows: tuple[int, ...]
    context: int = 64
    repeats: int = 2
    placement: ModelOptions = field(default_factory=ModelOptions)


@dataclass(frozen=True)
class Timed:
    """The fastest passes of a layout's samples, by rows, and the bytes of their blocks.

    Nothing makes a pass faster than it is, so the fastest of a few is the least disturbed.
    """

    large: Mapping[int, float]
    large_bytes: int
    small: Mapping[int, float] | None = None
    small_bytes: int = 0

    def merged(self, other: "Timed") -> "Timed":
        """Give the fastest of two moments."""
        small = None
        if self.small is not None and other.small is not None:
            small = _fastest(self.small, other.small)
        return replace(self, large=_fastest(self.large, other.large), small=small)

    def whole(self, plan: Sequence[PlannedTensor]) -> dict[int, float]:
        """Give what passes of the whole layout would take, by rows."""
        if self.small is None:
            return dict(self.large)
        rest = (block_bytes(plan) - self.large_bytes) / (self.large_bytes - self.small_bytes)
        return {
            rows: seconds + max(seconds - self.small[rows], 0.0) * rest
            for rows, seconds in self.large.items()
        }


def _fastest(left: Mapping[int, float], right: Mapping[int, float]) -> dict[int, float]:
    return {rows: min(seconds, right[rows]) for rows, seconds in left.items()}


def time_samples(shape: Shape, plan: Sequence[PlannedTensor], timing: Timing) -> Timed:
    """Write and time the samples of a planned layout.

    Raises: PairRefused when the engine cannot load a sample.
    """
    large, large_bytes = _timed(shape, plan, shape.large, timing)
    if shape.small is None:
        return Timed(large, large_bytes)
    small, small_bytes = _timed(shape, plan, shape.small, timing)
    return Timed(large, large_bytes, small, small_bytes)


def _timed(
    shape: Shape, plan: Sequence[PlannedTensor], blocks: int, timing: Timing
) -> tuple[dict[int, float], int]:
    chosen = tuple(_spread(plan, shape.blocks, blocks))
    path = timing.place / f"sample-{blocks}.gguf"
    try:
        write_hollow(shape.source, path, chosen, blocks)
        with (
            Model.load(path, timing.placement) as model,
            Context(model, timing.options) as context,
        ):
            return _passes(context, timing), block_bytes(chosen)
    except PairRefused as failure:
        raise PairRefused(
            f"{counted(blocks, 'block')} of {shape.source.name} cannot run alone: {failure.message}"
        ) from failure
    finally:
        path.unlink(missing_ok=True)


def _passes(context: Context, timing: Timing) -> dict[int, float]:
    """Time passes of every size in turn, after one that brings the weights in.

    Those of one row, which everything is held against, a few times more, one after the other.
    """
    start = timing.context
    sync(context, timing.text[:start], 0)
    fastest: dict[int, float] = {}
    for repeat in range(timing.repeats):
        widths = timing.rows if repeat % 2 else timing.rows[::-1]
        for rows in (*widths, *(1,) * MORE_OF_ONE):
            begun = perf_counter()
            context.extend(timing.text[start : start + rows], rows)
            seconds = perf_counter() - begun
            if context.rewind(start) != start:
                sync(context, timing.text[:start], 0)
            fastest[rows] = min(seconds, fastest.get(rows, seconds))
    return fastest


def _spread(plan: Sequence[PlannedTensor], blocks: int, count: int) -> Iterator[PlannedTensor]:
    """Take blocks from all over the model, so that a mix is mixed alike, and number them anew."""
    taken = {int((at + 0.5) * blocks / count): at for at in range(count)}
    for tensor in plan:
        if tensor.block is None:
            yield tensor
        elif tensor.block in taken:
            name = tensor.name.replace(f"blk.{tensor.block}.", f"blk.{taken[tensor.block]}.", 1)
            yield replace(tensor, name=name)


def block_bytes(plan: Sequence[PlannedTensor]) -> int:
    """Give the bytes of the tensors inside blocks."""
    return sum(tensor_bytes(tensor) for tensor in plan if tensor.block is not None)


def plan_bytes(plan: Sequence[PlannedTensor]) -> int:
    """Give the bytes of all tensors."""
    return sum(tensor_bytes(tensor) for tensor in plan)


def tensor_bytes(tensor: PlannedTensor) -> int:
    """Give the bytes of a tensor, in its type."""
    kind = TYPE_NAMES[tensor.type]
    return row_bytes(kind, tensor.shape[0]) * (tensor.weights // tensor.shape[0])
