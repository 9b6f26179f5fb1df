"""Is speculative text identical to plain text, to the last token, in strict mode?

    python -m benchmarks.strict --target T.gguf [--draft D.gguf] [--loose]

Twenty prompts, half of about 20 tokens and half of about 700, 300 tokens each, gamma 1, 3 and 7,
every drafter at hand, greedy and with the coupled rule at temperature .8, seed 7. `--loose` runs
without strict width instead, and shows for the first difference of each answer the gap between the
two best logits there and the largest change of a logit that batching causes at that place.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.common import Ask, Duo, answer, opened
from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from localspec.core.tokens import Tokens, sync

GAMMAS = (1, 3, 7)
TOKENS = 300
COUPLED = SamplingParams(temperature=0.8)
TOPICS = (
    "how a bicycle stays upright", "why the sky is blue", "a recipe for lentil soup",
    "a Python function that counts words", "the history of paper", "sorting a list in C",
    "a letter to a landlord about a broken heater", "how vaccines work",
    "a short story about a lighthouse", "a JSON list of five planets with their moons",
)  # fmt: skip
FILLER = (
    "The committee met on a Tuesday to discuss the plan for the new library. "
    "Several members asked about cost, others about light, and one about bicycles. "
    "def area(width, height):\n    return width * height\n"
    "Everyone agreed that the reading room should face the river, where mornings are quiet. "
)


def main() -> None:
    """Run the comparison and print one line a setting."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--loose", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of them")
    parser.add_argument("--drafters", default="lookup,model,lookup+model")
    parser.add_argument("--modes", default="greedy,coupled")
    args = parser.parse_args()
    strict = None if args.loose else 8
    with opened(args.target, args.draft, strict_rows=strict, threads=args.threads) as duo:
        asks = prompts(duo, args.prompts)[args.skip :]
        chains = [tuple(chain.split("+")) for chain in args.drafters.split(",")]
        drafters = chains if args.draft else [("lookup",)]
        for mode in args.modes.split(","):
            compare(duo, [shaped(ask, mode) for ask in asks], drafters, loose=args.loose)


def shaped(ask: Ask, mode: str) -> Ask:
    """Make a request greedy or coupled."""
    if mode == "greedy":
        return ask
    return replace(ask, sampling=COUPLED, rule=RuleName.COUPLED, seed=7)


def prompts(duo: Duo, count: int) -> list[Ask]:
    """Give short and long prompts in turn."""
    vocabulary = duo.target.model.vocabulary
    asks = []
    for number in range(count):
        topic = TOPICS[number // 2 % len(TOPICS)]
        text = f"Explain {topic} to a friend, in plain words, step by step:\n"
        if number % 2:
            text = FILLER * 9 + f"\nKeep the text above in mind ({number}).\n" + text
        ids = vocabulary.tokenize(text, special=False, bos=True)
        asks.append(Ask(np.array(ids, np.int32), max_tokens=TOKENS))
    return asks


@dataclass(frozen=True)
class Difference:
    """Where an answer first differs, and whether rounding explains it."""

    position: int
    gap: float
    batching: float


def compare(
    duo: Duo, asks: Sequence[Ask], drafters: Sequence[tuple[str, ...]], *, loose: bool
) -> None:
    """Count the answers whose ids differ from plain ones."""
    same = {(names, gamma): 0 for names in drafters for gamma in GAMMAS}
    found: list[Difference] = []
    tokens = 0
    for number, ask in enumerate(asks, 1):
        plain = answer(duo, ask).tokens
        tokens += len(plain)
        for names, gamma in same:
            told = replace(ask, gamma=gamma, drafters=names)
            got = answer(duo, told, fresh=loose).tokens
            same[names, gamma] += got == plain
            if got != plain and loose:
                found.append(explain(duo, ask, plain, got))
        right = sum(same.values())
        print(f"  prompt {number}: {right} of {number * len(same)} identical so far", flush=True)
    law = "greedy" if asks[0].rule is RuleName.BLOCK else "coupled, temp .8, seed 7"
    width = "without strict width" if loose else "strict"
    print(f"{duo.target.model.path.name}, {law}, {width}, {tokens} plain tokens", flush=True)
    for (names, gamma), count in same.items():
        print(f"  {'+'.join(names)} γ {gamma}: {count} of {len(asks)} identical", flush=True)
    for each in found:
        verdict = "rounding" if each.gap <= each.batching else "NOT EXPLAINED"
        print(
            f"  differs at {each.position}: gap {each.gap:.4f}, batching moves a logit by up to "
            f"{each.batching:.4f}: {verdict}"
        )


def explain(duo: Duo, ask: Ask, plain: list[int], got: list[int]) -> Difference:
    """Measure the gap of the two tokens, and what grouping the answer's tokens does just there."""
    shortest = min(len(plain), len(got))
    first = next((i for i in range(shortest) if plain[i] != got[i]), shortest - 1)
    single = _row(duo, ask.prompt, plain[:first], 1)
    changes = [
        float(np.abs(_row(duo, ask.prompt, plain[:first], size) - single).max())
        for size in (2, 4, 8)
    ]
    gap = abs(float(single[plain[first]] - single[got[first]]))
    return Difference(first, gap, max(changes))


def _row(duo: Duo, prompt: Tokens, written: list[int], size: int) -> np.ndarray:
    """Give the last row of logits when what was written is decoded in groups of `size`."""
    ids = np.concatenate([prompt[-1:], np.array(written, np.int32)])
    duo.target.rewind(0)
    sync(duo.target, prompt[:-1], 0)
    for start in range(0, len(ids), size):
        row = duo.target.extend(ids[start : start + size], 1)[-1]
    return row.copy()


if __name__ == "__main__":
    main()
