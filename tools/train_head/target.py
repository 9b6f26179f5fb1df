"""What training needs of a target's file: its matrices, whole or some rows, and its sizes.

Knows GGUF tensors through the `gguf` package, which reads every block type. Runs nothing.
"""

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from localspec.errors import PairRefused
from localspec.pairs.header import Header, TensorInfo, read_header
from localspec.pairs.vocabulary import read_vocabulary

Floats = NDArray[np.float32]


def output_rows(target: Path, ids: NDArray[np.int64]) -> Floats:
    """Give the output matrix's rows of some ids. Shapes: (ids, width).

    Raises: PairRefused when the file has no such matrix.
    """
    return _rows(target, ("output.weight", "token_embd.weight"), ids)


def embedding_rows(target: Path, ids: NDArray[np.int64]) -> Floats:
    """Give the token embedding's rows of some ids. Shapes: (ids, width).

    Raises: PairRefused when the file has no such matrix.
    """
    return _rows(target, ("token_embd.weight",), ids)


def tensor_values(header: Header, name: str) -> Floats | None:
    """Give a whole tensor, the contiguous dimension last; None where the file has none."""
    tensor = header.tensor(name)
    if tensor is None:
        return None
    found = gguf.dequantize(_raw(header, tensor), gguf.GGMLQuantizationType(tensor.type))
    return np.ascontiguousarray(found.reshape(tensor.shape[::-1]), np.float32)


def vocabulary_size(target: Path) -> int:
    """Give the number of ids."""
    return len(read_vocabulary(read_header(target)))


def licence_of(target: Path) -> str:
    """Give the licence that the file names, or an empty text: heads begin as its weights."""
    return read_header(target).text("general.license")


def _rows(target: Path, names: tuple[str, ...], ids: NDArray[np.int64]) -> Floats:
    header = read_header(target)
    tensor = next((found for name in names if (found := header.tensor(name))), None)
    if tensor is None:
        raise PairRefused(f"{target.name} has no {names[0]}")
    raw = np.ascontiguousarray(_raw(header, tensor)[ids])
    found = gguf.dequantize(raw, gguf.GGMLQuantizationType(tensor.type))
    return np.ascontiguousarray(found.reshape(len(ids), tensor.shape[0]), np.float32)


def _raw(header: Header, tensor: TensorInfo) -> NDArray[np.uint8]:
    """Give a tensor's bytes. Shapes: (rows, bytes of a row)."""
    with header.path.open("rb") as file:
        file.seek(tensor.offset)
        raw = np.frombuffer(file.read(tensor.bytes), np.uint8)
    return raw.reshape(tensor.weights // tensor.shape[0], -1)
