"""What the adaptive policy itself costs: Python time of a pass, without models.

Prints microseconds of processor time a pass, all questions of the pass included: the least of many
short runs, as other programs can only add to it, and their middle. The target is 50 a pass.
"""

from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np

from localspec.core.adaptive import AdaptivePolicy
from localspec.core.cost_curve import CostPoint, CostSeed
from localspec.core.costs import CostModel
from localspec.core.distribution import Distribution, point
from localspec.core.events import Step
from localspec.core.standing import DrafterFacts

PASSES = 400
RUNS = 25
GUESSED = Distribution(np.arange(40), np.linspace(1, 40, 40) / 820)


def seed() -> CostSeed:
    """Give a curve on which a few tokens pay."""
    points = tuple(
        CostPoint(n, c, (0.02 + 0.004 * n) * (1 + c / 4000))
        for n in range(1, 18)
        for c in (64, 512)
    )
    return CostSeed(points, {"model": 0.002, "lookup": 2e-5})


def one_run(facts: list[DrafterFacts], law: Distribution, accepted: Callable[[int], int]) -> float:
    """Give the seconds of the policy over some passes."""
    policy = AdaptivePolicy(facts, costs=CostModel(seed()))
    position, spent, asked = 100, 0.0, 0
    for number in range(PASSES):
        begun = process_time()
        plan = policy.plan(position, 1000)
        drafted = 0
        while plan.order and drafted < plan.limits[-1]:
            if drafted and not policy.worth_looking(drafted):
                break
            if not policy.keep_going(drafted, law):
                break
            drafted += 1
        spent += process_time() - begun
        kept = min(accepted(number), drafted)
        step = Step(
            (0,) * (kept + 1),
            (),
            position,
            drafter=plan.order[-1] if drafted else "",
            drafted=drafted,
            judged=min(kept + 1, drafted),
            accepted=kept,
            draft_s=0.002 * drafted,
            verify_s=0.024 + 0.004 * drafted,
            overlaps=(1.0,) * kept + (0.0,) * (drafted > kept),
        )
        begun = process_time()
        policy.observe(step)
        spent += process_time() - begun
        position += kept + 1
        asked += drafted
    return spent


def report(
    name: str, facts: list[DrafterFacts], law: Distribution, accepted: Callable[[int], int]
) -> None:
    """Print one line."""
    runs = [one_run(facts, law, accepted) / PASSES * 1e6 for _ in range(RUNS)]
    print(f"{name:28} {min(runs):6.1f} us a pass (median {median(runs):.1f})", flush=True)


def main() -> None:
    """Measure the usual cases."""
    model = DrafterFacts("model", asks=True)
    silent = DrafterFacts("lookup", True, lambda: 0.0)
    lookup = DrafterFacts("lookup", True, lambda: 6.0)
    sure = point(0, 4.0)

    def usual(number: int) -> int:
        return 3 if number % 3 else 1

    report("no drafter", [], point(0), lambda _n: 0)
    report("parked", [model], sure, lambda _n: 0)
    report("model, greedy", [model], sure, usual)
    report("model, sampled", [model], GUESSED, usual)
    report("lookup", [lookup], point(0), usual)
    report("lookup silent, then model", [silent, model], GUESSED, usual)


if __name__ == "__main__":
    main()
