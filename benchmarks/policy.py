"""Is `auto` nearly as fast as the best fixed choice, and never slower than plain decoding?

    python -m benchmarks.policy [--target T.gguf --draft D.gguf] [--pure] [--temps 0,0.7]
                                [--minutes 6] [--top 2] [--json FILE] [--rewrite]

Seven kinds of text. Replay of plain answers predicts every fixed choice (the draft model at gamma 1
to 8, lookup at 1 to 15, their chain); the best few of each kind are measured: for each prompt,
plain decoding, they and `auto` answer in turn within one run, prompt after prompt until the minutes
of a temperature are over, each kind at least once (`--top 99` measures all choices). Printed for
each kind: every arm over plain, `auto` over the best fixed choice known afterwards (plain counts as
one) with its 95 % interval over prompts, and the same with passes priced by the measured curve,
which leaves the machine's noise out. The winner among noisy arms is too fast by its luck, so
`auto/best` errs to the low side.

`auto` keeps one policy over all answers, as a conversation does; with `--fresh` each kind begins
with what calibration tells and nothing else. At a temperature above 0 the coupled rule judges, so
that all arms write the same text. `--rewrite`: one task alone, 60 given lines of code with one name
changed.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks import policy_pair
from benchmarks.policy_race import COPIES, Lap, Race, Terms, auto_words, choices, chosen_arms
from localspec.core.rules import RuleName
from localspec.core.statistics import Estimate
from localspec.measure.arms import Arm, Kind
from localspec.measure.costs import Costs
from localspec.measure.live import prompts_of
from localspec.measure.survey import survey
from localspec.measure.texts import KINDS, Text, Texts, builtin
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import AUTO, LOOKUP, Placement, RunSettings

CODE = Path(__file__).with_name("rewrite.txt")
TASK = "Rename `customer` to `client` everywhere in this code. Give back the whole code."
FRESH_S = 3600.0


def main() -> None:
    """Run every temperature; print a table each."""
    args = _arguments()
    settings = RunSettings(
        policy_pair.files(args),
        max_tokens=args.tokens,
        seed=1,
        rule=RuleName(args.rule),
        target=Placement(context=2048),
    )
    tables = []
    with open_runtime(settings, print) as runtime:
        costs = survey(runtime, repeats=3, reuse_s=FRESH_S, notify=print).costs
        print(policy_pair.in_words(costs), flush=True)
        for temp in map(float, args.temps.split(",")):
            terms = Terms(temp, 60 * args.minutes, args.tokens, args.top, fresh=args.fresh)
            end = perf_counter() + terms.seconds
            if args.rewrite:
                laps = _rewriting(runtime, terms)
            else:
                laps = _laps(runtime, terms, args.kinds.split(","), costs)
            Race(runtime, terms).run(laps, end)
            tables.append(report(laps, temp, costs))
    if args.json:
        found = {"costs": costs.verify_costs(), "tables": tables}
        args.json.write_text(json.dumps(found, indent=1))


def _arguments() -> argparse.Namespace:
    parser = policy_pair.options(__doc__, fresh="kind")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--minutes", type=float, default=6.0, help="for each temperature")
    parser.add_argument("--top", type=int, default=2, help="fixed choices to measure, by replay")
    parser.add_argument("--rule", default="coupled", choices=[str(rule) for rule in RuleName])
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.rewrite:
        args.tokens = max(args.tokens, 700)
    return args


def _laps(runtime: Runtime, terms: Terms, names: list[str], costs: Costs) -> list[Lap]:
    """Choose the arms of each kind; print what replay expects of all."""
    kinds = [prompts_of(texts, runtime) for texts in builtin(names)]
    laps = []
    print(f"temp {terms.temperature:g}: predicted speed over plain", flush=True)
    for kind, promised in choices(runtime, kinds, terms, costs):
        best = " ".join(f"{arm.label} {value:.2f}" for arm, value in list(promised.items())[:6])
        print(f"  {kind.name:8} {best}", flush=True)
        laps.append(Lap(kind, chosen_arms(promised, terms), promised))
    return laps


def _rewriting(runtime: Runtime, terms: Terms) -> list[Lap]:
    """Make the one task, answered plain, by lookup at every length, and by `auto`."""
    text = Text(f"{TASK}\n\n```python\n{CODE.read_text(encoding='utf-8')}```\n")
    kind = Kind("rewrite", prompts_of(Texts("rewrite", (text,)), runtime).prompts * 2)
    temp = terms.temperature
    copies = [Arm((LOOKUP,), gamma, temp) for gamma in COPIES if gamma in (3, 7, 11, 15)]
    return [Lap(kind, (Arm(temperature=temp), *copies, Arm((AUTO,), None, temp)), {})]


def report(laps: list[Lap], temp: float, costs: Costs) -> dict[str, object]:
    """Print the ratios of every kind, and give them as plain data."""
    print(f"temp {temp:g}: measured, tokens per second over plain")
    rows = [_row(lap, costs) for lap in laps if lap.samples]
    to_best = [float(str(row["auto_over_best"])) for row in rows]
    to_plain = [float(str(row["auto_over_plain"])) for row in rows]
    print(
        f"  auto/best fixed: median {median(to_best):.3f}, worst {min(to_best):.3f}; "
        f"auto/plain: worst {min(to_plain):.3f}",
        flush=True,
    )
    return {"temperature": temp, "kinds": rows}


def _row(lap: Lap, costs: Costs) -> dict[str, object]:
    plain, auto, best = lap.plain, lap.auto, lap.best
    arms = {arm: lap.over(arm, plain) for arm in lap.arms}
    words = " ".join(f"{arm.label} {value:.2f}" for arm, (value, _) in arms.items())
    to_best, sure = lap.over(auto, best)
    over_plain, over_sure = arms[auto]
    priced = lap.priced(auto, best, costs)
    print(
        f"  {lap.kind.name:8} {lap.speed(plain):5.1f} tok/s x{len(lap.samples[plain])}  {words}\n"
        f"  {'':8} best {best.label}; auto/best {to_best:.3f} {_ends(sure)} priced {priced:.3f}; "
        f"auto/plain {over_plain:.3f} {_ends(over_sure)} "
        f"priced {lap.priced(auto, plain, costs):.3f}; auto: {auto_words(lap)}",
        flush=True,
    )
    return {
        "kind": lap.kind.name,
        "plain_tps": lap.speed(plain),
        "prompts": len(lap.samples[plain]),
        "tokens": sum(sample.emitted for sample in lap.samples[auto]),
        "predicted": {arm.label: value for arm, value in lap.predicted.items()},
        "over_plain": {arm.label: [value, *_pair(sure)] for arm, (value, sure) in arms.items()},
        "best": best.label,
        "auto_over_best": to_best,
        "auto_over_best_interval": _pair(sure),
        "auto_over_best_priced": priced,
        "auto_over_plain": over_plain,
        "auto_over_plain_interval": _pair(over_sure),
        "auto_over_plain_priced": lap.priced(auto, plain, costs),
    }


def _ends(sure: Estimate | None) -> str:
    return f"({sure.low:.2f}-{sure.high:.2f})" if sure else "(one prompt)"


def _pair(sure: Estimate | None) -> list[float]:
    return [sure.low, sure.high] if sure else []


if __name__ == "__main__":
    main()
