"""What the engine says of itself, asked in a process of its own, so that a crash is an answer, too.

Prints one JSON line a step: the last one printed tells how far it came. Run by `engine_probe`.
"""

import json
import sys
from pathlib import Path

import numpy as np

from localspec.core.tokens import Logits, Tokens, sync
from localspec.engine.context import Context
from localspec.engine.devices import can_offload, list_devices
from localspec.engine.library import engine_version, load, system_info
from localspec.engine.model import Model
from localspec.engine.shape import ContextOptions
from localspec.errors import LocalspecError

WIDTHS = (2, 4, 8, 16)
TOKENS = 32
# With little to look back on, attention is not split and some files show no difference at all.
BEFORE = 256
TEXT = (
    "The mmap system call maps a file into the address space of a process, so that reading "
    "memory reads the file and the system fetches its pages when they are first touched."
)


def main(arguments: list[str]) -> int:
    """Load the engine, describe it, and measure a model if one is named."""
    try:
        load()
        tell("loaded", version=engine_version(), flags=system_info(), offload=can_offload())
        tell("devices", devices=[_device(each) for each in list_devices()])
        if arguments:
            tell("batching", **batching(Path(arguments[0])))
    except LocalspecError as failure:
        tell("failed", error=failure.message, hint=failure.hint)
    return 0


def tell(step: str, **facts: object) -> None:
    """Print a step's findings, at once: the next step may be the one that crashes."""
    sys.stdout.write(json.dumps({"step": step, **facts}) + "\n")
    sys.stdout.flush()


def _device(device: object) -> dict[str, object]:
    names = ("name", "description", "kind", "free_bytes", "total_bytes")
    return {name: getattr(device, name) for name in names}


def batching(path: Path) -> dict[str, object]:
    """Measure how much the logits of the same tokens change with the width of a pass."""
    with Model.load(path) as model:
        said = model.vocabulary.tokenize(TEXT, special=False, bos=True)
        text = np.resize(np.array(said, np.int32), BEFORE + TOKENS)
        with Context(model, ContextOptions(n_ctx=len(text) + 1, max_rows=max(WIDTHS))) as context:
            single = _logits(context, text, 1)
            widths = [_difference(single, _logits(context, text, w), w) for w in WIDTHS]
            return {"model": path.stem, "tokens": TOKENS, "before": BEFORE, "widths": widths}


def _logits(context: Context, text: Tokens, width: int) -> Logits:
    """Read a text's end `width` tokens at a time; give a row of logits for each."""
    sync(context, text[:BEFORE], 0)
    rows = [
        np.array(context.extend(part, len(part)))
        for part in (text[at : at + width] for at in range(BEFORE, len(text), width))
    ]
    return np.concatenate(rows)


def _difference(single: Logits, batched: Logits, width: int) -> dict[str, object]:
    flips = np.argmax(single, axis=1) != np.argmax(batched, axis=1)
    return {
        "rows": width,
        "largest": float(np.max(np.abs(single - batched))),
        "flips": int(np.count_nonzero(flips)),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
