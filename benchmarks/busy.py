"""How much of its quiet speed does decoding keep beside a busy program?

    python -m benchmarks.busy --target T.gguf [--seconds 20] [--default-policy]

Two busy processes at lower priority, one a core, run beside plain decoding; quiet and busy blocks
alternate. `--default-policy` leaves the engine's OpenMP threads spinning, as every other tool does.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SPIN = """
import os, sys
os.nice(int(sys.argv[2]))
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        break
while True:
    pass
"""


def main() -> None:
    """Alternate quiet and busy blocks; print passes per second of each and their ratio."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--nice", type=int, default=5, help="how low their priority is, 0 to 19")
    parser.add_argument("--default-policy", action="store_true")
    args = parser.parse_args()
    if args.default_policy:
        # Must be in the environment when the process starts and be unset for the library.
        os.environ["OMP_WAIT_POLICY"] = "active"
    from benchmarks.common import chat_ids, opened  # noqa: PLC0415 (after the policy is set)

    quiet: list[float] = []
    busy: list[float] = []
    with opened(args.target, None) as duo:
        prompt = chat_ids(duo.target.model, "What is the capital of France?")
        duo.target.extend(prompt, 1)
        blocks = 2
        for _ in range(blocks):
            quiet += passes(duo.target, args.seconds / 4)
            with burners(len(os.sched_getaffinity(0)), args.nice):
                busy += passes(duo.target, args.seconds)
    print(f"{args.target.name}: quiet {1000 * statistics.median(quiet):.1f} ms a pass, busy "
          f"{1000 * statistics.median(busy):.1f} ms ({len(busy)} passes, worst "
          f"{1000 * max(busy):.0f} ms)")  # fmt: skip
    rates = len(quiet) / sum(quiet), len(busy) / sum(busy)
    print(f"  keeps {rates[1] / rates[0]:.4f} of its quiet speed, one in {rates[0] / rates[1]:.1f}")


def passes(context, seconds: float) -> list[float]:  # type: ignore[no-untyped-def]
    """Decode single tokens for a while; give the seconds of each pass."""
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not taken:
        begun = time.perf_counter()
        token = context.tokens[-1:].copy()
        context.rewind(len(context.tokens) - 1)
        context.extend(token, 1)
        taken.append(time.perf_counter() - begun)
    return taken


@contextmanager
def burners(count: int, nice: int) -> Iterator[None]:
    """Run another program with `count` busy processes inside the block.

    It has a session of its own, as a browser has, so that the system's grouping by session sees it.
    """
    command = [sys.executable, "-c", SPIN, str(count), str(nice)]
    running = subprocess.Popen(command, start_new_session=True)
    time.sleep(0.3)
    try:
        yield
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


if __name__ == "__main__":
    main()
