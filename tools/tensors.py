"""How weights are stored in a GGUF file of heads: plain, or in one of two simple block types.

Knows types and packing, which rounds as the engine's own quantiser does. Does not know what a
tensor is for.
"""

import gguf
import numpy as np
from numpy.typing import NDArray

TYPES = {
    "f32": gguf.GGMLQuantizationType.F32,
    "f16": gguf.GGMLQuantizationType.F16,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
    "q4_0": gguf.GGMLQuantizationType.Q4_0,
}


def add_tensor(writer: gguf.GGUFWriter, name: str, value: NDArray[np.float32], kind: str) -> None:
    """Store one tensor; a row that is no whole number of blocks stays f16."""
    if kind in ("q8_0", "q4_0") and value.shape[-1] % 32:
        kind = "f16"
    if kind in ("f32", "f16"):
        writer.add_tensor(name, value.astype(np.float32 if kind == "f32" else np.float16))
        return
    packed = gguf.quantize(np.ascontiguousarray(value, np.float32), TYPES[kind])
    writer.add_tensor(name, packed, raw_dtype=TYPES[kind])


def finish(writer: gguf.GGUFWriter) -> None:
    """Write the file out and close it."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
