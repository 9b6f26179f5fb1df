"""What a model file is for: a model of its own, a head for another model, or neither.

Decides by metadata and tensor names. Does not look at vocabularies, and does not run anything.
"""

import re
from typing import Literal

from localspec.pairs.header import Header

BLOCK = re.compile(r"blk\.(\d{1,9})\.")

Mode = Literal["model", "eagle3", "mtp", "medusa", "dflash", "projector", "embedding", "adapter"]

HEADS: tuple[Mode, ...] = ("eagle3", "mtp", "medusa")
NOT_A_DRAFT: dict[Mode, str] = {
    "projector": "a projector for pictures or sound",
    "embedding": "an embedding model, which writes no text",
    "adapter": "an adapter, which changes another model",
    "dflash": "a DFlash head, which this version cannot run",
}
BY_ARCHITECTURE: dict[str, Mode] = {
    "eagle3": "eagle3",
    "medusa": "medusa",
    "dflash": "dflash",
    "clip": "projector",
    "gemma4-assistant": "mtp",
    "bert": "embedding",
    "nomic-bert": "embedding",
    "nomic-bert-moe": "embedding",
    "modern-bert": "embedding",
    "neo-bert": "embedding",
    "eurobert": "embedding",
    "jina-bert-v2": "embedding",
    "jina-bert-v3": "embedding",
    "gemma-embedding": "embedding",
    "llama-embed": "embedding",
    "t5encoder": "embedding",
}
BY_TYPE: dict[str, Mode] = {"mmproj": "projector", "adapter": "adapter"}


def mode_of(header: Header) -> Mode:
    """Say what a file is for."""
    head = header.arch if header.arch in HEADS else ""
    known = BY_ARCHITECTURE.get(head or header.arch)
    known = known if head else BY_TYPE.get(header.text("general.type")) or known
    if known:
        return known
    if header.number("{arch}.pooling_type"):
        return "embedding"
    if any(tensor.name.startswith("medusa.") for tensor in header.tensors):
        return "medusa"
    return "mtp" if mtp_layers(header) and not has_trunk(header) else "model"


def an(kind: str) -> str:
    """Put the article before the name of a kind."""
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def mtp_layers(header: Header) -> int:
    """Count the multi-token prediction layers that a file carries."""
    return header.number("{arch}.nextn_predict_layers") or 0


def has_mtp(header: Header) -> bool:
    """Tell whether a file holds every prediction layer that it speaks of."""
    layers = mtp_layers(header)
    blocks = (header.number("{arch}.block_count") or 0) - layers
    names = (f"blk.{blocks + layer}.nextn.eh_proj.weight" for layer in range(layers))
    return layers > 0 and all(header.tensor(name) is not None for name in names)


def has_trunk(header: Header) -> bool:
    """Tell whether a file holds ordinary blocks, not prediction layers only."""
    blocks = (header.number("{arch}.block_count") or 0) - mtp_layers(header)
    found = (BLOCK.match(tensor.name) for tensor in header.tensors)
    return any(int(name[1]) < blocks for name in found if name)
