"""What the lookup drafter costs at 100,000 tokens, and what each shortest match is worth.

Run: python -m benchmarks.lookup [FILE ...]. Prints microseconds a token to append, to look up and
to cut, on texts from never repeating to one word. With files it replays them, split into words and
signs: of the tokens drafted and judged, how many the text goes on with, and tokens per pass.
"""

import re
import sys
import tracemalloc
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from time import perf_counter

import numpy as np

from localspec.core.draft import DraftRequest
from localspec.core.tokens import Tokens
from localspec.drafters.lookup import LookupDrafter

LENGTH = 100_000
TAIL = 2_000


def request(limit: int) -> DraftRequest:
    """Ask for the likeliest tokens."""
    return DraftRequest(limit, lambda law, _i: int(law.ids[0]))


def texts(length: int) -> dict[str, Tokens]:
    """Give token arrays from the easiest to the hardest for an index."""
    draw = np.random.default_rng(1)
    zipf = np.minimum(draw.zipf(1.3, length), 50_000)
    return {
        "never repeats": np.arange(length, dtype=np.int32),
        "like words": zipf.astype(np.int32),
        "four ids": draw.integers(0, 4, length).astype(np.int32),
        "pair + new id": np.where(np.arange(length) % 3 == 2, np.arange(length), 7).astype(
            np.int32
        ),
        "period of 50": (np.arange(length) % 50).astype(np.int32),
        "one id": np.zeros(length, np.int32),
    }


def microseconds(action: Callable[[], object], count: int) -> float:
    """Time one run of `action`, per item."""
    begun = perf_counter()
    action()
    return 1e6 * (perf_counter() - begun) / count


def cost(name: str, text: Tokens) -> None:
    """Print the costs of one text: all at once, then token by token near its end."""
    tracemalloc.start()
    measured = LookupDrafter()
    measured.prefill(text)
    memory = tracemalloc.get_traced_memory()[0] / len(text)
    tracemalloc.stop()
    drafter = LookupDrafter()
    prefill = microseconds(lambda: drafter.prefill(text[:-TAIL]), len(text) - TAIL)

    def step_through() -> None:
        for end in range(len(text) - TAIL, len(text)):
            drafter.propose(text[:end], request(8))

    step = microseconds(step_through, TAIL)
    cut = microseconds(lambda: drafter.prefill(text[: len(text) // 2]), len(text) // 2)
    print(f"{name:14} {prefill:8.2f} {step:16.1f} {cut:8.2f} {memory:12.0f}")


def replay(ids: Tokens, shortest: int, gamma: int) -> tuple[float, float, float]:
    """Decode a known text with lookup; give acceptance, tokens per pass and drafting rounds."""
    drafter = LookupDrafter(shortest=shortest)
    position, judged, accepted, passes, drafting = 1, 0, 0, 0, 0
    while position < len(ids):
        tokens = drafter.propose(ids[:position], request(gamma)).tokens
        pairs = zip(tokens, ids[position:], strict=False)
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        accepted += kept
        judged += min(kept + 1, len(tokens))
        drafting += bool(tokens)
        passes += 1
        position += kept + 1
    return accepted / max(judged, 1), (len(ids) - 1) / passes, drafting / passes


def split(path: Path) -> Tokens:
    """Number the words, numbers and signs of a file in order of appearance."""
    seen: dict[str, int] = {}
    words = re.findall(r"\s?\w+|\s*[^\w\s]|\s+", path.read_text("utf-8", "replace"))
    return np.array([seen.setdefault(word, len(seen)) for word in words], np.int32)


def main(files: list[str]) -> None:
    """Print both tables."""
    print("µs a token     prefill  propose 8 at 100k      cut  bytes a token")
    for name, text in texts(LENGTH).items():
        cost(name, text)
    for file in files:
        ids = split(Path(file))
        print(f"\n{file}: {len(ids)} tokens\nshortest  alpha  tau γ3  tau γ7  rounds with a draft")
        for shortest in range(1, 9):
            alpha, tau, share = replay(ids, shortest, 3)
            wide = replay(ids, shortest, 7)[1]
            print(f"{shortest:8}  {alpha:5.2f}  {tau:6.2f}  {wide:6.2f}  {share:5.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
