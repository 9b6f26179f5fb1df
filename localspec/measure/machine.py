"""What machine this is: processor, memory and load, now, and as much of it as this process may use.

The only door to psutil. Does not know models, and does not judge.
"""

import platform
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from localspec.engine.threads import allowed_cpus, default_threads

# What the engine's kernels ask for, on either family of processors.
SPEED_FLAGS = (
    *("sse3", "ssse3", "avx", "avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16"),
    *("amx_int8", "amx_bf16", "fma", "f16c", "bmi2"),
    *("asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme"),
)
CPUINFO = Path("/proc/cpuinfo")
NAMES = ("model name", "hardware", "processor name", "cpu model")
FEATURES = ("flags", "features")


@dataclass(frozen=True)
class Machine:
    """A machine as this process sees it.

    Units: `load` is the number of runnable threads, averaged over a minute; None where no system
    keeps it. `threads` is how many the engine takes by itself.
    """

    system: str
    processor: str
    cores: int
    logical: int
    allowed: int
    threads: int
    speed_flags: tuple[str, ...]
    memory_bytes: int
    available_bytes: int
    load: float | None


@dataclass(frozen=True)
class Processor:
    """A processor's name and the flags among `SPEED_FLAGS` that it has."""

    name: str
    flags: tuple[str, ...]


def this_machine() -> Machine:
    """Look at this machine."""
    processor, limit = read_processor(), memory_limit()
    memory = psutil.virtual_memory()
    logical = psutil.cpu_count() or 1
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=processor.name,
        cores=psutil.cpu_count(logical=False) or logical,
        logical=logical,
        allowed=len(allowed_cpus()),
        threads=default_threads(),
        speed_flags=processor.flags,
        memory_bytes=min(memory.total, limit.total_bytes) if limit else memory.total,
        available_bytes=available_bytes(),
        load=_load(),
    )


def available_bytes() -> int:
    """Give the memory a new program can have now, a container's limit included."""
    free: int = psutil.virtual_memory().available
    limit = memory_limit()
    return min(free, limit.free_bytes) if limit else free


def disk_free_bytes(path: Path) -> int:
    """Give the bytes free where `path` is, or is going to be."""
    place = path.absolute()
    return shutil.disk_usage(next(p for p in (place, *place.parents) if p.exists())).free


def _load() -> float | None:
    try:
        return float(psutil.getloadavg()[0])
    except (OSError, AttributeError):
        return None


def read_processor(path: Path = CPUINFO) -> Processor:
    """Read the processor's name and flags from the kernel, or ask Python for the name."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    name, flags = _first(lines, NAMES), set(_first(lines, FEATURES).split())
    found = name or platform.processor() or platform.machine() or "unknown processor"
    return Processor(found, tuple(flag for flag in SPEED_FLAGS if flag in flags))


def _first(lines: Iterable[str], keys: tuple[str, ...]) -> str:
    for line in lines:
        key, colon, value = line.partition(":")
        if colon and key.strip().lower() in keys:
            return value.strip()
    return ""


@dataclass(frozen=True)
class Limit:
    """What a container lets this process have; its page cache counts as free."""

    total_bytes: int
    free_bytes: int


def memory_limit(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Limit | None:
    """Find the tightest memory limit of the control groups this process is in; None without one."""
    limits = [limit for folder in _groups(root, own) if (limit := _limit(folder))]
    return min(limits, key=lambda limit: limit.free_bytes, default=None)


def _groups(root: Path, own: Path) -> list[Path]:
    """List the process's group and every group above it, of both versions of the interface."""
    folders = [root, root / "memory"]
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return folders
    for line in lines:
        _, names, path = line.split(":", 2)
        if names in ("", "memory"):
            base = root / names
            place = base / path.strip().lstrip("/")
            folders += [place, *(up for up in place.parents if up.is_relative_to(base))]
    return folders


def _limit(folder: Path) -> Limit | None:
    for total, used in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        most, now = _number(folder / total), _number(folder / used)
        if most is not None and most < 2**60:  # version 1 writes a huge number for "no limit"
            return Limit(most, max(most - (now or 0) + _cached(folder), 0))
    return None


def _cached(folder: Path) -> int:
    """Give the page cache that the group would give back before it runs out."""
    try:
        lines = (folder / "memory.stat").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    values = dict(line.split(" ", 1) for line in lines if " " in line)
    return int(values.get("inactive_file", values.get("total_inactive_file", 0)))


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
