"""Tensors of a GGUF file as arrays of float32, for weights that numpy works with itself.

Knows the plain types and the two simplest block types. Does not know what a tensor is for.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localspec.errors import PairRefused
from localspec.pairs.ggml_types import GGML_TYPES
from localspec.pairs.header import TensorInfo

Floats = NDArray[np.float32]

_F32, _F16, _Q4_0, _Q8_0, _I32, _I64, _BF16 = 0, 1, 2, 8, 26, 27, 30
READABLE = (_F32, _F16, _BF16, _Q8_0, _Q4_0)


def read_floats(path: Path, tensor: TensorInfo) -> Floats:
    """Read a tensor; its contiguous dimension comes last, as numpy has it.

    Raises: PairRefused for a type that is not read here.
    """
    raw = _raw(path, tensor)
    if tensor.type == _F32:
        flat = raw.view("<f4").astype(np.float32)
    elif tensor.type == _F16:
        flat = raw.view("<f2").astype(np.float32)
    elif tensor.type == _BF16:
        flat = (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
    elif tensor.type == _Q8_0:
        flat = _q8_0(raw.reshape(-1, 34))
    elif tensor.type == _Q4_0:
        flat = _q4_0(raw.reshape(-1, 18))
    else:
        names = ", ".join(GGML_TYPES[number].name for number in READABLE)
        raise PairRefused(
            f"{path.name}: {tensor.name!r} is {GGML_TYPES[tensor.type].name}, not one of {names}",
            "convert the heads again",
        )
    return flat.reshape(tensor.shape[::-1])


def read_ids(path: Path, tensor: TensorInfo) -> NDArray[np.int64]:
    """Read a list of ids.

    Raises: PairRefused for another type.
    """
    if tensor.type != _I32:
        raise PairRefused(f"{path.name}: {tensor.name!r} holds no ids", "convert the heads again")
    return _raw(path, tensor).view("<i4").astype(np.int64)


def read_long_ids(path: Path, tensor: TensorInfo) -> NDArray[np.int64]:
    """Read a list of ids of 64 bits.

    Raises: PairRefused for another type.
    """
    if tensor.type != _I64:
        raise PairRefused(f"{path.name}: {tensor.name!r} holds no ids", "convert the head again")
    return _raw(path, tensor).view("<i8").astype(np.int64)


def _raw(path: Path, tensor: TensorInfo) -> NDArray[np.uint8]:
    with path.open("rb") as file:
        file.seek(tensor.offset)
        return np.frombuffer(file.read(tensor.bytes), np.uint8)


def _q8_0(blocks: NDArray[np.uint8]) -> Floats:
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return blocks[:, 2:].view(np.int8).astype(np.float32) * scale


def _q4_0(blocks: NDArray[np.uint8]) -> Floats:
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    packed = blocks[:, 2:]
    whole = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) - 8
    return np.asarray(whole * scale, np.float32)
