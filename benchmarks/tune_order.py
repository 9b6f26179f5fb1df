"""Is the order of layouts that samples predict the order that whole files have?

    python -m benchmarks.tune_order --target T.gguf [--layouts 10] [--repeats 7]
        [--draft-cost X --alpha A]

Every layout is timed on a sample of its blocks, then written in full and timed again, the files in
turn. Prints both as a Markdown table with the rank correlation (Spearman) of one-row passes, of
passes over 4 rows, and of the seconds a token that an acceptance rate and a draft's cost make of
the whole curve; exit code 3 when the last is below .8.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from localspec.core.theory import tokens_per_pass
from localspec.engine import Context, ContextOptions, Model
from localspec.measure.costs import CostPoint, Survey, measure_passes
from localspec.measure.texts import builtin
from localspec.measure.tune.candidates import Deadline, Layout
from localspec.measure.tune.layout_costs import ROWS, Sampler, applied, relative_costs
from localspec.measure.tune.recipes import consider
from localspec.runtime.layouts import ensure_layout

CONTEXT = 64
ENOUGH = 0.8


def main() -> int:
    """Predict, measure, compare."""
    asked = _arguments()
    considered = consider(asked.target)
    text = _text(asked.target)
    survey = Survey(text, ROWS, (CONTEXT,), asked.repeats)
    options = ContextOptions(n_ctx=512)
    given = _measured({considered.given.layout: asked.target}, options, survey)
    points = given[considered.given.layout]
    asked.draft_s = asked.draft_cost * _of(points, 1)
    until = Deadline(perf_counter() + 3600, perf_counter)
    chosen = considered.others[: asked.layouts - 1]
    sampler = Sampler(options, text, ROWS, until, _say)
    predicted = {considered.given.layout: points}
    for layout, ratios in relative_costs(considered.given, chosen, sampler):
        predicted[layout] = applied(points, ratios)
    files = {layout: _file(layout) for layout in predicted}
    measured = _measured(files, options, survey)
    return _report(predicted, measured, asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--layouts", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--draft-cost", type=float, default=0.3)
    parser.add_argument("--alpha", type=float, default=0.8)
    return parser.parse_args()


def _text(target: Path) -> np.ndarray:
    words = "\n\n".join(text.words for kind in builtin(("code",)) for text in kind.prompts)
    with Model.load(target) as model:
        ids = model.vocabulary.tokenize(words, special=False, bos=True)
    return np.resize(np.array(ids, np.int32), 256)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _file(layout: Layout) -> Path:
    return ensure_layout(layout.source, layout.recipe, _say) if layout.recipe else layout.source


def _measured(
    files: Mapping[Layout, Path], options: ContextOptions, survey: Survey
) -> dict[Layout, tuple[CostPoint, ...]]:
    """Time whole files in turn, a repeat each at a time; give medians over all rounds."""
    rounds: dict[Layout, list[tuple[CostPoint, ...]]] = {layout: [] for layout in files}
    for number in range(3):
        for layout, path in files.items():
            _say(f"round {number + 1}: {layout.name}")
            with ExitStack() as stack:
                model = stack.enter_context(Model.load(path))
                context = stack.enter_context(Context(model, options))
                found = measure_passes(context, replace(survey, seed=number), clock=perf_counter)
            rounds[layout].append(found)
    return {layout: _middle(found) for layout, found in rounds.items()}


def _middle(rounds: Sequence[tuple[CostPoint, ...]]) -> tuple[CostPoint, ...]:
    ordered = [sorted(each, key=lambda point: point.rows) for each in rounds]
    return tuple(
        replace(same[0], median_s=float(np.median([point.median_s for point in same])))
        for same in zip(*ordered, strict=True)
    )


def _token_s(points: Sequence[CostPoint], asked: argparse.Namespace) -> float:
    """Give seconds a token at the best gamma, plain decoding included."""
    by_rows = {point.rows: point.median_s for point in points}
    draft = asked.draft_s
    options = [by_rows[1]]
    for gamma in (1, 2, 3, 4, 5, 6, 7, 11, 15):
        tokens = tokens_per_pass(asked.alpha, gamma)
        options.append((gamma * draft + by_rows[gamma + 1]) / tokens)
    return min(options)


def _report(
    predicted: Mapping[Layout, Sequence[CostPoint]],
    measured: Mapping[Layout, Sequence[CostPoint]],
    asked: argparse.Namespace,
) -> int:
    print("| layout | MB | 1 row ms | 4 rows ms | best ms a token |")
    print("|---|---|---|---|---|")
    for layout in sorted(predicted, key=lambda each: _token_s(measured[each], asked)):
        cells = [
            f"{1e3 * _of(predicted[layout], rows):.1f} / {1e3 * _of(measured[layout], rows):.1f}"
            for rows in (1, 4)
        ]
        best = f"{1e3 * _token_s(predicted[layout], asked):.1f} / "
        best += f"{1e3 * _token_s(measured[layout], asked):.1f}"
        print(f"| {layout.name} | {layout.bytes / 1e6:.0f} | {' | '.join(cells)} | {best} |")
    print("\n(predicted / measured; the given file's curve is the scale of the predictions)")
    orders = {
        "1 row": _rank([_of(predicted[e], 1) for e in predicted], _all(measured, predicted, 1)),
        "4 rows": _rank([_of(predicted[e], 4) for e in predicted], _all(measured, predicted, 4)),
        "best": _rank(
            [_token_s(predicted[each], asked) for each in predicted],
            [_token_s(measured[each], asked) for each in predicted],
        ),
    }
    print(", ".join(f"{name} {value:.3f}" for name, value in orders.items()))
    return 0 if orders["best"] >= ENOUGH else 3


def _all(
    measured: Mapping[Layout, Sequence[CostPoint]],
    order: Mapping[Layout, Sequence[CostPoint]],
    rows: int,
) -> list[float]:
    return [_of(measured[each], rows) for each in order]


def _of(points: Sequence[CostPoint], rows: int) -> float:
    return next(point.median_s for point in points if point.rows == rows)


def _rank(left: Sequence[float], right: Sequence[float]) -> float:
    """Give Spearman's rank correlation."""
    ranks = [np.argsort(np.argsort(each)) for each in (left, right)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


if __name__ == "__main__":
    sys.exit(main())
