"""Is speculative text identical to plain text, to the last token, in strict mode?

    python -m benchmarks.strict --target T.gguf [--draft D.gguf] [--loose]

Twenty prompts, half of about 20 tokens and half of about 700, 300 tokens each, gamma 1, 3 and 7,
every drafter at hand, greedy and with the coupled rule at temperature .8, seed 7. `--loose` runs
without strict width instead, and shows for the first difference of each answer the gap between the
scores of the two tokens there, row by row and when the answer is decoded again in the very passes
of that run: if those turn the choice, rounding did it. A score is the logit; under the coupled rule
it is log p plus the shared noise, and infinitely low behind the cut of top-k or top-p.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.common import Ask, Duo, answer, opened
from localspec.core.events import Step
from localspec.core.judge import CoupledJudge, make_judge
from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tally import Tally
from localspec.core.tokens import sync

GAMMAS = (1, 3, 7)
TOKENS = 300
COUPLED = SamplingParams(temperature=0.8)
IMPOSSIBLE = float("-inf")
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
    batched: float

    @property
    def explained(self) -> bool:
        """Say whether the run's own passes turn the choice."""
        return self.gap >= 0.0 >= self.batched


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
            tally = answer(duo, told, fresh=loose)
            same[names, gamma] += tally.tokens == plain
            if tally.tokens != plain and loose:
                found.append(explain(duo, ask, plain, tally))
        right = sum(same.values())
        print(f"  prompt {number}: {right} of {number * len(same)} identical so far", flush=True)
    law = "greedy" if asks[0].rule is RuleName.BLOCK else "coupled, temp .8, seed 7"
    width = "without strict width" if loose else "strict"
    print(f"{duo.target.model.path.name}, {law}, {width}, {tokens} plain tokens", flush=True)
    for (names, gamma), count in same.items():
        print(f"  {'+'.join(names)} γ {gamma}: {count} of {len(asks)} identical", flush=True)
    for each in found:
        verdict = "rounding" if each.explained else "NOT EXPLAINED"
        print(
            f"  differs at {each.position}: gap {each.gap:.4f} row by row, {each.batched:.4f} in "
            f"the run's passes: {verdict}"
        )


def explain(duo: Duo, ask: Ask, plain: list[int], tally: Tally) -> Difference:
    """Measure the gap of the two tokens, and what the run's own passes do to it."""
    got = tally.tokens
    shortest = min(len(plain), len(got))
    first = next((i for i in range(shortest) if plain[i] != got[i]), shortest - 1)
    place = len(ask.prompt) + first
    single = _scores(duo, ask, plain[:first], _one_by_one(duo, ask, plain[:first]))
    batched = _scores(duo, ask, plain[:first], _as_it_ran(duo, ask, tally.steps, place))
    two = [plain[first], got[first]]
    gap, gap_then = (float(scores[two[0]] - scores[two[1]]) for scores in (single, batched))
    return Difference(first, gap, gap_then)


def _scores(duo: Duo, ask: Ask, written: list[int], row: np.ndarray) -> np.ndarray:
    """Give what the next token is chosen by."""
    judge = make_judge(ask.rule, ask.seed, len(ask.prompt))
    if not isinstance(judge, CoupledJudge):
        return row
    history = np.concatenate([ask.prompt, np.array(written, np.int32)])
    law = Sampler(ask.sampling, duo.target.model.vocabulary.usable).distribution(row, history)
    scores = np.full(len(row), IMPOSSIBLE)
    scores[law.ids] = np.log(law.probs) + judge.noise(len(history), law.ids)
    return scores


def _one_by_one(duo: Duo, ask: Ask, written: list[int]) -> np.ndarray:
    """Give the last row of logits when what was written is decoded row by row."""
    duo.target.rewind(0)
    sync(duo.target, ask.prompt[:-1], 0)
    for token in (ask.prompt[-1], *written):
        row = duo.target.extend(np.array([token], np.int32), 1)[-1]
    return row.copy()


def _as_it_ran(duo: Duo, ask: Ask, steps: Sequence[Step], place: int) -> np.ndarray:
    """Give the row of logits that chose the token at `place`, guesses and all."""
    duo.target.rewind(0)
    sync(duo.target, ask.prompt[:-1], 0)
    pending = int(ask.prompt[-1])
    for step in steps:
        rows = duo.target.extend(np.array([pending, *step.guesses], np.int32), step.drafted + 1)
        if place < step.position + len(step.tokens):
            return rows[place - step.position].copy()
        pending = step.tokens[-1]
        duo.target.rewind(step.position + len(step.tokens) - 1)
    raise ValueError("the answer ends before that place")


if __name__ == "__main__":
    main()
