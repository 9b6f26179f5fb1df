"""Does the bench find a difference where there is none?

    python -m benchmarks.aa [--repeats 30] [--target T.gguf]

The same arm twice, once as "plain" and once as "speculative", again and again on the demo target.
The 95 % interval should cover 1.0 in at least 27 of 30, and no verdict may be "pays" or "slower".
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

from localspec.core.events import Event
from localspec.core.sampling import SamplingParams
from localspec.measure.arms import Arm, Design, Slot
from localspec.measure.bench import Tools, run_bench
from localspec.measure.findings import KindFound, findings_of
from localspec.measure.live import LiveRunner, prompts_of
from localspec.measure.noise import SystemMeter
from localspec.measure.survey import real_text, survey
from localspec.measure.texts import builtin
from localspec.measure.verdict import Word
from localspec.runtime.demo_pair import demo_files
from localspec.runtime.pair import open_runtime
from localspec.runtime.settings import LOOKUP, PairFiles, RunSettings

KINDS = ("code", "qa")
SAME = Arm((LOOKUP,), 1)


class TwicePlain(LiveRunner):
    """Answer plain whatever the arm is called."""

    def answer(self, slot: Slot) -> Iterator[Event]:
        """Leave the drafters out."""
        return super().answer(replace(slot, arm=Arm(temperature=slot.arm.temperature)))


def main() -> int:
    """Repeat the bench, and give 0 when it found nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--target", type=Path)
    asked = parser.parse_args()
    files = PairFiles(asked.target) if asked.target else demo_files(print)
    settings = RunSettings(
        replace(files, draft=None), (LOOKUP,), gamma=1, sampling=SamplingParams(0.0), seed=1
    )
    with open_runtime(settings, print) as runtime:
        costs = survey(runtime, repeats=7).costs
        runner = TwicePlain(runtime, real_text(runtime))
        kinds = tuple(prompts_of(texts, runtime) for texts in builtin(KINDS))
        found = []
        for number in range(asked.repeats):
            tools = Tools(perf_counter, meter=SystemMeter(perf_counter), costs=costs)
            result = run_bench(Design(kinds, (SAME,), 3, seed=number), runner, tools)
            found.append(findings_of(result).overall[0])
            print(f"{number + 1:3}  {_words(found[-1])}", flush=True)
    return _summary(found)


def _words(overall: KindFound) -> str:
    arm = overall.arms[0]
    if arm.interval is None:
        return str(overall.word)
    low, high = arm.interval.low, arm.interval.high
    return f"{arm.speedup:.3f}  95 %: {low:.3f}-{high:.3f}  {overall.word}"


def _summary(found: list[KindFound]) -> int:
    intervals = [kind.arms[0].interval for kind in found]
    known = [each for each in intervals if each is not None]
    covered = sum(each.low <= 1.0 <= each.high for each in known)
    words = Counter(kind.word for kind in found)
    width = median(each.high - each.low for each in known)
    print(f"\n1.0 is covered in {covered} of {len(known)}; median width {width:.3f}")
    print(", ".join(f"{word}: {count}" for word, count in words.items()))
    wrong = words[Word.PAYS] + words[Word.SLOWER]
    return 0 if covered >= 0.9 * len(known) and not wrong else 3


if __name__ == "__main__":
    sys.exit(main())
