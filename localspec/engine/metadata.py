"""The fields and tensors of a GGUF header, read and written anew by the engine's own functions.

Knows fields by name and type. Does not know what any of them means.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from localspec.engine import header, library

_UINT32, _STRING, _ARRAY = 4, 8, 9  # GGUF_TYPE_UINT32, _STRING, _ARRAY
_SCALARS: dict[int, tuple[str, Any]] = {
    0: ("u8", ctypes.c_uint8),
    1: ("i8", ctypes.c_int8),
    2: ("u16", ctypes.c_uint16),
    3: ("i16", ctypes.c_int16),
    _UINT32: ("u32", ctypes.c_uint32),
    5: ("i32", ctypes.c_int32),
    6: ("f32", ctypes.c_float),
    7: ("bool", ctypes.c_bool),
    _STRING: ("str", ctypes.c_char_p),
    10: ("u64", ctypes.c_uint64),
    11: ("i64", ctypes.c_int64),
    12: ("f64", ctypes.c_double),
}
_AT = (ctypes.c_void_p, ctypes.c_int64)
_DIMENSIONS = 4


@dataclass(frozen=True)
class TensorInfo:
    """A tensor's place. Shapes: as ggml writes them, the row's length first.

    `offset` counts from the start of the weights. Units: bytes.
    """

    name: str
    type: int
    shape: tuple[int, ...]
    offset: int
    bytes: int


class _InitParams(ctypes.Structure):
    _fields_ = (
        ("mem_size", ctypes.c_size_t),
        ("mem_buffer", ctypes.c_void_p),
        ("no_alloc", ctypes.c_bool),
    )


class Metadata:
    """A header that the engine has read; lives as long as the engine's pointer."""

    def __init__(self, context: int) -> None:
        self._context = context

    @cached_property
    def architecture(self) -> str:
        """Give the family that the header names."""
        return str(self._value("general.architecture") or "")

    @cached_property
    def alignment(self) -> int:
        """Give the unit that tensors begin at."""
        return int(_call("gguf_get_alignment", ctypes.c_size_t, self._context))

    @cached_property
    def data_offset(self) -> int:
        """Give the byte where the weights begin."""
        return int(_call("gguf_get_data_offset", ctypes.c_size_t, self._context))

    def number(self, key: str) -> int:
        """Give a whole number; 0 where there is none of that name."""
        value = self._value(key)
        return int(value) if isinstance(value, int) else 0

    def array_fields(self, prefix: str) -> list[str]:
        """Name the fields under a prefix that hold more than one value."""
        names = (name for name in self._keys() if name.startswith(f"{prefix}."))
        return [name for name in names if self._type(self._index(name)) == _ARRAY]

    def tensors(self) -> Iterator[TensorInfo]:
        """Give every tensor, in the file's order."""
        name = library.ggml("gguf_get_tensor_name", ctypes.c_char_p, *_AT)
        kind = library.ggml("gguf_get_tensor_type", ctypes.c_int, *_AT)
        shape = library.ggml("gguf_get_tensor_ne", ctypes.POINTER(ctypes.c_int64), *_AT)
        offset = library.ggml("gguf_get_tensor_offset", ctypes.c_size_t, *_AT)
        size = library.ggml("gguf_get_tensor_size", ctypes.c_size_t, *_AT)
        for index in range(int(_call("gguf_get_n_tensors", ctypes.c_int64, self._context))):
            lengths = shape(self._context, index)[:_DIMENSIONS]
            while len(lengths) > 1 and lengths[-1] == 1:
                lengths.pop()
            yield TensorInfo(
                name(self._context, index).decode("utf-8", "replace"),
                kind(self._context, index),
                tuple(lengths),
                offset(self._context, index),
                size(self._context, index),
            )

    @contextmanager
    def renamed(self, family: str) -> Iterator[Self]:
        """Give a copy of the fields under another family's name, without tensors."""
        empty = library.ggml("gguf_init_empty", ctypes.c_void_p)()
        try:
            library.ggml("gguf_set_kv", None, ctypes.c_void_p, ctypes.c_void_p)(
                empty, self._context
            )
            copy, own = type(self)(empty), f"{self.architecture}."
            for key in [each for each in copy._keys() if each.startswith(own)]:
                copy._rename(key, f"{family}.{key.removeprefix(own)}")
            copy._set("general.architecture", _STRING, family.encode())
            yield copy
        finally:
            _call("gguf_free", None, empty)

    def set_number(self, key: str, value: int) -> None:
        """Write a whole number."""
        self._set(key, _UINT32, value)

    def set_numbers(self, key: str, values: Sequence[int]) -> None:
        """Write a list of whole numbers."""
        data = (ctypes.c_uint32 * len(values))(*values)
        kinds = (ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
        setter = library.ggml("gguf_set_arr_data", None, ctypes.c_void_p, *kinds)
        setter(self._context, key.encode(), _UINT32, data, len(values))

    def with_tensors(self, wanted: Sequence[tuple[str, TensorInfo]]) -> bytes:
        """Give the bytes of this header with these tensors, up to where the weights begin."""
        with _pool(len(wanted)) as pool:
            add = library.ggml("gguf_add_tensor", None, ctypes.c_void_p, ctypes.c_void_p)
            for name, info in wanted:
                add(self._context, _described(pool, name, info))
            size = int(_call("gguf_get_meta_size", ctypes.c_size_t, self._context))
            buffer = ctypes.create_string_buffer(size)
            library.ggml("gguf_get_meta_data", None, ctypes.c_void_p, ctypes.c_void_p)(
                self._context, buffer
            )
            return buffer.raw

    def _keys(self) -> list[str]:
        count = int(_call("gguf_get_n_kv", ctypes.c_int64, self._context))
        key = library.ggml("gguf_get_key", ctypes.c_char_p, *_AT)
        return [key(self._context, index).decode("utf-8", "replace") for index in range(count)]

    def _index(self, key: str) -> int:
        find = library.ggml("gguf_find_key", ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p)
        return int(find(self._context, key.encode()))

    def _type(self, index: int) -> int:
        return int(library.ggml("gguf_get_kv_type", ctypes.c_int, *_AT)(self._context, index))

    def _value(self, key: str) -> Any:
        index = self._index(key)
        if index < 0 or self._type(index) not in _SCALARS:
            return None
        name, kind = _SCALARS[self._type(index)]
        value = library.ggml(f"gguf_get_val_{name}", kind, *_AT)(self._context, index)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def _rename(self, old: str, new: str) -> None:
        kind, value = self._type(self._index(old)), self._value(old)
        library.ggml("gguf_remove_key", ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p)(
            self._context, old.encode()
        )
        self._set(new, kind, value.encode() if isinstance(value, str) else value)

    def _set(self, key: str, kind: int, value: object) -> None:
        name, native = _SCALARS[kind]
        setter = library.ggml(
            f"gguf_set_val_{name}", None, ctypes.c_void_p, ctypes.c_char_p, native
        )
        setter(self._context, key.encode(), value)


def _call(name: str, result: Any, context: int) -> Any:
    return library.ggml(name, result, ctypes.c_void_p)(context)


@contextmanager
def opened(path: Path) -> Iterator[Metadata]:
    """Read a file's header for as long as the block lasts.

    Raises: PairRefused when the engine cannot read it.
    """
    with header._opened(path) as context:
        yield Metadata(context)


@contextmanager
def _pool(tensors: int) -> Iterator[int]:
    """Give memory for the descriptions of so many tensors, without their weights."""
    overhead = int(library.ggml("ggml_tensor_overhead", ctypes.c_size_t)())
    params = _InitParams((tensors + 1) * overhead, None, True)
    pool: int = library.ggml("ggml_init", ctypes.c_void_p, _InitParams)(params)
    try:
        yield pool
    finally:
        _call("ggml_free", None, pool)


def _described(pool: int, name: str, info: TensorInfo) -> int:
    shape = (ctypes.c_int64 * len(info.shape))(*info.shape)
    kinds = (ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64))
    make = library.ggml("ggml_new_tensor", ctypes.c_void_p, ctypes.c_void_p, *kinds)
    tensor: int = make(pool, info.type, len(info.shape), shape)
    rename = library.ggml("ggml_set_name", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
    rename(tensor, name.encode())
    return tensor
