"""How many threads decode fastest here: the fast physical cores this process may use.

Reads the kernel's tables where there are any. Does not pin, and measures nothing; which of the
`candidates` is fastest is measured by `runtime.threading`.
"""

import os
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")


def allowed_cpus() -> frozenset[int]:
    """Give the logical processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def default_threads(root: Path = _CPUS, allowed: frozenset[int] | None = None) -> int:
    """Count the fast physical cores among the allowed processors.

    On a processor with two kinds of core only the faster kind counts: a pass waits for its
    slowest thread. Two logical processors of one core count once.
    """
    cpus = sorted(allowed if allowed is not None else allowed_cpus())
    speeds = {cpu: _speed(root / f"cpu{cpu}") for cpu in cpus}
    fastest = max(speeds.values(), default=0)
    # Cores of one kind differ by a few per cent in their top clock; kinds differ by far more.
    fast = [cpu for cpu in cpus if speeds[cpu] >= 0.8 * fastest]
    if not any(root.glob("cpu[0-9]*")) and allowed is None:
        return max(1, len(cpus) // 2) if len(cpus) > 4 else len(cpus)
    return max(1, len({_core(root / f"cpu{cpu}", cpu) for cpu in fast}))


def candidates(root: Path = _CPUS, allowed: frozenset[int] | None = None) -> tuple[int, ...]:
    """Give the numbers worth measuring, the default first.

    More than the fast cores can pay where a core runs two threads or kinds of core differ little;
    fewer where memory is the limit.
    """
    usual = default_threads(root, allowed)
    every = len(allowed if allowed is not None else allowed_cpus())
    return tuple(dict.fromkeys([usual, every, max(usual // 2, 1)]))


def _speed(folder: Path) -> int:
    for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        value = _read(folder / name)
        if value.isdigit():
            return int(value)
    return 0


def _core(folder: Path, cpu: int) -> str:
    return _read(folder / "topology/thread_siblings_list") or str(cpu)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
