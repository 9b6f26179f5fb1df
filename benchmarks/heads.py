"""What do heads gain on the demo target? Acceptance, cost and speed beside lookup, chain and auto.

    python -m benchmarks.heads [--temps 0,0.7] [--gammas 1,2,3] [--prompts 2] [--max-time 20]

Set OPENBLAS_NUM_THREADS=1, as the command `localspec` does.
Seven kinds of text; for each prompt plain decoding and every arm answer in turn within one run, the
order turned around from prompt to prompt. Prints for each temperature and arm the acceptance by
position, tokens a pass, the cost of a drafted token in one-row passes, and the speed over plain
with its 95 % interval over prompts; then the speed by kind of text. Heads without a file are left
out.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import median
from time import monotonic

import numpy as np

from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally, acceptance_by_position
from localspec.core.tokens import Tokens
from localspec.measure.intervals import Pairing, ratio, speedup_interval
from localspec.measure.loops import loop_start
from localspec.measure.texts import builtin
from localspec.runtime.demo_pair import demo_files
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import AUTO, HEADS, LOOKUP, NONE, READY, Placement, RunSettings

PLAIN = "plain"
LOOP_AFTER = 64


@dataclass(frozen=True)
class Arm:
    """One way to answer."""

    name: str
    drafters: tuple[str, ...]
    gamma: int | None = None


@dataclass
class Seen:
    """What an arm did: its answers by kind and prompt."""

    answers: dict[tuple[str, int], Tally] = field(default_factory=dict)


Results = dict[str, Seen]


def main() -> None:
    """Run every temperature; print one table each."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--temps", default="0,0.7")
    parser.add_argument("--gammas", default="1,2,3")
    parser.add_argument("--prompts", type=int, default=2, help="prompts of each kind")
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--max-time", type=float, default=20, help="minutes in all")
    args = parser.parse_args()
    files = demo_files(print)
    heads = [name for name, _ in files.heads if name in READY]
    arms = arms_of(heads, [int(word) for word in args.gammas.split(",")])
    settings = RunSettings(
        files, drafters=(AUTO,), max_tokens=args.tokens, seed=1, target=Placement(context=2048)
    )
    temps = [float(word) for word in args.temps.split(",")]
    end = monotonic() + 60 * args.max_time
    with open_runtime(settings, print) as runtime:
        for number, temp in enumerate(temps):
            share = (end - monotonic()) / (len(temps) - number)
            report(run(runtime, arms, temp, prompts=args.prompts, seconds=share), temp)


def arms_of(heads: list[str], gammas: list[int]) -> list[Arm]:
    """Give plain decoding, each head by gamma, lookup, lookup before a head, and auto."""
    assert set(heads) <= set(HEADS)
    arms = [Arm(PLAIN, (NONE,))]
    arms += [Arm(f"{name} γ{gamma}", (name,), gamma) for name in heads for gamma in gammas]
    arms.append(Arm("lookup γ7", (LOOKUP,), 7))
    arms += [Arm(f"lookup,{name} γ3", (LOOKUP, name), 3) for name in heads]
    return [*arms, Arm(AUTO, (AUTO,))]


def run(runtime: Runtime, arms: list[Arm], temp: float, *, prompts: int, seconds: float) -> Results:
    """Answer every prompt by every arm in turn, until the time is over."""
    results: Results = defaultdict(Seen)
    end, order = monotonic() + seconds, list(arms)
    for kind, number, ids in _prompts(runtime, prompts):
        if monotonic() > end:
            print(f"  time is over: {kind} {number} and what follows are left out", flush=True)
            break
        for arm in order:
            sampling = SamplingParams(temperature=temp)
            changed = replace(
                runtime.settings, drafters=arm.drafters, gamma=arm.gamma, sampling=sampling
            )
            runtime.change(changed)
            results[arm.name].answers[kind, number] = _answer(runtime, ids)
        order.reverse()
    return results


def _prompts(runtime: Runtime, count: int) -> Iterator[tuple[str, int, Tokens]]:
    """Give one prompt of every kind, then the next of every kind."""
    template = runtime.template
    assert template is not None
    for number in range(count):
        for texts in builtin():
            if number < len(texts.prompts):
                words = texts.prompts[number].words
                ids = template.prompt_ids([{"role": "user", "content": words}])
                yield texts.name, number, np.array(ids, np.int32)


def _answer(runtime: Runtime, prompt: Tokens) -> Tally:
    """Answer from empty caches; stop where the answer begins to loop."""
    for context in (runtime.loaded.target, runtime.loaded.draft):
        if context:
            context.rewind(0)
    tally = Tally()
    for event in runtime.generate(prompt):
        tally.add(event)
        if tally.emitted > LOOP_AFTER and loop_start(tally.tokens) is not None:
            break
    return tally


def report(results: Results, temp: float) -> None:
    """Print the table of one temperature."""
    if PLAIN not in results:
        return
    plain = results[PLAIN].answers
    one = median(step.verify_s for tally in plain.values() for step in tally.steps)
    print(f"\ntemp {temp:g}, {len(plain)} prompts, a one-row pass {1e3 * one:.2f} ms")
    print("  arm                 speed over plain        tok/pass  cost   acceptance by position")
    for name, seen in results.items():
        print(f"  {name:18} {_speed(plain, seen):23} {_counts(seen, one)}", flush=True)
    kinds = list(dict.fromkeys(kind for kind, _ in plain))
    print(f"\n  by kind of text     {' '.join(f'{kind:>8}' for kind in kinds)}")
    for name, seen in results.items():
        each = (ratio(_pairings(plain, seen, kind)) for kind in kinds)
        print(f"  {name:18} {' '.join(f'{value:8.2f}' for value in each)}", flush=True)


def _speed(plain: dict[tuple[str, int], Tally], seen: Seen) -> str:
    pairings = _pairings(plain, seen)
    found = speedup_interval(pairings)
    if found is None:
        return f"{ratio(pairings):.2f}"
    return f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def _pairings(plain: dict[tuple[str, int], Tally], seen: Seen, only: str = "") -> list[Pairing]:
    found = []
    for (kind, number), tally in seen.answers.items():
        if only in ("", kind):
            base = plain[kind, number]
            found.append(Pairing(base.decode_s, base.emitted, tally.decode_s, tally.emitted, kind))
    return found


def _counts(seen: Seen, one_s: float) -> str:
    """Give tokens a pass, seconds of a drafted token in one-row passes, acceptance by position."""
    steps = [step for tally in seen.answers.values() for step in tally.steps]
    emitted = sum(tally.emitted for tally in seen.answers.values())
    drafted = sum(step.drafted for step in steps)
    cost = sum(step.draft_s for step in steps) / drafted / one_s if drafted else 0.0
    places = " ".join(f"{value:.2f}" for value in acceptance_by_position(steps)[:8])
    return f"{emitted / len(steps):8.2f}  {cost:5.2f}  {places}"


if __name__ == "__main__":
    main()
