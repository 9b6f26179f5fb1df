"""A GGUF header as the engine itself reads it, before any weight is touched.

Knows names and sizes. Does not know what makes two files a pair.
"""

import contextlib
import ctypes
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from localspec.engine import library
from localspec.errors import NotHere, PairRefused

_MAGIC = b"GGUF"
_UINT32, _STRING, _ARRAY = 4, 8, 9  # GGUF_TYPE_UINT32, _STRING, _ARRAY


class InitParams(ctypes.Structure):
    """How the engine is to open a GGUF: `no_alloc` reads no weights."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.c_void_p))


@dataclass(frozen=True)
class Header:
    """The facts that decide whether a file can be loaded at all."""

    architecture: str
    kind: str
    pre_tokenizer: str
    repeated_token: str
    """A text that two ids share, which the engine cannot survive; empty when there is none."""
    blocks: int
    tensors: int
    needed_bytes: int
    """Units: bytes from the start of the file to the end of its last tensor."""


def read(path: Path) -> Header:
    """Read the header of a GGUF file.

    Raises: NotHere when there is no such file, PairRefused when it is not a sound GGUF.
    """
    _check_magic(path)
    with _opened(path) as context:
        return Header(
            architecture=string_value(context, b"general.architecture"),
            kind=string_value(context, b"general.type"),
            pre_tokenizer=string_value(context, b"tokenizer.ggml.pre"),
            repeated_token=_repeated_token(context),
            blocks=_blocks(context),
            tensors=int(_call("gguf_get_n_tensors", ctypes.c_int64, context)),
            needed_bytes=_needed_bytes(context),
        )


def _check_magic(path: Path) -> None:
    if not path.is_file():
        what = "is a folder, not a model file" if path.is_dir() else "no such file"
        raise NotHere(f"{path}: {what}", "give the path of a .gguf file")
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise NotHere(f"{path}: cannot be read ({error.strerror})") from error
    if magic != _MAGIC:
        start = magic.hex(" ") or "nothing"
        raise PairRefused(
            f"{path.name} is not a GGUF file: it starts with {start}, not 'GGUF'",
            "an interrupted download or another format; download the .gguf file again",
        )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    context = library.ggml("gguf_init_from_file", ctypes.c_void_p, ctypes.c_char_p, InitParams)(
        str(path).encode("utf-8", "surrogateescape"), InitParams(True, None)
    )
    if not context:
        raise PairRefused(
            f"{path.name} is damaged: its GGUF header cannot be read "
            f"({path.stat().st_size:,} bytes)",
            "the file is cut off or was changed; download it again",
        )
    try:
        yield context
    finally:
        _call("gguf_free", None, context)


def _call(name: str, result: Any, context: int) -> Any:
    return library.ggml(name, result, ctypes.c_void_p)(context)


_INDEXED = (ctypes.c_void_p, ctypes.c_int64)


def string_value(context: int, key: bytes) -> str:
    """Give a text of an opened header; empty when it has none."""
    index = _find(context, key, _STRING)
    if index is None:
        return ""
    value: bytes = library.ggml("gguf_get_val_str", ctypes.c_char_p, *_INDEXED)(context, index)
    return value.decode("utf-8", "replace")


def _repeated_token(context: int) -> str:
    index = _find(context, b"tokenizer.ggml.tokens", _ARRAY)
    kind = library.ggml("gguf_get_arr_type", ctypes.c_int, *_INDEXED)
    if index is None or kind(context, index) != _STRING:
        return ""
    text = library.ggml("gguf_get_arr_str", ctypes.c_char_p, *_INDEXED, ctypes.c_size_t)
    count: int = library.ggml("gguf_get_arr_n", ctypes.c_size_t, *_INDEXED)(context, index)
    texts = [each for each in map(text, repeat(context), repeat(index), range(count)) if each]
    if len(set(texts)) == len(texts):
        return ""
    return str(Counter(texts).most_common(1)[0][0].decode("utf-8", "replace"))


def _blocks(context: int) -> int:
    key = f"{string_value(context, b'general.architecture')}.block_count"
    index = _find(context, key.encode(), _UINT32)
    if index is None:
        return 0
    return int(library.ggml("gguf_get_val_u32", ctypes.c_uint32, *_INDEXED)(context, index))


def _find(context: int, key: bytes, kind: int) -> int | None:
    """Look a field up; one of another type counts as absent, since reading it would abort."""
    find = library.ggml("gguf_find_key", ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p)
    index: int = find(context, key)
    if index < 0:
        return None
    found = library.ggml("gguf_get_kv_type", ctypes.c_int, *_INDEXED)(context, index)
    return index if found == kind else None


def _needed_bytes(context: int) -> int:
    offset = library.ggml("gguf_get_tensor_offset", ctypes.c_size_t, *_INDEXED)
    size = library.ggml("gguf_get_tensor_size", ctypes.c_size_t, *_INDEXED)
    tensors = range(_call("gguf_get_n_tensors", ctypes.c_int64, context))
    ends = (offset(context, index) + size(context, index) for index in tensors)
    return int(_call("gguf_get_data_offset", ctypes.c_size_t, context)) + max(ends, default=0)
