"""Hold a bench against an older one of the same machine, and name what got worse.

Knows documents. Two machines, or two engines with other files, are never compared.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localspec.errors import NotHere, OptionError
from localspec.report.bench_documents import (
    ArmInfo,
    BenchDocument,
    KindInfo,
    MachineInfo,
    StreamInfo,
)
from localspec.report.bench_text import arm_name

CLEAR_LOSS = 0.05
RATE_DROP = 0.05


@dataclass(frozen=True)
class Change:
    """What became of one arm. `loss`: clearly worse than before."""

    text: str
    loss: bool


def read_bench(path: Path) -> BenchDocument:
    """Read an older document.

    Raises: NotHere, OptionError.
    """
    if not path.is_file():
        raise NotHere(f"--compare: no file {path}")
    try:
        return BenchDocument.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as failure:
        raise OptionError(
            f"--compare: {path} is no document of localspec bench",
            "make one with: localspec bench … --save FILE",
        ) from failure


def check_same_machine(old: BenchDocument, now: MachineInfo) -> None:
    """Refuse to compare unlike machines.

    Raises: OptionError naming what differs.
    """
    before, here = old.machine.model_dump(), now.model_dump()
    unlike = [name for name in before if before[name] != here[name] and name != "engine"]
    if unlike:
        name = unlike[0]
        raise OptionError(
            f"--compare: another machine ({name}: {before[name]}, here {here[name]})",
            "compare documents of one machine",
        )


def changes(old: BenchDocument, new: BenchDocument) -> Iterator[Change]:
    """Say what changed, arm by arm; another engine or another file is said first."""
    if old.machine.engine != new.machine.engine:
        yield Change(f"engine: {old.machine.engine}, now {new.machine.engine}", False)
    before = {file.role: file for file in old.pair.files}
    for file in new.pair.files:
        if file.role in before and before[file.role].digest != file.digest:
            yield Change(f"{file.role} is another file: {file.name}", False)
    known = {_key(kind, arm): arm for kind in old.kinds for arm in kind.arms}
    for kind in new.kinds:
        for arm in kind.arms:
            if _key(kind, arm) in known:
                yield from _compared(f"{kind.kind}, {arm_name(arm)}", known[_key(kind, arm)], arm)
    crowds = {(point.streams, arm_name(point)): point for point in old.streams}
    for point in new.streams:
        then = crowds.get((point.streams, arm_name(point)))
        if then is not None:
            yield from _compared(f"{point.streams} at once, {arm_name(point)}", then, point)


def _key(kind: KindInfo, arm: ArmInfo) -> tuple[str, float, str]:
    return kind.kind, kind.temp, arm_name(arm)


def _compared(name: str, old: ArmInfo | StreamInfo, new: ArmInfo | StreamInfo) -> Iterator[Change]:
    then, now = old.speedup, new.speedup
    if then and now and None not in (then.low, now.high):
        assert then.low is not None
        assert now.high is not None
        lost = now.high < then.low and now.value < then.value * (1 - CLEAR_LOSS)
        if lost:
            yield Change(f"{name}: {then.value:.2f} times as fast, now {now.value:.2f}", True)
    rate, rate_now = old.acceptance_rate, new.acceptance_rate
    if rate is not None and rate_now is not None and rate_now < rate - RATE_DROP:
        yield Change(f"{name}: accepted {rate:.0%}, now {rate_now:.0%}", True)
