"""EAGLE-3 on the demo target against llama.cpp's own loop: same files, prompts and γ, in turn.

    python -m benchmarks.eagle --target T.gguf --head H.gguf --peers FOLDER [--gammas 1,3]

Greedy, a fixed number of tokens a prompt. Prints tokens per second of both, their ratio run by run,
and the share of rounds that kept a token at each position, all prompts together.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import GREEDY, Duo, chat_ids, opened, spread
from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.sampling import Sampler
from localspec.core.tally import Tally
from localspec.drafters.head import HeadDrafter
from localspec.engine import ContextOptions, Model, ModelOptions
from localspec.engine.features import layer_tap
from localspec.engine.heads import Eagle3Head
from localspec.pairs.eagle3_file import check_eagle3
from localspec.pairs.header import read_header

TOKENS, CONTEXT = 96, 2048
PROMPTS = (
    "Explain how a bicycle stays upright.",
    "Give three tips for writing a clear e-mail to a colleague.",
    "Write a Python function that returns the median of a list of numbers.",
    "Write a SQL query that lists the five customers with the most orders.",
    "Summarise: Bees visit flowers to drink nectar. Pollen sticks to their hair and is carried to "
    "the next flower, which can then make seeds. Without bees many plants would vanish.",
    "Why is the sky blue in the day and red in the evening?",
)


@dataclass(frozen=True)
class Result:
    """One loop over all prompts."""

    tokens: int
    seconds: float
    rounds: int
    kept: dict[int, int]

    @property
    def tps(self) -> float:
        """Give tokens per second."""
        return self.tokens / self.seconds

    def shares(self, gamma: int) -> list[float]:
        """Give the share of rounds that kept each position."""
        return [self.kept.get(i, 0) / max(self.rounds, 1) for i in range(gamma)]


def main() -> None:
    """Alternate our own child with the peer, one γ after another."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--head", type=Path, required=True)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--gammas", default="1,3")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    for gamma in map(int, args.gammas.split(",")):
        if args.peers is None:
            print(json.dumps(vars(ours(args, gamma))))
        else:
            compare(args, gamma)


def compare(args: argparse.Namespace, gamma: int) -> None:
    """Run both in turn and print what they gave."""
    mine, peers = [], []
    for _ in range(args.runs):
        mine.append(_child(args, gamma))
        peers.append(_peer(args, gamma))
    ratio = [a.tps / b.tps for a, b in zip(mine, peers, strict=True)]
    print(f"γ {gamma}: ours {spread([a.tps for a in mine])}", end="")
    print(f", llama-speculative-simple {spread([b.tps for b in peers])} tok/s", end="")
    print(f", ratio {statistics.median(ratio):.3f} ({min(ratio):.3f}-{max(ratio):.3f})")
    for name, result in (("ours", mine[0]), ("peer", peers[0])):
        shares = " ".join(f"{share:.3f}" for share in result.shares(gamma))
        print(f"  {name}: {result.tokens} tokens, {result.rounds} rounds, kept {shares}")


def ours(args: argparse.Namespace, gamma: int) -> Result:
    """Answer every prompt with our loop, after a short warm-up."""
    layers = check_eagle3(args.head, read_header(args.target))
    shape = ContextOptions(CONTEXT, threads=args.threads)
    with (
        opened(args.target, None, n_ctx=CONTEXT, threads=args.threads) as duo,
        Model.load(args.head, ModelOptions(head=True)) as own,
    ):
        states, head = layer_tap(duo.target, layers), Eagle3Head(own, duo.target, shape)
        usable = duo.target.model.vocabulary.usable
        drafter = HeadDrafter(head, states, Sampler(GREEDY, usable), name="eagle3")
        _answer(duo, drafter, PROMPTS[0], 3 * gamma)
        tallies = [_answer(duo, drafter, prompt, gamma) for prompt in PROMPTS]
        head.close()
    return _sum(tallies)


def _answer(duo: Duo, drafter: HeadDrafter, prompt: str, gamma: int) -> Tally:
    vocabulary = duo.target.model.vocabulary
    duo.target.rewind(0)
    speculation = Speculation(FixedPolicy(gamma, ("eagle3",)), [drafter])
    options = GenerateOptions(
        max_tokens=TOKENS, sampling=GREEDY, ends=vocabulary.eog, usable=vocabulary.usable
    )
    tally, ids = Tally(), chat_ids(duo.target.model, prompt)
    for event in generate(duo.target, ids, options, speculation=speculation):
        tally.add(event)
    return tally


def _sum(tallies: list[Tally]) -> Result:
    steps = [step for tally in tallies for step in tally.steps if step.drafted]
    kept = Counter(i for step in steps for i in range(step.accepted))
    seconds = sum(tally.decode_s for tally in tallies)
    return Result(sum(tally.emitted for tally in tallies), seconds, len(steps), dict(kept))


def _child(args: argparse.Namespace, gamma: int) -> Result:
    command = [sys.executable, "-m", "benchmarks.eagle", "--target", args.target]
    command += ["--head", args.head, "--gammas", gamma, "--threads", args.threads]
    found = json.loads(_run(command))
    found["kept"] = {int(key): value for key, value in found["kept"].items()}
    return Result(**found)


def _peer(args: argparse.Namespace, gamma: int) -> Result:
    """Sum the peer's own figures over the prompts, each in a process of its own."""
    tokens, seconds, rounds, kept = 0, 0.0, 0, Counter[int]()
    for prompt in PROMPTS:
        said = _run([*_peer_command(args, gamma), "-p", _wrapped(prompt)])
        count, took = re.search(r"decoded +(\d+) tokens in +([\d.]+) seconds", said).groups()  # type: ignore[union-attr]
        tokens, seconds = tokens + int(count), seconds + float(took)
        stats = re.search(r"#calls\(b,g,a\) = +\d+ +\d+ +(\d+).*#acc rate/pos = \(([^)]*)\)", said)
        assert stats is not None, said[-2000:]
        rounds += int(stats[1])
        for i, share in enumerate(stats[2].split(",")):
            kept[i] += round(float(share) * int(stats[1]))
    return Result(tokens, seconds, rounds, dict(kept))


def _peer_command(args: argparse.Namespace, gamma: int) -> list[object]:
    command = [args.peers / "llama-speculative-simple", "-m", args.target, "-md", args.head]
    command += ["--spec-type", "draft-eagle3", "--spec-draft-n-max", gamma, "-n", TOKENS - 1]
    command += ["-c", CONTEXT, "-t", args.threads, "--temp", 0, "-lv", 5]
    return command


def _wrapped(prompt: str) -> str:
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def _run(command: list[object]) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, check=True)
    said = done.stdout + (done.stderr if "llama-spec" in str(command[0]) else b"")
    return said.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
