"""What a GGUF file says about itself: metadata, vocabulary arrays, tensor names and shapes.

Reads the front of the file through a memory map and checks every length against the file before
it believes it. Big arrays stay in the file until they are asked for. Does not read weights, and
does not judge whether a file is good for anything.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localspec.errors import PairRefused
from localspec.pairs.cursor import AGAIN, MAX_ELEMENTS, MAX_ENTRIES, U64, Cursor, mapped
from localspec.pairs.ggml_types import GGML_TYPES
from localspec.pairs.split import is_later_part, part_names

MAX_DIMENSIONS = 4

STRING, ARRAY = 8, 9
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}


@dataclass(frozen=True, slots=True)
class LazyArray:
    """An array left in the file; `kind` is its GGUF element type, `start` and `end` its bytes."""

    path: Path
    kind: int
    count: int
    start: int
    end: int

    def raw(self) -> bytes:
        """Read the bytes of the array as they stand."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            return file.read(self.end - self.start)

    def numbers(self) -> NDArray[np.generic]:
        """Read an array of numbers."""
        if self.kind not in SCALARS:
            raise PairRefused(f"{self.path.name}: expected numbers, found text", AGAIN)
        return np.frombuffer(self.raw(), np.dtype(SCALARS[self.kind]).newbyteorder("<"))

    def texts(self) -> list[bytes]:
        """Read an array of texts, as bytes: a token need not be valid UTF-8."""
        if self.kind != STRING:
            raise PairRefused(f"{self.path.name}: expected texts, found numbers", AGAIN)
        data, at, out = self.raw(), 0, []
        for _ in range(self.count):
            (length,) = U64.unpack_from(data, at)
            out.append(data[at + 8 : at + 8 + length])
            at += 8 + length
        return out


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: its name, its shape (the contiguous dimension first) and its ggml type."""

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int
    bytes: int

    @property
    def weights(self) -> int:
        """Give the number of weights."""
        return prod(self.shape)


Value = int | float | bool | str | LazyArray


@dataclass(frozen=True, slots=True)
class Header:
    """The front of a model file, all its parts together."""

    path: Path
    metadata: Mapping[str, Value]
    tensors: tuple[TensorInfo, ...]
    file_bytes: int
    parts: tuple[Path, ...]

    @property
    def arch(self) -> str:
        """Give the architecture, or an empty text."""
        return self.text("general.architecture")

    @property
    def name(self) -> str:
        """Give the model's own name, or the file's."""
        return self.text("general.name") or self.path.stem

    @property
    def weights(self) -> int:
        """Give the number of weights of all tensors."""
        return sum(tensor.weights for tensor in self.tensors)

    @property
    def weight_bytes(self) -> int:
        """Give the bytes of all tensors."""
        return sum(tensor.bytes for tensor in self.tensors)

    def text(self, key: str) -> str:
        """Give a text, or an empty one."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int | None:
        """Give a whole number, or None; `{arch}.` stands for the architecture's prefix."""
        value = self.metadata.get(key.replace("{arch}", self.arch))
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, key: str) -> bool | None:
        """Give a yes or no, or None."""
        value = self.metadata.get(key)
        return value if isinstance(value, bool) else None

    def array(self, key: str) -> LazyArray | None:
        """Give an array, or None."""
        value = self.metadata.get(key.replace("{arch}", self.arch))
        return value if isinstance(value, LazyArray) else None

    def tensor(self, name: str) -> TensorInfo | None:
        """Find a tensor by name."""
        return next((tensor for tensor in self.tensors if tensor.name == name), None)


def read_header(path: Path) -> Header:
    """Read the front of a GGUF file and, if it is split, of all its parts.

    Raises: NotHere for a missing file or part, PairRefused for one that is damaged, cut short or
    no GGUF.
    """
    first = _read_one(path)
    parts = _other_parts(first)
    others = [_read_one(part) for part in parts]
    return Header(
        path=path,
        metadata=first.metadata,
        tensors=first.tensors + tuple(t for other in others for t in other.tensors),
        file_bytes=first.file_bytes + sum(other.file_bytes for other in others),
        parts=(path, *parts),
    )


