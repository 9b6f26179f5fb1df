"""What a layout's passes cost, before the layout is made: timed on a sample of its blocks.

A sample has the layout's shapes and types and no weights. Two samples of different size give the
cost of a block and of everything else; the rest of the model is a straight line. Knows plans,
files and a clock. Makes no layout.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from time import perf_counter

from filelock import FileLock, Timeout

from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.engine.hollow import write_hollow
from localspec.engine.layout_plan import PlannedTensor
from localspec.errors import LocalspecError, PairRefused
from localspec.measure.costs import CostPoint, Survey, measure_passes
from localspec.pairs.ggml_types import TYPE_NAMES, row_bytes
from localspec.pairs.header import read_header
from localspec.runtime.layouts import folder

TIMED_BYTES = 256 * 2**20
"""Blocks of so many bytes are timed: well above the processors' caches, well below a large file."""
FEWEST_BLOCKS = 2
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
    return Shape(source, blocks, max(large // 2, 1), large)


@contextmanager
def sample_folder() -> Iterator[Path]:
    """Give a folder for samples, gone afterwards; those of killed programs go, too.

    Raises: LocalspecError when the cache cannot be written.
    """
    try:
        folder().mkdir(parents=True, exist_ok=True)
        _clear()
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder()))
    except OSError as failure:
        raise LocalspecError(
            f"cannot write in {folder()}: {failure.strerror}",
            "LOCALSPEC_CACHE=FOLDER chooses another folder for layouts",
        ) from failure
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
    """How samples are timed: the options of a context, rows, and a folder to write them in."""

    place: Path
    options: ContextOptions
    survey: Survey
    placement: ModelOptions = field(default_factory=ModelOptions)


def predicted_points(
    shape: Shape, plan: Sequence[PlannedTensor], timing: Timing
) -> tuple[CostPoint, ...]:
    """Time samples of a planned layout, and give what passes of the whole would cost.

    Raises: PairRefused when the engine cannot load a sample.
    """
    large = _timed(shape, plan, shape.large, timing)
    if shape.small is None:
        return large.points
    small = _timed(shape, plan, shape.small, timing)
    rest = (block_bytes(plan) - large.bytes) / (large.bytes - small.bytes)
    before = {(point.rows, point.context): point.median_s for point in small.points}
    return tuple(
        replace(
            point,
            median_s=point.median_s
            + max(point.median_s - before[point.rows, point.context], 0.0) * rest,
        )
        for point in large.points
    )


@dataclass(frozen=True)
class _Timed:
    bytes: int
    points: tuple[CostPoint, ...]


def _timed(shape: Shape, plan: Sequence[PlannedTensor], blocks: int, timing: Timing) -> _Timed:
    chosen = tuple(_spread(plan, shape.blocks, blocks))
    path = timing.place / f"sample-{blocks}.gguf"
    try:
        write_hollow(shape.source, path, chosen, blocks)
        with Model.load(path, timing.placement) as model, Context(model, timing.options) as context:
            points = measure_passes(context, timing.survey, clock=perf_counter)
    except PairRefused as failure:
        raise PairRefused(
            f"{blocks} blocks of {shape.source.name} do not run alone: {failure.message}"
        ) from failure
    finally:
        path.unlink(missing_ok=True)
    return _Timed(block_bytes(chosen), points)


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
