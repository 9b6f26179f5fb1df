"""Flash attention against plain products: passes of several rows, and prompts, in turn.

    python -m benchmarks.attention --target T.gguf [--contexts 128,1024,4000] [--repeats 9]

Prints, as a Markdown table, milliseconds of passes over 1 to 16 rows with flash attention and
without, medians, and the seconds that the text before them took to read, once each.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from localspec.core.tokens import Tokens
from localspec.engine import Context, ContextOptions, Model
from localspec.engine.attention import Attention

ROWS = (1, 2, 4, 8, 16)
WAYS: tuple[Attention, ...] = ("on", "off")


def main() -> None:
    """Measure both ways at every length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--contexts", default="128,1024,4000")
    parser.add_argument("--repeats", type=int, default=9)
    asked = parser.parse_args()
    lengths = sorted(int(each) for each in asked.contexts.split(","))
    room = lengths[-1] + max(ROWS)
    print(f"| tokens | read, s | {' | '.join(f'{rows} rows, ms' for rows in ROWS)} |")
    print("|---" * (len(ROWS) + 2) + "|")
    with Model.load(asked.target) as model:
        open_ = {way: Context(model, ContextOptions(room, flash_attn=way)) for way in WAYS}
        for length in lengths:
            read = {way: _read(context, length) for way, context in open_.items()}
            passes = _passes(open_, length, asked.repeats)
            cells = [_cell({way: passes[way, rows] for way in WAYS}) for rows in ROWS]
            told = " / ".join(f"{read[way]:.2f}" for way in WAYS)
            print(f"| {length} | {told} | {' | '.join(cells)} |", flush=True)


def _ids(count: int) -> Tokens:
    return (1000 + 7 * np.arange(count, dtype=np.int32)) % 5000


def _read(context: Context, length: int) -> float:
    """Read on to `length` tokens; give the seconds."""
    begun = perf_counter()
    context.extend(_ids(length)[len(context.tokens) :], 0)
    return perf_counter() - begun


def _passes(
    contexts: Mapping[Attention, Context], length: int, repeats: int
) -> dict[tuple[Attention, int], list[float]]:
    """Give milliseconds of passes by way and rows; both ways take turns, and who begins changes."""
    taken: dict[tuple[Attention, int], list[float]] = {}
    for turn in range(repeats):
        for way in WAYS if turn % 2 else WAYS[::-1]:
            for rows in (1, *ROWS):
                begun = perf_counter()
                contexts[way].extend(_ids(rows), rows)[-1].argmax()
                taken.setdefault((way, rows), []).append(1e3 * (perf_counter() - begun))
                contexts[way].rewind(length)
    return taken


def _cell(taken: Mapping[Attention, list[float]]) -> str:
    return " / ".join(f"{median(taken[way]):.1f}" for way in WAYS)


if __name__ == "__main__":
    main()
