"""Does `auto` choose well on real texts? Its choices alone, without the machine's noise.

    python -m benchmarks.policy_replay [--target T.gguf --draft D.gguf] [--pure] [--temps 0,0.7]
                                       [--prompts 6] [--tokens 96] [--seeds 6] [--fresh]

Every prompt of seven kinds is answered once, under the coupled rule, and every drafter at hand is
asked at every place of every answer. Then `auto` and every fixed choice (the draft model at gamma 1
to 8, lookup at 1 to 15, their chain, heads at 1 to 3) tell the same answers again, at measured
costs of passes and guesses. `auto` hears costs with 6 % of noise and now and then a spike, and
tells all answers as one conversation in an order that its seed shuffles; with `--fresh` every
answer begins with what calibration tells and nothing else. What the policy's own Python takes is
not in it: `benchmarks.policy_overhead` has that, and `benchmarks.policy` measures all of it live.

Printed for each kind: `auto` over plain, the best fixed choice known afterwards (plain counts as
one), and `auto` over that, the mean and range of the seeds.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean, median

from benchmarks import policy_pair
from benchmarks.policy_race import COPIES, GAMMAS
from benchmarks.recorded import Told, ask_head, ask_model, switch_ratio, written
from benchmarks.retold import Machine, stage
from localspec.core.adaptive import AdaptivePolicy
from localspec.core.costs import CostModel
from localspec.core.judge import make_judge
from localspec.core.policy import FixedPolicy, Policy
from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from localspec.drafters.lookup import LookupDrafter
from localspec.measure.costs import Costs
from localspec.measure.heads import heads_at_hand
from localspec.measure.live import prompts_of
from localspec.measure.survey import real_text, survey
from localspec.measure.texts import builtin
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import LOOKUP, MODEL, Placement, RunSettings
from localspec.runtime.speculation import facts_of

NOISE = 0.06
HEAD_GAMMAS = (1, 2, 3)
FRESH_S = 3600.0

Choice = tuple[tuple[str, ...], int]
Speeds = dict[str, float]


@dataclass(frozen=True)
class Bench:
    """What is told again, by which drafters, at which costs."""

    runtime: Runtime
    costs: Costs
    switch: float
    names: tuple[str, ...]
    told: list[Told]

    def machine(self, seed: int, *, noise: float = 0.0) -> Machine:
        """Give a machine that has done nothing yet."""
        return Machine(self.costs, switch=self.switch, noise=noise, seed=seed)

    def fixed(self, choice: Choice) -> Speeds:
        """Give the speed of a fixed choice by kind, in tokens per one-row pass."""
        names, gamma = choice
        shown = stage(self._copies(), self.machine(0), names, lambda _: FixedPolicy(gamma, names))
        return self.speeds([(told, shown.tell(told)) for told in self.told])

    def auto(self, seed: int, *, fresh: bool) -> Speeds:
        """Give the speed of `auto` by kind, in tokens per one-row pass."""
        order = list(self.told)
        Random(seed).shuffle(order)
        machine = self.machine(seed, noise=NOISE)
        shown = stage(self._copies(), machine, self.names, self._policy)
        taken = []
        for told in order:
            if fresh:
                shown = stage(self._copies(), machine, self.names, self._policy)
            taken.append((told, shown.tell(told)))
        return self.speeds(taken)

    def speeds(self, taken: Sequence[tuple[Told, float]]) -> Speeds:
        """Put answers together by kind."""
        plain = self.costs.pass_s(1, 64)
        found = {}
        for kind in dict.fromkeys(told.kind for told in self.told):
            mine = [(len(told.tokens), seconds) for told, seconds in taken if told.kind == kind]
            found[kind] = plain * sum(n for n, _ in mine) / sum(s for _, s in mine)
        return found

    def _copies(self) -> LookupDrafter:
        copies = self.runtime.drafter(LOOKUP)
        assert isinstance(copies, LookupDrafter)
        return copies

    def _policy(self, copies: LookupDrafter) -> Policy:
        others = [self.runtime.drafter(name) for name in self.names if name != LOOKUP]
        facts = [facts_of(drafter) for drafter in (copies, *others)]
        return AdaptivePolicy(facts, costs=CostModel(self.costs.seed()))


def main() -> None:
    """Record, tell again, print a table for every temperature."""
    args = _arguments()
    settings = RunSettings(
        policy_pair.files(args),
        max_tokens=args.tokens,
        seed=1,
        rule=RuleName.COUPLED,
        target=Placement(context=2048),
    )
    with open_runtime(settings, print) as runtime:
        costs = survey(runtime, repeats=5, reuse_s=FRESH_S, notify=print).costs
        switch = switch_ratio(runtime, real_text(runtime))
        print(f"{policy_pair.in_words(costs)}; after another width {1 + switch:.2f}", flush=True)
        for temp in map(float, args.temps.split(",")):
            names, told = record(runtime, temp, args.prompts)
            bench = Bench(runtime, costs, switch, names, told)
            report(bench, temp, seeds=args.seeds, fresh=args.fresh)


def _arguments() -> argparse.Namespace:
    parser = policy_pair.options(__doc__, fresh="answer")
    parser.add_argument("--prompts", type=int, default=6, help="of each kind")
    parser.add_argument("--seeds", type=int, default=6)
    return parser.parse_args()


def record(runtime: Runtime, temp: float, prompts: int) -> tuple[tuple[str, ...], list[Told]]:
    """Write every answer and ask every drafter; give the drafters' names and the answers."""
    sampling = SamplingParams(temperature=temp)
    runtime.change(replace(runtime.settings, sampling=sampling))
    heads = heads_at_hand(runtime, sampling)
    model = runtime.drafter(MODEL, sampling) if runtime.loaded.draft else None
    found = []
    for texts in builtin():
        for prompt in prompts_of(texts, runtime).prompts[:prompts]:
            told = written(runtime, texts.name, prompt, runtime.options())
            judge = make_judge(RuleName.COUPLED, runtime.seed, len(prompt.ids))
            if model is not None:
                told.guesses[MODEL] = ask_model(model, told, judge)
            for name, head in heads.items():
                told.guesses[name] = ask_head(head, runtime.loaded.target, told, judge)
            found.append(told)
    return (LOOKUP, *((MODEL,) if model else ()), *heads), found


