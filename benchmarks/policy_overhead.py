"""What the adaptive policy itself costs: Python time of a pass, without models.

Prints microseconds per pass and per question, the median of several runs; the target is 50 a pass.
"""

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from localspec.core.adaptive import AdaptivePolicy
from localspec.core.cost_curve import CostPoint, CostSeed
from localspec.core.costs import CostModel
from localspec.core.distribution import Distribution, point
from localspec.core.events import Step
from localspec.core.standing import DrafterFacts

PASSES = 2000
RUNS = 7
GUESSED = Distribution(np.arange(40), np.linspace(1, 40, 40) / 820)


def seed() -> CostSeed:
    """Give a curve on which a few tokens pay."""
    points = tuple(CostPoint(n, 0, 0.02 + 0.004 * n) for n in range(1, 18))
    return CostSeed(points, {"model": 0.002, "lookup": 2e-5})


def one_run(facts: list[DrafterFacts], law: Distribution, accepted: Callable[[int], int]) -> float:
    """Give the seconds of the policy over some passes."""
    policy = AdaptivePolicy(facts, costs=CostModel(seed()))
    position, spent, asked = 100, 0.0, 0
    for number in range(PASSES):
        begun = perf_counter()
        plan = policy.plan(position, 1000)
        drafted = 0
        while plan.order and drafted < plan.limits[-1] and policy.keep_going(drafted, law):
            drafted += 1
        spent += perf_counter() - begun
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
        begun = perf_counter()
        policy.observe(step)
        spent += perf_counter() - begun
        position += kept + 1
        asked += drafted
    return spent


def report(
    name: str, facts: list[DrafterFacts], law: Distribution, accepted: Callable[[int], int]
) -> None:
    """Print one line."""
    spent = median(one_run(facts, law, accepted) for _ in range(RUNS))
    print(f"{name:28} {spent / PASSES * 1e6:6.1f} us a pass")


def main() -> None:
    """Measure the usual cases."""
    model = DrafterFacts("model")
    lookup = DrafterFacts("lookup", True, lambda: 0.0)
    report("no drafter", [], point(0), lambda _n: 0)
    report("parked", [model], point(0), lambda _n: 0)
    report("model, greedy, good", [model], point(0), lambda n: 3 if n % 3 else 1)
    report("model, sampled, good", [model], GUESSED, lambda n: 3 if n % 3 else 1)
    report("lookup silent, then model", [lookup, model], point(0), lambda n: 3 if n % 3 else 1)


if __name__ == "__main__":
    main()
