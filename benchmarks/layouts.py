"""Does the layout of the weights decide, and is it predicted?

    python -m benchmarks.layouts --target T.gguf --draft D.gguf [--kinds code] [--runs 3]

The pair as it is and both files in pure Q4_0: speed-up by gamma, predicted by the costs and
measured, as a Markdown table.
"""

import argparse
from pathlib import Path
from time import perf_counter

from benchmarks.common import PURE_Q4_0
from localspec.core.sampling import SamplingParams
from localspec.measure.bench import Tools, run_bench
from localspec.measure.findings import ArmFound, KindFound, findings_of
from localspec.measure.noise import SystemMeter
from localspec.measure.prepare import Asked, prepare
from localspec.measure.texts import builtin
from localspec.runtime.layouts import ensure_layout
from localspec.runtime.pair import open_runtime
from localspec.runtime.settings import MODEL, PairFiles, RunSettings

GAMMAS = tuple(range(1, 9))


def main() -> None:
    """Measure both layouts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--kinds", default="code")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    pure = [ensure_layout(path, PURE_Q4_0, print) for path in (asked.target, asked.draft)]
    files = {"as it is": PairFiles(asked.target, asked.draft), "pure Q4_0": PairFiles(*pure)}
    print(f"| layout | plain tok/s | {' | '.join(f'γ {gamma}' for gamma in GAMMAS)} | verdict |")
    print("|---" * (len(GAMMAS) + 3) + "|")
    for name, pair in files.items():
        found = _measured(pair, asked.kinds, asked.runs)
        cells = " | ".join(_cell(arm) for arm in found.arms)
        print(f"| {name} | {found.plain_tps or 0:.1f} | {cells} | {found.word} |", flush=True)


def _measured(files: PairFiles, kinds: str, runs: int) -> KindFound:
    settings = RunSettings(
        files, (MODEL,), gamma=max(GAMMAS), sampling=SamplingParams(temperature=0.0), seed=1
    )
    with open_runtime(settings, print) as runtime:
        wanted = Asked(builtin(kinds.split(",")), GAMMAS, (MODEL,), runs=runs, notify=print)
        ready = prepare(runtime, wanted)
        tools = Tools(
            perf_counter,
            meter=SystemMeter(perf_counter),
            costs=ready.costs,
            costs_again=ready.costs_again,
        )
        result = run_bench(ready.design, ready.runner, tools)
    print(*result.warnings, sep="\n")
    return findings_of(result).overall[0]


def _cell(arm: ArmFound) -> str:
    if arm.speedup is None or arm.predicted is None:
        return "-"
    return f"{arm.speedup:.2f} ({arm.predicted:.2f})"


if __name__ == "__main__":
    main()