def choices(names: Sequence[str]) -> list[Choice]:
    """Give every fixed choice."""
    found: list[Choice] = [((LOOKUP,), gamma) for gamma in COPIES]
    for name in names:
        if name != LOOKUP:
            gammas = GAMMAS if name == MODEL else HEAD_GAMMAS
            found += [((name,), gamma) for gamma in gammas]
            found += [((LOOKUP, name), gamma) for gamma in gammas]
    return found


def report(bench: Bench, temp: float, *, seeds: int, fresh: bool) -> None:
    """Print the ratios of every kind."""
    answers = len(bench.told)
    tokens = sum(len(told.tokens) for told in bench.told)
    print(f"\ntemp {temp:g}: {answers} answers, {tokens} tokens, {seeds} seeds")
    plain = bench.fixed(((), 0))
    fixed = {choice: bench.fixed(choice) for choice in choices(bench.names)}
    autos = [bench.auto(seed, fresh=fresh) for seed in range(seeds)]
    to_best, to_plain = [], []
    for kind, one in plain.items():
        best = max(fixed, key=lambda choice: fixed[choice][kind])
        most = max(fixed[best][kind], one)
        name = f"{','.join(best[0])} γ{best[1]}" if most > one else "plain"
        mine = [auto[kind] / one for auto in autos]
        to_best.append(fmean(auto[kind] / most for auto in autos))
        to_plain.append(fmean(mine))
        print(
            f"  {kind:8} auto/plain {to_plain[-1]:.3f} ({min(mine):.3f}-{max(mine):.3f})  "
            f"best {name} {most / one:.3f}  auto/best {to_best[-1]:.3f}"
        )
    print(
        f"  auto/best median {median(to_best):.3f}, worst {min(to_best):.3f}; "
        f"auto/plain worst {min(to_plain):.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
