"""An EAGLE-3 head's file: is it whole, and was it made for this target.

Knows what the engine's graph takes for granted and would end the process over: every shape, the
map from the head's ids to the target's, the blocks it reads. One line for each way a file can be
wrong. Does not read weights.
"""

from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from localspec.errors import NotHere, PairRefused
from localspec.pairs.compat import compare
from localspec.pairs.header import Header, read_header
from localspec.pairs.kinds import an
from localspec.pairs.weights import read_long_ids

ARCHITECTURE = "eagle3"
TAPS = 3
_OTHER = "take the head that was made for this target"


def check_eagle3(path: Path, target: Header) -> tuple[int, ...]:
    """Hold a head against the target it is to guess for; give the blocks whose inputs it reads.

    Raises: PairRefused in one line: missing, cut short, of another kind, of another target.
    """
    try:
        head = read_header(path)
    except NotHere as absent:
        raise PairRefused(f"no EAGLE-3 head: {absent.message}", "check --head") from absent
    if head.arch != ARCHITECTURE:
        found = f"{an(head.arch)} file" if head.arch else "of no kind that it names"
        raise PairRefused(f"{path.name} is no EAGLE-3 head: it is {found}", _OTHER)
    layers = head.array("{arch}.target_layers")
    if layers is None or layers.count != TAPS or head.number("{arch}.block_count") != 1:
        _refuse(head, f"a head reads {TAPS} blocks of its target and has one of its own")
    refusal = compare(target, head).refusal
    if refusal is not None:
        raise PairRefused(f"{path.name} does not fit {target.path.name}: {refusal.detail}", _OTHER)
    _Shapes(head, target).check()
    return tuple(int(layer) for layer in layers.numbers().tolist())


class _Shapes:
    """The shapes of a head, each held against the others and the target's."""

    def __init__(self, head: Header, target: Header) -> None:
        self._head = head
        self._width = head.number("{arch}.embedding_length") or 0
        self._theirs = target.number("{arch}.embedding_length") or 0
        tokens = target.array("tokenizer.ggml.tokens")
        self._size = tokens.count if tokens else 0

    def check(self) -> None:
        """Check everything that the engine does not check by itself."""
        own = head_tokens = self._head.array("tokenizer.ggml.tokens")
        if own is None or head_tokens is None or own.count < self._size:
            _refuse(self._head, f"it does not name the target's {self._size} tokens")
        key, value = (
            self._head.number(f"{{arch}}.attention.{part}_length") for part in ("key", "value")
        )
        if key != value:
            _refuse(self._head, f"its keys have {key} numbers and its values {value}")
        self._matrix("fc.weight", TAPS * self._theirs, self._width)
        drafted = self._ids()
        rows = self._size if drafted is None else len(drafted)
        output = self._head.tensor("output.weight")
        if output is not None:
            self._matrix("output.weight", self._width, rows)
        embeds = self._head.tensor("token_embd.weight")
        if embeds is not None:
            self._matrix("token_embd.weight", self._width, own.count)
        borrows = output is None or embeds is None
        if borrows and self._width != self._theirs:
            _refuse(
                self._head,
                f"it has {self._width} numbers a token and borrows the target's {self._theirs}",
            )
        if output is None and drafted is not None:
            _refuse(self._head, "it maps ids of its own, but has no output of its own")

    def _ids(self) -> NDArray[np.int64] | None:
        """Read the map to the target's ids; one that leads out of it would end the process."""
        tensor = self._head.tensor("d2t")
        if tensor is None:
            return None
        ids = read_long_ids(self._head.path, tensor)
        inside = len(ids) > 0 and ids.min() >= 0 and ids.max() < self._size
        if not inside or len(np.unique(ids)) < len(ids):
            _refuse(self._head, f"its map does not name {len(ids)} tokens of the target")
        return ids

    def _matrix(self, name: str, inputs: int, outputs: int) -> None:
        tensor = self._head.tensor(name)
        found = tensor.shape if tensor else None
        if found != (inputs, outputs):
            has = f"is {' × '.join(map(str, found))}" if found else "is missing"
            _refuse(self._head, f"{name} {has}, not {inputs} × {outputs}")


def _refuse(head: Header, what: str) -> NoReturn:
    raise PairRefused(f"{head.path.name} is damaged: {what}", _OTHER)
