"""A model file with the shapes of a few blocks and no weights, to time passes on.

What a pass costs depends on shapes and storage types, not on values; so a sample of any layout is
written in a moment, as a file of zeros. Knows GGUF through the engine's own writer. A
hollow file writes nonsense: it is never kept, and never shown as a model.
"""

import ctypes
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localspec.engine import library
from localspec.engine.header import InitParams, string_value
from localspec.engine.layout_plan import PlannedTensor
from localspec.engine.quantise import tensor_type
from localspec.errors import LocalspecError

_SPLIT = (b"split.no", b"split.count", b"split.tensors.count")
_OVERHEAD = 1024  # bytes a tensor's description takes in a ggml context; it is about 400
_ALIGNMENT = 32
_DIMENSIONS = 4
_UNABLE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


class _PoolParams(ctypes.Structure):
    _fields_ = (
        ("mem_size", ctypes.c_size_t),
        ("mem_buffer", ctypes.c_void_p),
        ("no_alloc", ctypes.c_bool),
    )


def write_hollow(source: Path, target: Path, plan: Sequence[PlannedTensor], blocks: int) -> int:
    """Write `target` with `source`'s header and the tensors of a plan; give its bytes.

    `plan` names the blocks 0, 1, ... that the file is to have, `blocks` in number.
    Raises: LocalspecError when the file cannot be written.
    """
    with _source(source) as read, _empty() as made:
        _call("gguf_set_kv", None, ctypes.c_void_p)(made, read)
        _adopt(read, made, blocks)
        with _pool(len(plan)) as pool:
            end = 0
            for tensor in plan:
                end += _add(made, pool, tensor)
        whole = int(_call("gguf_get_meta_size", ctypes.c_size_t)(made)) + end
        name = str(target).encode("utf-8", "surrogateescape")
        if not _call("gguf_write_to_file", ctypes.c_bool, ctypes.c_char_p, ctypes.c_bool)(
            made, name, True
        ):
            raise LocalspecError(f"cannot write {target}")
    _reserve(target, whole)
    return whole


def _reserve(target: Path, whole: int) -> None:
    """Make a file so long, and sure of its room: a hole on a full disk would end who maps it.

    Where a file system cannot reserve room the file is only made so long.
    Raises: LocalspecError when there is no room.
    """
    reserve = getattr(os, "posix_fallocate", None)
    try:
        with target.open("r+b") as handle:
            try:
                if reserve is not None:
                    reserve(handle.fileno(), 0, whole)
            except OSError as failure:
                if failure.errno not in _UNABLE:
                    raise
            handle.truncate(whole)
    except OSError as failure:
        raise LocalspecError(
            f"cannot write {target}: {failure.strerror} ({whole >> 20} MiB are needed)",
            "free some space or choose another cache folder",
        ) from failure


def _adopt(read: int, made: int, blocks: int) -> None:
    for key in _SPLIT:
        _call("gguf_remove_key", ctypes.c_int64, ctypes.c_char_p)(made, key)
    key = f"{string_value(read, b'general.architecture')}.block_count".encode()
    _call("gguf_set_val_u32", None, ctypes.c_char_p, ctypes.c_uint32)(made, key, blocks)


def _add(made: int, pool: int, tensor: PlannedTensor) -> int:
    """Describe a tensor; give the bytes it would take, padded."""
    shape = (ctypes.c_int64 * _DIMENSIONS)(*tensor.shape)
    new = library.ggml(
        "ggml_new_tensor",
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_int64),
    )(pool, tensor_type(tensor.type), _dimensions(tensor.shape), shape)
    library.ggml("ggml_set_name", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
        new, tensor.name.encode()
    )
    _call("gguf_add_tensor", None, ctypes.c_void_p)(made, new)
    size = int(library.ggml("ggml_nbytes", ctypes.c_size_t, ctypes.c_void_p)(new))
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _dimensions(shape: Sequence[int]) -> int:
    return max((at + 1 for at, size in enumerate(shape) if size > 1), default=1)


def _call(name: str, result: Any, *more: Any) -> Any:
    return library.ggml(name, result, ctypes.c_void_p, *more)


@contextmanager
def _source(path: Path) -> Iterator[int]:
    context = library.ggml("gguf_init_from_file", ctypes.c_void_p, ctypes.c_char_p, InitParams)(
        str(path).encode("utf-8", "surrogateescape"), InitParams(True, None)
    )
    if not context:
        raise LocalspecError(f"the header of {path.name} cannot be read")
    try:
        yield context
    finally:
        _call("gguf_free", None)(context)


@contextmanager
def _empty() -> Iterator[int]:
    context = library.ggml("gguf_init_empty", ctypes.c_void_p)()
    try:
        yield context
    finally:
        _call("gguf_free", None)(context)


@contextmanager
def _pool(tensors: int) -> Iterator[int]:
    """Reserve room for the descriptions of tensors, none for their data."""
    params = _PoolParams((tensors + 1) * _OVERHEAD, None, True)
    pool = library.ggml("ggml_init", ctypes.c_void_p, _PoolParams)(params)
    try:
        yield pool
    finally:
        _call("ggml_free", None)(pool)
