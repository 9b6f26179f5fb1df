"""Make heads for a GGUF target: `python -m tools.train_head --target FILE --out FILE`.

Writes chats, trains on them, writes the heads; run the same line again and it goes on where it
stopped. Needs the extra `train` (torch for the CPU).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from localspec.errors import LocalspecError, OptionError
from localspec.runtime.settings import EAGLE3, MEDUSA
from tools.tensors import TYPES
from tools.train_head.generate import Plan, open_and_write

GUESSES = 3


def parser() -> argparse.ArgumentParser:
    """Describe the options."""
    made = argparse.ArgumentParser(prog="python -m tools.train_head", description=__doc__)
    made.add_argument("--kind", choices=[MEDUSA, EAGLE3], default=MEDUSA, help="of heads (medusa)")
    made.add_argument("--target", type=Path, required=True, help="GGUF file the heads are for")
    made.add_argument("--out", type=Path, required=True, help="file to write")
    made.add_argument("--work", type=Path, help="folder of chats and state (OUT.work)")
    made.add_argument("--chats", type=int, default=1500, help="chats to write in all (1500)")
    made.add_argument("--steps", type=int, default=1500, help="training steps in all (1500)")
    made.add_argument("--heads", type=int, help=f"medusa: tokens guessed at once ({GUESSES})")
    made.add_argument(
        "--unroll", type=int, help=f"eagle3: tokens of a draft in training ({GUESSES})"
    )
    made.add_argument(
        "--layers",
        type=_numbers,
        metavar="A,B,C",
        help="eagle3: blocks whose inputs are read (2, the middle one, the last)",
    )
    made.add_argument("--ids", type=int, default=4096, help="ids that may be guessed (4096)")
    made.add_argument("--seed", type=int, default=0, help="of chats and training (0)")
    made.add_argument("--slots", type=int, default=32, help="chats written side by side (32)")
    made.add_argument("--threads", type=int, default=1, help="(1)")
    made.add_argument(
        "--call-minutes", type=float, default=0, help="stop this call after so long; 0 does not"
    )
    made.add_argument("--only-train", action="store_true", help="write no more chats")
    made.add_argument(
        "--type", choices=list(TYPES), default="q8_0", help="of the weights in the file (q8_0)"
    )
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Write chats, train, write the heads; 0 when they are written, 3 when time was up before."""
    options = parser().parse_args(words)
    try:
        return _run(options)
    except LocalspecError as failure:
        print(f"error: {failure.message}", file=sys.stderr)
        if failure.hint:
            print(f"hint: {failure.hint}", file=sys.stderr)
        return failure.exit_code


def _run(options: argparse.Namespace) -> int:
    _check(options)
    try:
        from tools.train_head.kinds import KINDS, Job  # noqa: PLC0415
    except ModuleNotFoundError as absent:
        raise OptionError(f"no {absent.name} here", "pip install -e '.[train]'") from absent
    job = Job(
        target=options.target,
        out=options.out,
        work=options.work or options.out.with_suffix(".work"),
        ids=options.ids,
        guesses=options.heads or options.unroll or GUESSES,
        steps=options.steps,
        seed=options.seed,
        threads=options.threads,
        type=options.type,
        layers=options.layers,
        end=monotonic() + 60 * options.call_minutes if options.call_minutes else float("inf"),
    )
    kind = KINDS[options.kind]
    kind.check(job)
    if not options.only_train and not _chats(options, job.chats, job.left()):
        return 3
    if not kind.make(job):
        return 3
    print(f"{job.out}: {job.out.stat().st_size:,} bytes", flush=True)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse an option of the other kind: it would be dropped without a word."""
    others = {MEDUSA: ("unroll", "layers"), EAGLE3: ("heads",)}[options.kind]
    for name in others:
        if getattr(options, name) is not None:
            raise OptionError(f"--{name} is not for --kind {options.kind}", "leave one out")
    for name in ("heads", "unroll", "ids", "steps"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise OptionError(f"--{name} is {value}", "one at least")


def _chats(options: argparse.Namespace, folder: Path, seconds: float) -> bool:
    plan = Plan(
        seed=options.seed,
        chats=options.chats,
        seconds=seconds,
        slots=options.slots,
        threads=options.threads,
    )
    written = open_and_write(options.target, folder, plan)
    print(f"{written} of {options.chats} chats", flush=True)
    return written >= options.chats


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
