"""What can a model do without, as a draft for itself, and does drafting so ever pay?

    python -m benchmarks.layerskip --target T.gguf [--kinds code,story] [--whole] [--minutes 3]
                                   [--temp 0] [--scores FILE] [--finalists 3]
                                   [--score-threads N] [--keep]

Writes plain answers, leaves blocks (or single attentions and feed-forwards) out by backward
elimination on them, makes the likeliest drafts and measures them: the frontier as a Markdown table.
`--scores` keeps every score in a file, so that a search can go on where it stopped. `--keep` makes
the best draft the one that `--drafter layerskip` uses for this file on this machine.
"""

import argparse
import json
import time
from pathlib import Path

from localspec.core.sampling import SamplingParams
from localspec.engine.skipping import Half
from localspec.measure.check import ANSWER_TOKENS, Bench, ready
from localspec.measure.layerskip import Found, Memo, Point, Search, frontier, search
from localspec.measure.prepare import Asked, kinds_of
from localspec.measure.texts import builtin
from localspec.runtime.layerskip import keep
from localspec.runtime.pair import open_runtime
from localspec.runtime.settings import LOOKUP, PairFiles, Placement, RunSettings


def main() -> None:
    """Search, measure, print."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--kinds", default="code,story")
    parser.add_argument("--whole", action="store_true", help="whole blocks only")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--temp", type=float, default=0.0)
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--finalists", type=int, default=3, help="how many drafts to make")
    parser.add_argument("--score-threads", type=int)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    settings = RunSettings(
        PairFiles(args.target),
        (LOOKUP,),
        gamma=8,
        sampling=SamplingParams(temperature=args.temp),
        seed=1,
        max_tokens=ANSWER_TOKENS,
        target=Placement(context=1024),
    )
    memo = _read(args.scores)
    with open_runtime(settings, print) as runtime:
        kinds = kinds_of(runtime, Asked(builtin(args.kinds.split(","))))
        bench = ready(runtime, kinds, temperature=args.temp, notify=print)
        end = time.monotonic() + 60 * args.minutes
        asked = Search(
            not args.whole,
            args.finalists,
            args.score_threads,
            enough=lambda: time.monotonic() > end,
            memo=memo,
            notify=print,
        )
        try:
            found = search(bench, asked)
        finally:
            _write(args.scores, memo)
    show(args.target, bench, found)
    if args.keep and found.best:
        keep(args.target, found.best.choice)


def show(target: Path, bench: Bench, found: Found) -> None:
    """Print the frontier, what was measured of it, and the verdict."""
    verify = ", ".join(f"{value:.2f}" for value in bench.costs.verify_costs()[1:8])
    print(f"\n{target.name}: {found.scores} scores; v(2..8) {verify}\n")
    print(
        "| draft | β as stored | c, from bytes | S, predicted | c | α | γ | S, replayed | verdict |"
    )
    print("|---" * 9 + "|")
    told = {id(point) for point in frontier(found.points)}
    for point in sorted(found.points, key=lambda point: -point.cost_ratio):
        if id(point) in told or point.measured:
            print(_row(point))
    best = found.best
    if best and best.measured:
        print(f"\nbest: {best.label}: {best.measured.word}; {best.measured.reason}")


def _row(point: Point) -> str:
    predicted = f"{point.predicted.speedup:.2f} (γ {point.predicted.gamma})"
    cells = [point.label, f"{point.beta:.3f}", f"{point.cost_ratio:.2f}", predicted]
    made = point.measured
    if made is None:
        return "| " + " | ".join([*cells, *"-----"]) + " |"
    speed = made.best.speedup
    cells += [f"{made.cost_ratio or 0:.2f}", f"{made.screened.acceptance or 0:.2f}"]
    cells += [str(made.best.gamma), f"{speed.value:.2f} ({speed.low:.2f}-{speed.high:.2f})"]
    return "| " + " | ".join([*cells, made.word]) + " |"


def _read(path: Path | None) -> Memo:
    if path is None or not path.exists():
        return {}
    kept = json.loads(path.read_text())
    return {frozenset(Half(*half) for half in halves): score for halves, score in kept}


def _write(path: Path | None, memo: Memo) -> None:
    if path is not None:
        kept = [[[(h.block, h.part) for h in sorted(halves)], s] for halves, s in memo.items()]
        path.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
