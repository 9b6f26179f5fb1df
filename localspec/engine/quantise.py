"""Another layout of a model file: requantised, and with blocks left out, by the engine itself.

Writes whole files or none. Does not know which layout is fast, nor where layouts are kept.
"""

import ctypes
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localspec.engine import header, library, log
from localspec.engine.interrupt import hold_interrupts
from localspec.engine.quantise_child import write_apart
from localspec.engine.threads import default_threads
from localspec.errors import OptionError, PairRefused

# Room beside the new file, so that a layout never fills a disk to the last byte.
_SPARE_BYTES = 64 * 2**20
COPY = "copy"
_LARGE_BYTES = 300 * 2**20  # below it a file is written in a few seconds
_BF16 = 30  # GGML_TYPE_BF16, which the binding does not name
_F32_PER_Q4 = 8  # a float32 weight over a 4-bit one: the most a file can grow


@dataclass(frozen=True)
class Recipe:
    """How to write a file anew: `type` such as "q4_0", `pure` for every tensor alike.

    The type "copy" keeps every tensor as it is. `prune_layers` are block numbers to leave out; the
    rest are renumbered.
    """

    type: str
    pure: bool = False
    output_type: str | None = None
    embedding_type: str | None = None
    prune_layers: tuple[int, ...] = ()
    threads: int | None = None


def quantise(source: Path, target: Path, recipe: Recipe) -> Path:
    """Write `source` as `target` after the recipe; the target appears whole or not at all.

    Raises: OptionError for an unknown type, PairRefused when the engine or the disk refuses.
    """
    quantise_params(recipe, [])
    found = header.read(source)
    check_source(source, found, recipe)
    _check_disk(source, target, recipe)
    temporary = _temporary(target)
    try:
        _write(source, temporary, recipe)
        _check_whole(temporary, found, recipe)
        _sync(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(target.parent)
    return target


def file_types() -> list[str]:
    """List the names that `Recipe.type` may have in this build."""
    names = (name for name in dir(library.load()) if name.startswith("LLAMA_FTYPE_"))
    short = {name.removeprefix("LLAMA_FTYPE_").removeprefix("MOSTLY_").lower() for name in names}
    return sorted(name.removeprefix("all_") for name in short - {"guessed"})


def tensor_type(name: str) -> int:
    """Give ggml's number for a tensor type such as "q6_k"."""
    number: int | None = getattr(library.load(), f"GGML_TYPE_{name.upper()}", None)
    if name.lower() == "bf16":
        return _BF16
    if number is None:
        raise OptionError(f"no tensor type '{name}'", "for example q4_0, q6_k, q8_0, f16")
    return number


def quantise_params(recipe: Recipe, keep: list[Any]) -> Any:
    """Give the engine's parameters of a recipe; `keep` must live as long as they do."""
    binding = library.load()
    params = binding.llama_model_quantize_default_params()
    params.nthread = recipe.threads or default_threads()
    if recipe.type == COPY:
        params.only_copy = True
    else:
        params.ftype = _file_type(recipe.type)
    params.pure = recipe.pure
    params.allow_requantize = True
    if recipe.output_type is not None:
        params.output_tensor_type = tensor_type(recipe.output_type)
    if recipe.embedding_type is not None:
        params.token_embedding_type = tensor_type(recipe.embedding_type)
    if recipe.prune_layers:
        pruned = sorted(set(recipe.prune_layers))
        layers = (ctypes.c_int32 * (len(pruned) + 1))(*pruned, -1)
        keep.append(layers)
        params.prune_layers = ctypes.cast(layers, ctypes.POINTER(ctypes.c_int32))
    return params


def _file_type(name: str) -> int:
    binding = library.load()
    for prefix in ("MOSTLY_", "ALL_"):
        number: int | None = getattr(binding, f"LLAMA_FTYPE_{prefix}{name.upper()}", None)
        if number is not None:
            return number
    raise OptionError(f"no layout '{name}'", f"one of: {', '.join(file_types())}")


def _write(source: Path, temporary: Path, recipe: Recipe) -> None:
    """Call the quantiser: here for what is done in seconds, else where it can be stopped."""
    large = source.stat().st_size > _LARGE_BYTES
    reason = (write_apart if large else write_here)(source, temporary, recipe)
    if reason:
        raise PairRefused(f"the engine cannot requantise {source.name}: {reason}")


def write_here(source: Path, temporary: Path, recipe: Recipe) -> str:
    """Quantise in this process; give the engine's reason when it cannot, else an empty text."""
    keep: list[Any] = []
    params = quantise_params(recipe, keep)
    pressed: list[bool] = []
    restore = hold_interrupts(pressed)
    try:
        with log.captured() as lines:
            code = library.load().llama_model_quantize(
                _encoded(source), _encoded(temporary), ctypes.byref(params)
            )
    finally:
        restore()
    if pressed:
        raise KeyboardInterrupt
    failed = (line for line in reversed(lines) if "failed" in line)
    return next(failed, f"code {code}").strip() if code else ""


def check_source(source: Path, found: header.Header, recipe: Recipe) -> None:
    """Refuse a file that is cut off, and blocks that are not there.

    Raises: PairRefused, OptionError.
    """
    if source.stat().st_size < found.needed_bytes:
        raise PairRefused(f"{source.name} is cut off", "download it again")
    absent = [block for block in recipe.prune_layers if not 0 <= block < found.blocks]
    if absent:
        raise OptionError(f"no block {absent[0]} in {source.name}, which has {found.blocks}")
    if recipe.prune_layers and len(set(recipe.prune_layers)) == found.blocks:
        raise OptionError(f"pruning all {found.blocks} blocks leaves no model")


def _check_whole(written: Path, source: header.Header, recipe: Recipe) -> None:
    found, size = header.read(written), written.stat().st_size
    if size < found.needed_bytes or (found.tensors < source.tensors and not recipe.prune_layers):
        raise PairRefused(f"the new layout came out incomplete ({size:,} bytes)")


def _check_disk(source: Path, target: Path, recipe: Recipe) -> None:
    small = recipe.type.lower().startswith((COPY, "q4", "iq", "q2", "q3"))
    check_disk(source, target, 1 if small else _F32_PER_Q4)


def check_disk(source: Path, target: Path, growth: int = 1) -> None:
    """Refuse a disk without room for `growth` times the source.

    Raises: PairRefused.
    """
    needed = source.stat().st_size * growth + _SPARE_BYTES
    target.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise PairRefused(
            f"{target.parent} has {free / 2**20:,.0f} MiB free; a new layout of {source.name} "
            f"may take {needed / 2**20:,.0f} MiB",
            "free some space or choose another cache folder",
        )


def _temporary(target: Path) -> Path:
    """Reserve a name beside the target that no listing of models takes for a model."""
    try:
        number, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".part", dir=target.parent
        )
    except OSError as error:
        raise OptionError(f"cannot write in {target.parent}: {error.strerror}") from error
    os.close(number)
    return Path(name)


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return  # Windows has no handle to flush for a folder
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _encoded(path: Path) -> bytes:
    return str(path).encode("utf-8", "surrogateescape")
