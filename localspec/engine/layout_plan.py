"""What a recipe would make of each tensor of a file, asked of the engine's quantiser in a dry run.

Knows names, shapes and types. Writes nothing, and does not know which layout is fast.
"""

import ctypes
import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from localspec.engine import header, library, log
from localspec.engine.quantise import Recipe, check_source, quantise_params
from localspec.errors import PairRefused

# "[ 335/ 339] blk.27.attn_v.weight - [ 1536, 256, 1, 1], type = q6_K, size = 0.3 MiB -> … (q4_0)"
_LINE = re.compile(
    r"^\[ *\d+/ *\d+\] (?P<name>\S+) +- \[(?P<shape>[\d ,]+)\], type = *(?P<old>\w+), size = "
    r".*?(?:\((?P<new>\w+)\))?$"
)
_BLOCK = re.compile(r"^blk\.(\d+)\.")


@dataclass(frozen=True)
class PlannedTensor:
    """A tensor as the layout would hold it; `type` such as "q4_0", the contiguous side first."""

    name: str
    shape: tuple[int, ...]
    type: str

    @property
    def weights(self) -> int:
        """Give the number of weights."""
        return prod(self.shape)

    @property
    def block(self) -> int | None:
        """Give the number of the block it is in; None for head and embedding."""
        found = _BLOCK.match(self.name)
        return int(found.group(1)) if found else None


def plan_of(source: Path, recipe: Recipe) -> tuple[PlannedTensor, ...]:
    """Give every tensor that `quantise` would write.

    Raises: PairRefused when the engine cannot make this layout of this file, with its reason.
    """
    keep: list[Any] = []
    params = quantise_params(recipe, keep)
    params.dry_run = True
    check_source(source, header.read(source), recipe)
    with log.captured() as lines:
        code = library.load().llama_model_quantize(
            str(source).encode("utf-8", "surrogateescape"), b"", ctypes.byref(params)
        )
    planned = tuple(_planned(lines))
    reason = _refusal(lines)
    if code or reason or not planned:
        raise PairRefused(
            f"the engine cannot requantise {source.name} as {recipe.type}: {reason or 'no reason'}"
        )
    return planned


def _planned(lines: Iterable[str]) -> Iterable[PlannedTensor]:
    for line in lines:
        found = _LINE.match(line.strip())
        if found:
            shape = tuple(int(part) for part in found["shape"].split(","))
            yield PlannedTensor(found["name"], shape, (found["new"] or found["old"]).lower())


def _refusal(lines: Iterable[str]) -> str:
    """Give the engine's own words for why not; a layout that needs an importance matrix is one."""
    for line in lines:
        if "failed to quantize" in line:
            return line.rpartition("failed to quantize: ")[2].strip() or line.strip()
        if "require" in line and "imatrix" in line:
            return "it needs an importance matrix"
    return ""
