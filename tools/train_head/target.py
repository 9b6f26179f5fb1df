"""What training needs of a target's file: rows of its output matrix.

Knows GGUF tensors through the `gguf` package, which reads every block type. Runs nothing.
"""

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from localspec.errors import PairRefused
from localspec.pairs.header import read_header
from localspec.pairs.vocabulary import read_vocabulary


def output_rows(target: Path, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """Give the output matrix's rows of some ids. Shapes: (ids, width).

    Raises: PairRefused when the file has no such matrix.
    """
    header = read_header(target)
    tensor = header.tensor("output.weight") or header.tensor("token_embd.weight")
    if tensor is None:
        raise PairRefused(f"{target.name} has no output matrix")
    width, rows = tensor.shape
    with target.open("rb") as file:
        file.seek(tensor.offset)
        raw = np.frombuffer(file.read(tensor.bytes), np.uint8).reshape(rows, -1)
    kind = gguf.GGMLQuantizationType(tensor.type)
    found = gguf.dequantize(np.ascontiguousarray(raw[ids]), kind)
    return np.ascontiguousarray(found.reshape(len(ids), width), np.float32)


def vocabulary_size(target: Path) -> int:
    """Give the number of ids."""
    return len(read_vocabulary(read_header(target)))
