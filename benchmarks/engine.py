"""Speed of the engine room and the loop: against llama.cpp's own programs, in turn.

    python -m benchmarks.engine --target T.gguf --draft D.gguf [--peers FOLDER] [--runs 3]

Prints plain and speculative tok/s at several gammas for the given and the pure Q4_0 layouts, the
share of a round outside llama.cpp, and, with `--peers` (a folder with llama-bench and
llama-speculative-simple), the ratio to them. Numbers of one run belong together; ratios count.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
from pathlib import Path

from benchmarks.common import CODE_PROMPT, Ask, Duo, answer, chat_ids, opened, pure_q4_0, spread

TOKENS = 128


def main() -> None:
    """Measure each layout."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gammas", default="1,2,3,7")
    parser.add_argument("--layouts", default="given,pure")
    args = parser.parse_args()
    gammas = [int(g) for g in args.gammas.split(",")] if args.draft else []
    for layout in args.layouts.split(","):
        change = pure_q4_0 if layout == "pure" else Path
        target, draft = change(args.target), change(args.draft) if args.draft else None
        print(f"\n{layout}: {target.name}" + (f" + {draft.name}" if draft else ""), flush=True)
        with opened(target, draft) as duo:
            measure(duo, gammas, args)


def measure(duo: Duo, gammas: list[int], args: argparse.Namespace) -> None:
    """Run plain, every gamma and the peers in turn; print medians with their spread."""
    ours: dict[int, list[float]] = {g: [] for g in (0, *gammas)}
    peers: dict[int, list[float]] = {g: [] for g in (0, *gammas)}
    outside: dict[int, list[float]] = {g: [] for g in (0, *gammas)}
    rounds: dict[int, float] = {}
    prompt = chat_ids(duo.target.model, CODE_PROMPT)
    answer(duo, Ask(prompt, max_tokens=16))
    for _ in range(args.runs):
        for gamma, speeds in ours.items():
            inside = _engine_s(duo)
            ask = Ask(prompt, gamma, ("model",) if gamma else (), TOKENS)
            tally = answer(duo, ask)
            inside = _engine_s(duo) - inside - _prefill_engine_s(duo, ask)
            speeds.append(tally.emitted / tally.decode_s)
            outside[gamma].append(100 * max(0.0, 1 - inside / tally.decode_s))
            rounds[gamma] = 1000 * tally.decode_s / tally.passes
            if args.peers:
                peers[gamma].append(_peer(args.peers, duo, gamma, len(prompt)))
    for gamma, speeds in ours.items():
        line = f"  γ {gamma}: {spread(speeds)} tok/s, {rounds[gamma]:.1f} ms a round, "
        line += f"outside llama.cpp {statistics.median(outside[gamma]):.2f} %"
        line += f", {statistics.median(speeds) / statistics.median(ours[0]):.2f} times plain"
        if peers[gamma]:
            ratio = statistics.median(a / b for a, b in zip(speeds, peers[gamma], strict=True))
            line += f"; peer {spread(peers[gamma])}, ours/peer {ratio:.3f}"
        print(line, flush=True)


def _engine_s(duo: Duo) -> float:
    return duo.target.engine_s + (duo.draft.engine_s if duo.draft else 0.0)


def _prefill_engine_s(duo: Duo, ask: Ask) -> float:
    """Measure the engine's share of the prefill, which is not part of the decode phase."""
    before = _engine_s(duo)
    for context in (duo.target, duo.draft):
        if context:
            context.rewind(0)
            if context is duo.target or ask.gamma:
                context.extend(ask.prompt[:-1], 0)
    return _engine_s(duo) - before


def _peer(folder: Path, duo: Duo, gamma: int, depth: int) -> float:
    if gamma == 0:
        return _llama_bench(folder, duo.target.model.path, depth)
    assert duo.draft is not None
    return _llama_speculative(folder, duo.target.model.path, duo.draft.model.path, gamma)


def _llama_bench(folder: Path, path: Path, depth: int) -> float:
    """Run llama-bench's tg test on as many tokens, after a context as long as our prompt."""
    command = [folder / "llama-bench", "-m", path, "-p", "0", "-n", str(TOKENS), "-r", "1"]
    command += ["-d", str(depth)]
    done = subprocess.run(
        [*command, "-t", str(_threads()), "-o", "json"], capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout)[0]["avg_ts"])


def _llama_speculative(folder: Path, target: Path, draft: Path, gamma: int) -> float:
    """Run llama-speculative-simple on the same files, prompt and gamma."""
    prompt = f"<|im_start|>user\n{CODE_PROMPT}<|im_end|>\n<|im_start|>assistant\n"
    command = [folder / "llama-speculative-simple", "-m", target, "-md", draft, "-p", prompt]
    command += ["-n", str(TOKENS), "-c", "2048", "--temp", "0", "-t", str(_threads())]
    command += ["--spec-type", "draft-simple", "--spec-draft-n-max", str(gamma)]
    command += ["--spec-draft-n-min", "0", "--spec-draft-p-min", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"decoded\s+\d+ tokens in\s+[\d.]+ seconds, speed:\s+([\d.]+)", _all(done))
    if not found:
        raise SystemExit(f"no speed in the peer's output:\n{_all(done)[-2000:]}")
    return float(found.group(1))


def _all(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stdout + done.stderr


def _threads() -> int:
    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    main()
