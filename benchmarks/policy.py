"""Is `auto` nearly as fast as the best fixed choice, and never slower than plain decoding?

    python -m benchmarks.policy --target T.gguf --draft D.gguf [--pure] [--temps 0,0.7]

Seven kinds of text; for each prompt plain decoding, the draft model at fixed gammas, lookup and
`auto` answer in turn within one run. Prints for each kind the ratio of totals of every arm to
plain, and of `auto` to the best fixed arm of that kind (plain counts as one).
"""

import argparse
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.common import pure_q4_0
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.measure.loops import loop_start
from localspec.measure.texts import builtin
from localspec.runtime.demo_pair import demo_files
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings

AUTO = "auto"


@dataclass(frozen=True)
class Arm:
    """One way to answer."""

    name: str
    drafters: tuple[str, ...]
    gamma: int | None


def main() -> None:
    """Run every kind and temperature; print one table."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--pure", action="store_true", help="use pure Q4_0 layouts of both files")
    parser.add_argument("--temps", default="0,0.7")
    parser.add_argument("--gammas", default="1,2,3,4,5,6,7,8")
    parser.add_argument("--prompts", type=int, default=1, help="prompts of each kind")
    parser.add_argument("--tokens", type=int, default=96)
    args = parser.parse_args()
    arms = [Arm("plain", ("none",), None)]
    arms += [Arm(f"model γ{g}", ("model",), int(g)) for g in args.gammas.split(",")]
    arms += [Arm("lookup γ7", ("lookup",), 7), Arm(AUTO, ("auto",), None)]
    settings = RunSettings(
        _files(args), max_tokens=args.tokens, seed=1, target=Placement(context=2048)
    )
    with open_runtime(settings, print) as runtime:
        for temp in map(float, args.temps.split(",")):
            report(run(runtime, arms, temp, args.prompts), temp)


def _files(args: argparse.Namespace) -> PairFiles:
    if args.target is None:
        return demo_files(print)
    change = pure_q4_0 if args.pure else Path
    return PairFiles(change(args.target), change(args.draft), derived=True)


Totals = dict[str, dict[str, list[float]]]


def run(runtime: Runtime, arms: list[Arm], temp: float, prompts: int) -> Totals:
    """Give tokens and seconds of every kind and arm, arms in turn for each prompt."""
    totals: Totals = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
    sampling = SamplingParams(temperature=temp)
    order = list(arms)
    for texts in builtin():
        for text in texts.prompts[:prompts]:
            ids = runtime.template.prompt_ids([{"role": "user", "content": text.words}])
            for arm in order:
                runtime.change(
                    replace(
                        runtime.settings, drafters=arm.drafters, gamma=arm.gamma, sampling=sampling
                    )
                )
                tally = _answer(runtime, np.array(ids, np.int32))
                totals[texts.name][arm.name][0] += tally.emitted
                totals[texts.name][arm.name][1] += tally.decode_s
            order.reverse()
    return totals


def _answer(runtime: Runtime, prompt: np.ndarray) -> Tally:
    """Answer from empty caches; stop where the answer begins to loop."""
    for context in (runtime.loaded.target, runtime.loaded.draft):
        if context:
            context.rewind(0)
    tally = Tally()
    for event in runtime.generate(prompt):
        tally.add(event)
        if tally.emitted > 64 and loop_start(tally.tokens) is not None:
            break
    return tally


def report(totals: Totals, temp: float) -> None:
    """Print the ratios of every kind."""
    print(f"temp {temp:g}: speed over plain")
    shares = []
    for kind, arms in totals.items():
        speeds = {name: tokens / seconds for name, (tokens, seconds) in arms.items()}
        plain = speeds["plain"]
        fixed = max(speed for name, speed in speeds.items() if name != AUTO)
        best = next(name for name, speed in speeds.items() if speed == fixed)
        shares.append(speeds[AUTO] / fixed)
        row = " ".join(f"{name} {speed / plain:.2f}" for name, speed in speeds.items())
        print(f"  {kind:8} {row}; best {best}, auto/best {shares[-1]:.3f}", flush=True)
    print(f"  auto/best fixed: median {median(shares):.3f}, worst {min(shares):.3f}", flush=True)


if __name__ == "__main__":
    main()
