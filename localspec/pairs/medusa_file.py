"""A file of Medusa heads: what is in it, and whether it was made for this target.

Knows our layout of such a file, `LAYOUT` below, and one line for each way a file can be wrong.
Does not know what the heads are used for.
"""

import hashlib
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from localspec.drafters.medusa_heads import Layer, MedusaHeads
from localspec.errors import NotHere, PairRefused
from localspec.pairs.header import Header, read_header
from localspec.pairs.kinds import an
from localspec.pairs.vocabulary import read_vocabulary
from localspec.pairs.weights import Floats, read_floats, read_ids

ARCHITECTURE = "medusa"
HEADS = "medusa.heads"
LAYERS = "medusa.layers"
TARGET_NAME = "medusa.target"
TARGET_TEXTS = "medusa.target_texts"
IDS = "medusa.ids"
PROJECTION = "medusa.projection.weight"
MOST_HEADS, MOST_LAYERS = 64, 16
LAYOUT = """
A GGUF file with `general.architecture` medusa; medusa.heads and medusa.layers (u32), medusa.target
(the target's name) and medusa.target_texts (`digest` of its token texts). Tensors: for head H and
layer L medusa.H.L.weight (width, width) and medusa.H.L.bias; medusa.projection.weight (ids, width)
if the heads share one, else medusa.H.projection.weight; medusa.ids (I32), the target's id of each
row, left out where the rows are the target's vocabulary in order.
"""
_OTHER = "take the heads that were made for this target, or train some: python -m tools.train_head"


def digest(texts: tuple[bytes, ...]) -> str:
    """Name a vocabulary by its texts in order."""
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def read_medusa(path: Path, target: Header) -> MedusaHeads:
    """Read heads and hold them against the target they are to guess for.

    Raises: PairRefused in one line: missing, cut short, of another kind, of another target.
    """
    return _Reader(check_medusa(path, target), target).heads()


def check_medusa(path: Path, target: Header) -> Header:
    """Hold a file's header against the target's; give it. Reads no weight.

    Raises: PairRefused.
    """
    try:
        header = read_header(path)
    except NotHere as absent:
        raise PairRefused(f"no Medusa heads: {absent.message}", "check --head") from absent
    if header.arch != ARCHITECTURE:
        found = f"{an(header.arch)} file" if header.arch else "of no kind that it names"
        raise PairRefused(f"{path.name} holds no Medusa heads: it is {found}", _OTHER)
    _check_target(header, target)
    return header


def _check_target(heads: Header, target: Header) -> None:
    """Compare width and vocabulary before any weight is read."""
    texts = read_vocabulary(target).texts
    first = heads.tensor("medusa.0.0.weight")
    width = target.number("{arch}.embedding_length")
    if first is not None and width is not None and first.shape[:1] != (width,):
        raise PairRefused(
            f"{heads.path.name} reads states of {first.shape[0]} numbers, "
            f"{target.path.name} has {width}",
            _OTHER,
        )
    if heads.text(TARGET_TEXTS) != digest(texts):
        name = heads.text(TARGET_NAME) or "another model"
        raise PairRefused(
            f"{heads.path.name} was made for {name}, whose vocabulary is not that of "
            f"{target.path.name}",
            _OTHER,
        )


class _Reader:
    """One file being read; every shape is checked against the others."""

    def __init__(self, header: Header, target: Header) -> None:
        self._header = header
        self._size = len(read_vocabulary(target))
        self._heads = self._count(HEADS, MOST_HEADS)
        self._layers = self._count(LAYERS, MOST_LAYERS)

    def heads(self) -> MedusaHeads:
        """Put the heads together."""
        layers = tuple(self._layer(number) for number in range(self._layers))
        width = layers[0].bias.shape[-1]
        projection = self._projection(width)
        ids = self._ids(projection.shape[-2])
        parts = [projection, *(part for layer in layers for part in (layer.weight, layer.bias))]
        if not all(np.isfinite(part).all() for part in parts):
            self._refuse("some of its weights are no numbers")
        return MedusaHeads(layers, projection, ids)

    def _count(self, key: str, most: int) -> int:
        value = self._header.number(key)
        if value is None or not 1 <= value <= most:
            self._refuse(f"{key} is {value}")
        return value

    def _layer(self, number: int) -> Layer:
        names = [f"medusa.{head}.{number}" for head in range(self._heads)]
        weight = self._stacked([f"{name}.weight" for name in names])
        bias = self._stacked([f"{name}.bias" for name in names])
        if weight.shape != (self._heads, bias.shape[1], bias.shape[1]):
            self._refuse(f"layer {number} is {weight.shape[1:]} with a bias of {bias.shape[1]}")
        return Layer(weight, bias)

    def _projection(self, width: int) -> Floats:
        if self._header.tensor(PROJECTION) is not None:
            found = self._floats(PROJECTION)
        else:
            names = [f"medusa.{head}.projection.weight" for head in range(self._heads)]
            found = self._stacked(names)
        if found.shape[-1] != width:
            self._refuse(f"its projection reads {found.shape[-1]} numbers of {width}")
        return found

    def _ids(self, rows: int) -> NDArray[np.int64]:
        tensor = self._header.tensor(IDS)
        ids = np.arange(rows) if tensor is None else read_ids(self._header.path, tensor)
        sound = len(ids) == rows and len(np.unique(ids)) == rows
        if not sound or ids.min() < 0 or ids.max() >= self._size:
            self._refuse(f"its {len(ids)} ids do not name {rows} tokens of the target")
        return ids

    def _stacked(self, names: list[str]) -> Floats:
        parts = [self._floats(name) for name in names]
        for name, part in zip(names, parts, strict=True):
            if part.shape != parts[0].shape:
                self._refuse(f"{name} has another shape than {names[0]}")
        return np.stack(parts)

    def _floats(self, name: str) -> Floats:
        tensor = self._header.tensor(name)
        if tensor is None:
            self._refuse(f"it has no {name}")
        found = read_floats(self._header.path, tensor)
        if found.size == 0 or found.ndim != _dimensions(name):
            self._refuse(f"{name} has the shape {tensor.shape}")
        return found

    def _refuse(self, what: str) -> NoReturn:
        raise PairRefused(f"{self._header.path.name} is damaged: {what}", _OTHER)


def _dimensions(name: str) -> int:
    return 1 if name.endswith(".bias") else 2
