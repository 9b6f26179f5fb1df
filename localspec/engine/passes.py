"""What every kind of cache does in a pass: how it is cut, why it failed, and where its rows are.

Knows the engine's answers. Does not know which sequences a cache holds.
"""

import ctypes
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from localspec.engine import log
from localspec.engine.model import Model
from localspec.engine.weights import Interrupted
from localspec.errors import LocalspecError

# Below this a pass is short enough to wait for; above it Ctrl-C must get through.
LONG_PREFILL = 32
_ABORTED = 2


class DecodeFailed(LocalspecError):
    """The engine could not compute a pass; the cache holds what it held before."""


def failure(model: Model, code: int) -> Exception:
    """Say why a pass with this model ended with `code`."""
    if code == _ABORTED:
        return Interrupted("stopped")
    if code == -1:
        return ValueError(f"the engine refused the batch: {' '.join(log.tail(1))}")
    what = {1: "no room in its cache", -2: "out of memory"}.get(code, f"code {code}")
    return DecodeFailed(
        f"the engine could not decode with {model.path.name}: {what}",
        "a smaller --ctx or another cache type may help",
    )


def slices(count: int, rows: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut `count` tokens into passes of at most `size`, the last holding all `rows` wanted."""
    start = 0
    while count - start > size:
        end = min(start + size, count - rows)
        yield start, end
        start = end
    if count > start:
        yield start, count


def borrow(address: int, rows: int, columns: int) -> NDArray[np.float32]:
    """View the engine's output as an array, without a copy; building it is slow, so it is kept."""
    raw = (ctypes.c_float * (rows * columns)).from_address(address)
    view: NDArray[np.float32] = np.ctypeslib.as_array(raw).reshape(rows, columns)
    view.flags.writeable = False
    return view
