"""Threads, pinning, waiting and OpenMP: what do they do to passes of one row and of four?

    python -m benchmarks.threads --target T.gguf [--rounds 2] [--seconds 1.5] [--without-openmp DIR]

Every arm runs in a process of its own, in turn, alone and beside a busy program of lower priority
with as many processes as there are processors. `--without-openmp` names a folder with the engine's
libraries built with `-DGGML_OPENMP=OFF`. Prints milliseconds a pass, the median of the rounds, and
the worst pass.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from benchmarks.busy import burners

ROWS = (1, 4)
NICE = 5


def main() -> None:
    """Run the arms in turn and print a table."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--without-openmp", type=Path)
    parser.add_argument("--arms", default="", help="only those whose name holds one of these")
    parser.add_argument("--child", nargs=2, metavar=("THREADS", "PINNED"))
    args = parser.parse_args()
    if args.child:
        print(json.dumps(timed(args.target, args.seconds, int(args.child[0]), args.child[1])))
        return
    wanted = [word for word in args.arms.split(",") if word]
    arms = {
        name: arm
        for name, arm in all_arms(args.without_openmp).items()
        if not wanted or any(word in name for word in wanted)
    }
    found: dict[tuple[str, str], list[list[float]]] = {}
    for turn in range(args.rounds):
        for name in list(arms) if turn % 2 == 0 else list(arms)[::-1]:
            for state in ("quiet", "busy"):
                around = burners(cpus(), NICE) if state == "busy" else nullcontext()
                with around:
                    found.setdefault((name, state), []).append(child(args, arms[name]))
    show(args.target, arms, found)


def cpus() -> int:
    """Count the processors this process may use."""
    return len(os.sched_getaffinity(0))


def all_arms(without_openmp: Path | None) -> dict[str, tuple[int, str, dict[str, str]]]:
    """Give threads, pinning and environment by name."""
    most = cpus()
    arms: dict[str, tuple[int, str, dict[str, str]]] = {
        f"{most} threads, 3000 spins (ours)": (most, "free", {}),
        **{f"{n} threads": (n, "free", {}) for n in range(1, most)},
        "pinned": (most, "pinned", {}),
        "endless spins (the library's own)": (most, "free", {"OMP_WAIT_POLICY": "active"}),
        "no spins": (most, "free", {"GOMP_SPINCOUNT": "0"}),
    }
    if without_openmp:
        arms["without OpenMP"] = (most, "free", {"LLAMA_CPP_LIB_PATH": str(without_openmp)})
    return arms


def child(args: argparse.Namespace, arm: tuple[int, str, dict[str, str]]) -> list[float]:
    """Run one arm in a process of its own."""
    threads, pinned, environment = arm
    command = [sys.executable, "-m", "benchmarks.threads", "--target", str(args.target)]
    command += ["--seconds", str(args.seconds), "--child", str(threads), pinned]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | environment
    )
    values: list[float] = json.loads(done.stdout.splitlines()[-1])
    return values


def timed(target: Path, seconds: float, threads: int, pinned: str) -> list[float]:
    """Give the median and the worst milliseconds of passes over one row and over four."""
    import numpy as np  # noqa: PLC0415 (the parent needs no engine)

    from benchmarks.common import opened  # noqa: PLC0415

    found: list[float] = []
    with opened(target, None, threads=threads, n_ctx=512) as duo:
        context = duo.target
        ids = np.arange(64, dtype=np.int32) % 100 + 10
        context.extend(ids, 1)
        if pinned == "pinned":
            pin()
        for rows in ROWS:
            taken: list[float] = []
            end = time.perf_counter() + seconds
            while time.perf_counter() < end or len(taken) < 3:
                context.rewind(64)
                begun = time.perf_counter()
                context.extend(ids[:rows], rows)
                taken.append(1000 * (time.perf_counter() - begun))
            found += [statistics.median(taken), max(taken)]
    return found


def pin() -> None:
    """Give each thread that computed a processor of its own."""
    places = sorted(os.sched_getaffinity(0))
    tasks = sorted(int(name) for name in os.listdir("/proc/self/task"))
    for at, task in enumerate(tasks):
        os.sched_setaffinity(task, {places[at % len(places)]})


def show(
    target: Path,
    arms: dict[str, tuple[int, str, dict[str, str]]],
    found: dict[tuple[str, str], list[list[float]]],
) -> None:
    """Print a Markdown table."""
    print(f"\n{target.name}: ms a pass, median of rounds (worst pass)\n")
    heads = [f"{state}, {rows} row{'s' * (rows > 1)}" for state in ("quiet", "busy")
             for rows in ROWS]  # fmt: skip
    print(f"| arm | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 1) + "|")
    for name in arms:
        cells = []
        for state in ("quiet", "busy"):
            rounds = found[name, state]
            for at in range(0, 2 * len(ROWS), 2):
                middle = statistics.median(each[at] for each in rounds)
                cells.append(f"{middle:.1f} ({max(each[at + 1] for each in rounds):.0f})")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