def _other_parts(first: Header) -> tuple[Path, ...]:
    count = first.number("split.count") or 1
    if count <= 1:
        return ()
    names = part_names(first.path.name)
    if len(names) != count:
        raise PairRefused(
            f"{first.path.name} is one of {count} parts, but its name does not say which",
            "keep the names as published: NAME-00001-of-0000N.gguf",
        )
    if is_later_part(first.path.name):
        hint = f"give the first part, {names[0]}"
        raise PairRefused(f"{first.path.name} is not the first of its {count} parts", hint)
    return tuple(first.path.with_name(name) for name in names[1:])


def _read_one(path: Path) -> Header:
    with mapped(path) as cursor:
        tensor_count, entry_count = _preamble(cursor)
        metadata = dict(_entries(cursor, entry_count))
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= MAX_ENTRIES:
            cursor.refuse(f"the alignment is {alignment!r}")
        infos = tuple(_tensor(cursor) for _ in range(tensor_count))
        data_start = -(-cursor.at // alignment) * alignment
        _check_data(cursor, infos, data_start)
        tensors = tuple(
            TensorInfo(t.name, t.shape, t.type, t.offset + data_start, t.bytes) for t in infos
        )
        return Header(path, metadata, tensors, len(cursor.data), (path,))


def _preamble(cursor: Cursor) -> tuple[int, int]:
    if bytes(cursor.data[:4]) != b"GGUF":
        raise PairRefused(f"{cursor.path.name} is not a GGUF file", "localspec runs .gguf files")
    cursor.claim(4, "the file mark")
    version = cursor.u32("the version")
    if version not in (2, 3):
        cursor.refuse(f"GGUF version {version} is not 2 or 3, or the byte order is foreign")
    tensors = cursor.count(MAX_ENTRIES, "the number of tensors")
    return tensors, cursor.count(MAX_ENTRIES, "the number of entries")


def _entries(cursor: Cursor, count: int) -> Iterator[tuple[str, Value]]:
    for _ in range(count):
        key = cursor.text("a key")
        yield key, _value(cursor, cursor.u32("a value's type"), key)


def _value(cursor: Cursor, kind: int, key: str) -> Value:
    if kind == STRING:
        return cursor.text(f"the text of {key[:80]!r}")
    if kind == ARRAY:
        return _array(cursor, key)
    if kind not in SCALARS:
        cursor.refuse(f"{key[:80]!r} has an unknown type, {kind}")
    code = struct.Struct("<" + SCALARS[kind])
    value: int | float | bool
    (value,) = code.unpack_from(cursor.data, cursor.claim(code.size, "a number"))
    return value


def _array(cursor: Cursor, key: str) -> LazyArray:
    kind = cursor.u32("an array's type")
    count = cursor.count(MAX_ELEMENTS, f"the length of {key[:80]!r}")
    start = cursor.at
    if kind == STRING:
        cursor.skip_texts(count)
    elif kind in SCALARS:
        cursor.claim(count * struct.calcsize("<" + SCALARS[kind]), "an array")
    else:
        cursor.refuse(f"{key[:80]!r} is an array of an unknown type, {kind}")
    return LazyArray(cursor.path, kind, count, start, cursor.at)


def _tensor(cursor: Cursor) -> TensorInfo:
    name = cursor.text("a tensor's name")
    dimensions = cursor.u32("a tensor's dimensions")
    if dimensions > MAX_DIMENSIONS:
        cursor.refuse(f"{name[:80]!r} has {dimensions} dimensions")
    shape = tuple(cursor.u64("a tensor's shape") for _ in range(dimensions))
    number = cursor.u32("a tensor's type")
    if number not in GGML_TYPES:
        cursor.refuse(f"{name[:80]!r} has type {number}, which this version does not know")
    kind = GGML_TYPES[number]
    if shape and shape[0] % kind.block:
        cursor.refuse(f"a row of {name[:80]!r} is no whole number of {kind.name} blocks")
    size = prod(shape) // kind.block * kind.size
    return TensorInfo(name, shape, number, cursor.u64("a tensor's place"), size)


def _check_data(cursor: Cursor, infos: tuple[TensorInfo, ...], data_start: int) -> None:
    for tensor in infos:
        missing = data_start + tensor.offset + tensor.bytes - len(cursor.data)
        if missing > 0:
            raise PairRefused(
                f"{cursor.path.name} is cut short: {tensor.name[:80]!r} needs {missing} bytes more",
                "the download did not finish: run it again, it goes on where it stopped",
            )
