"""Make Medusa heads for a GGUF target: `python -m tools.train_head --target FILE --out FILE`.

Writes chats, trains on them, writes the heads; run the same line again and it goes on where it
stopped. Needs the extra `train` (torch for the CPU).
"""

import argparse
import sys
from pathlib import Path

from localspec.errors import LocalspecError
from tools.train_head.generate import Plan, open_and_write


def parser() -> argparse.ArgumentParser:
    """Describe the options."""
    made = argparse.ArgumentParser(prog="python -m tools.train_head", description=__doc__)
    made.add_argument("--target", type=Path, required=True, help="GGUF file the heads are for")
    made.add_argument("--out", type=Path, required=True, help="file to write")
    made.add_argument("--work", type=Path, help="folder of chats and state (OUT.work)")
    made.add_argument("--chats", type=int, default=1500, help="chats to write in all (1500)")
    made.add_argument("--steps", type=int, default=1500, help="training steps in all (1500)")
    made.add_argument("--heads", type=int, default=3, help="tokens guessed at once (3)")
    made.add_argument("--ids", type=int, default=4096, help="ids that may be guessed (4096)")
    made.add_argument("--seed", type=int, default=0, help="of chats and training (0)")
    made.add_argument("--slots", type=int, default=32, help="chats written side by side (32)")
    made.add_argument("--threads", type=int, default=1, help="(1)")
    made.add_argument(
        "--call-minutes", type=float, default=0, help="stop this call after so long; 0 does not"
    )
    made.add_argument("--only-train", action="store_true", help="write no more chats")
    made.add_argument("--type", default="q8_0", help="f32, f16, q8_0 or q4_0 (q8_0)")
    return made


def main() -> int:
    """Write chats, train, write the heads; 0 when they are written, 3 when time was up before."""
    options = parser().parse_args()
    work = options.work or options.out.with_suffix(".work")
    seconds = 60 * options.call_minutes
    if not options.only_train and not _chats(options, work, seconds):
        return 3
    return 0 if _heads(options, work, seconds) else 3


def _chats(options: argparse.Namespace, work: Path, seconds: float) -> bool:
    plan = Plan(
        seed=options.seed,
        chats=options.chats,
        seconds=seconds,
        slots=options.slots,
        threads=options.threads,
    )
    written = open_and_write(options.target, work / "chats", plan)
    print(f"{written} of {options.chats} chats", flush=True)
    return written >= options.chats


def _heads(options: argparse.Namespace, work: Path, seconds: float) -> bool:
    from tools.medusa_writer import Writing, write_medusa  # noqa: PLC0415
    from tools.train_head.dataset import load_chats  # noqa: PLC0415
    from tools.train_head.medusa import Training, train  # noqa: PLC0415

    how = Training(
        heads=options.heads,
        ids=options.ids,
        steps=options.steps,
        seed=options.seed,
        threads=options.threads,
        seconds=seconds,
    )
    heads = train(options.target, load_chats(work / "chats"), work, how)
    if heads is None:
        return False
    notes = f"trained by tools.train_head, seed {options.seed}, {options.steps} steps"
    write_medusa(
        options.out, heads, options.target, Writing(options.type, options.type, notes=notes)
    )
    print(f"{options.out}: {options.out.stat().st_size:,} bytes", flush=True)
    return True


if __name__ == "__main__":
    try:
        code = main()
    except LocalspecError as failure:
        print(f"error: {failure.message}", file=sys.stderr)
        code = failure.exit_code
    sys.exit(code)
