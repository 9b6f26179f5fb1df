"""Plain decoding against llama-bench, each in a process of its own, in turn.

    python -m benchmarks.plain --target T.gguf --peers FOLDER [--runs 5]

Both decode 64 tokens twice from a nearly empty context; prints both speeds and the median ratio.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.common import Ask, answer, opened, spread

TOKENS = 64
REPEATS = 2


def main() -> None:
    """Alternate our own child with llama-bench."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    if args.peers is None:
        print(ours(args.target))
        return
    mine, peers = [], []
    for _ in range(args.runs):
        child = [sys.executable, "-m", "benchmarks.plain", "--target", args.target]
        mine.append(float(_run(child)))
        peers.append(float(json.loads(_run(_bench(args)))[0]["avg_ts"]))
    ratio = [a / b for a, b in zip(mine, peers, strict=True)]
    low, high = min(ratio), max(ratio)
    print(f"{args.target.name}: ours {spread(mine)}, llama-bench {spread(peers)} tok/s")
    print(f"  ours/peer {statistics.median(ratio):.3f} ({low:.3f}-{high:.3f})")


def ours(target: Path) -> float:
    """Give tokens per second over both repeats, after a short warm-up."""
    with opened(target, None) as duo:
        ask = Ask(np.array([1, 2, 3], np.int32), max_tokens=TOKENS)
        answer(duo, Ask(ask.prompt, max_tokens=8))
        tallies = [answer(duo, ask) for _ in range(REPEATS)]
    return sum(t.emitted for t in tallies) / sum(t.decode_s for t in tallies)


def _bench(args: argparse.Namespace) -> list[str]:
    command = [str(args.peers / "llama-bench"), "-m", str(args.target), "-p", "0"]
    threads = str(len(os.sched_getaffinity(0)))
    return [*command, "-n", str(TOKENS), "-r", str(REPEATS), "-t", threads, "-o", "json"]


def _run(command: list[object]) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
