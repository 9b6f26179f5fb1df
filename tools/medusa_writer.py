"""Write Medusa heads as the GGUF file that localspec reads; see `localspec.pairs.medusa_file`.

Knows names, types and metadata. Does not know where the weights come from.
"""

from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from localspec.drafters.medusa_heads import MedusaHeads
from localspec.pairs import medusa_file as layout
from localspec.pairs.header import read_header
from localspec.pairs.vocabulary import read_vocabulary
from tools.tensors import add_tensor, finish


@dataclass(frozen=True)
class Writing:
    """How the heads are stored; `notes` go into the file as `general.description`."""

    blocks: str = "q8_0"
    projection: str = "q8_0"
    licence: str = "apache-2.0"
    notes: str = ""


def write_medusa(path: Path, heads: MedusaHeads, target: Path, how: Writing | None = None) -> Path:
    """Write heads for a target; the file names the target's vocabulary by a digest."""
    how = how or Writing()
    header = read_header(target)
    texts = read_vocabulary(header).texts
    writer = gguf.GGUFWriter(path, layout.ARCHITECTURE)
    writer.add_type("adapter")
    writer.add_name(f"Medusa heads for {header.name}")
    if how.licence:
        writer.add_license(how.licence)
    if how.notes:
        writer.add_description(how.notes)
    writer.add_uint32(layout.HEADS, len(heads))
    writer.add_uint32(layout.LAYERS, len(heads.layers))
    writer.add_string(layout.TARGET_NAME, header.name)
    writer.add_string(layout.TARGET_TEXTS, layout.digest(texts))
    if not np.array_equal(heads.ids, np.arange(len(texts))):
        writer.add_tensor(layout.IDS, heads.ids.astype(np.int32))
    _add_weights(writer, heads, how)
    finish(writer)
    return path


def _add_weights(writer: gguf.GGUFWriter, heads: MedusaHeads, how: Writing) -> None:
    for number, layer in enumerate(heads.layers):
        for head in range(len(heads)):
            name = f"medusa.{head}.{number}"
            add_tensor(writer, f"{name}.weight", layer.weight[head], how.blocks)
            add_tensor(writer, f"{name}.bias", layer.bias[head], "f32")
    if heads.projection.ndim == 2:
        add_tensor(writer, layout.PROJECTION, heads.projection, how.projection)
        return
    for head, projection in enumerate(heads.projection):
        add_tensor(writer, f"medusa.{head}.projection.weight", projection, how.projection)
