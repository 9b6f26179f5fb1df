"""Is text written far past a sliding window, with rejected guesses in every round, plain text?

    python -m benchmarks.window --target FILE.gguf [--tokens 1000] [--short] [--threads N]

A prompt as long as the window, then `--tokens` greedy tokens under strict width: plain, by lookup,
and by a drafter whose last guess is always wrong, so that every round takes something back. The
ids must equal the plain ones. `--short` keeps only the window and room for guesses, without strict
width (the cells' order then depends on the rounds, and with it the last bits), and counts how many
ids agree. Memory is what the cache takes, as the header tells it.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.common import GREEDY
from benchmarks.strict import FILLER
from localspec.core.distribution import point
from localspec.core.draft import Draft, Drafter, DraftRequest
from localspec.core.events import Step
from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.tally import Tally
from localspec.core.tokens import Tokens
from localspec.drafters.lookup import LookupDrafter
from localspec.engine.context import Context, ContextOptions
from localspec.engine.model import Model
from localspec.pairs.header import read_header
from localspec.pairs.memory import Load, kv_bytes, show_bytes

GAMMAS = (1, 3, 7)
ROWS = 8


@dataclass
class AlwaysRejected:
    """Guess what the plain answer says, but for the last id: every round takes one back."""

    answer: list[int]
    start: int
    vocabulary: int
    name: str = "rejected"

    def prefill(self, history: Tokens) -> None:
        """Need nothing."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Give the next ids of the answer, the last of them changed."""
        at = len(history) - self.start
        right = self.answer[at : at + request.limit]
        guessed = tuple([*right[:-1], (right[-1] + 1) % self.vocabulary]) if right else ()
        return Draft(guessed, tuple(point(token) for token in guessed))

    def observe(self, step: Step) -> None:
        """Learn nothing."""


def main() -> None:
    """Run the comparison and print one line a drafter and gamma."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--gammas", default=",".join(map(str, GAMMAS)))
    args = parser.parse_args()
    with Model.load(args.target) as model:
        n_ctx = model.n_swa + args.tokens + 2 * ROWS
        shape = ContextOptions(
            n_ctx,
            threads=args.threads,
            strict_rows=None if args.short else ROWS,
            swa_full=not args.short,
        )
        print(f"{args.target.name}: window {model.n_swa}, context {n_ctx}, {memory(args, n_ctx)}")
        with Context(model, shape) as context:
            print(f"tokens are taken back by {', '.join(context.forgetting.ways)}")
            compare(context, args.tokens, [int(each) for each in args.gammas.split(",")])


def memory(args: argparse.Namespace, n_ctx: int) -> str:
    """Say what the cache takes, whole and short."""
    header = read_header(args.target)
    whole, short = (kv_bytes(header, Load(n_ctx, swa_full=full)) for full in (True, False))
    return f"cache {show_bytes(whole)} whole, {show_bytes(short)} short"


def compare(context: Context, tokens: int, gammas: list[int]) -> None:
    """Write the answer plain, then with each drafter and gamma."""
    vocabulary = context.model.vocabulary
    text = vocabulary.tokenize(FILLER * 40, special=False, bos=True)
    prompt = np.array(text[: context.model.n_swa], np.int32)
    plain = written(context, prompt, tokens, None, 0)
    for gamma in gammas:
        for drafter in (
            AlwaysRejected(plain.tokens, len(prompt), vocabulary.usable),
            LookupDrafter(frozenset()),
        ):
            begun = perf_counter()
            tally = written(context, prompt, tokens, drafter, gamma)
            same = sum(a == b for a, b in zip(plain.tokens, tally.tokens, strict=True))
            back = sum(step.drafted > step.accepted for step in tally.steps)
            print(
                f"  {drafter.name} γ {gamma}: {same} of {tokens} ids equal plain ones, "
                f"{tally.passes} passes, {back} of them took guesses back, "
                f"{tally.accepted} guesses stood, {perf_counter() - begun:.0f} s",
                flush=True,
            )


def written(
    context: Context, prompt: Tokens, tokens: int, drafter: Drafter | None, gamma: int
) -> Tally:
    """Write an answer of exactly so many tokens from an empty cache."""
    context.rewind(0)
    drafters = [drafter] if drafter else []
    policy = FixedPolicy(gamma, tuple(each.name for each in drafters))
    options = GenerateOptions(
        max_tokens=tokens, sampling=GREEDY, usable=context.model.vocabulary.usable
    )
    tally = Tally()
    for event in generate(context, prompt, options, speculation=Speculation(policy, drafters)):
        tally.add(event)
    return tally


if __name__ == "__main__":
    main()
