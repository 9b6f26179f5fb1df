"""The engine looked at from outside: what its child process said, or how it died, in words.

Knows exit codes, build flags and fixes. Never loads the engine itself.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localspec.core.counted import counted
from localspec.measure.machine import Machine
from localspec.pairs.memory import show_bytes
from localspec.report.pair_documents import DoctorFinding

CHILD = "localspec.cli.engine_child"
PATIENCE_S = 120
REBUILD = (
    "CMAKE_ARGS=-DGGML_NATIVE=ON pip install --force-reinstall --no-cache-dir "
    "--no-binary llama-cpp-python llama-cpp-python"
)
OLDEST, NEWEST = (0, 3, 36), (0, 4)
# The engine's names of what the processor's flags switch on.
BUILT_WITH = {
    "avx": "AVX",
    "avx2": "AVX2",
    "fma": "FMA",
    "f16c": "F16C",
    "avx512f": "AVX512",
    "avx512_vnni": "AVX512_VNNI",
    "avx_vnni": "AVX_VNNI",
    "asimddp": "DOTPROD",
    "i8mm": "MATMUL_INT8",
}


@dataclass(frozen=True)
class Probe:
    """What the child said, step by step; `signal` is what ended it, if anything did."""

    steps: Mapping[str, Mapping[str, Any]]
    code: int
    tail: str = ""

    @property
    def died_of(self) -> str:
        """Name the signal that ended the child; empty if none did."""
        if self.code >= 0:
            return ""
        try:
            return signal.Signals(-self.code).name
        except ValueError:
            return f"signal {-self.code}"


def probe_engine(model: Path | None = None, command: Sequence[str] = ()) -> Probe:
    """Ask the engine in a child process."""
    words = list(command) or [sys.executable, "-m", CHILD, *([str(model)] if model else [])]
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return Probe(_steps(late.stdout or b""), 1, f"no answer in {PATIENCE_S} s")
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return Probe(_steps(done.stdout), done.returncode, lines[-1] if lines else "")


def _steps(output: bytes) -> dict[str, Mapping[str, Any]]:
    steps = {}
    for line in output.decode("utf-8", "replace").splitlines():
        if line.startswith("{"):
            found = json.loads(line)
            steps[str(found.pop("step"))] = found
    return steps


def engine_findings(probe: Probe, machine: Machine) -> list[DoctorFinding]:
    """Put what the child said into findings."""
    findings = _start(probe, machine)
    if loaded := probe.steps.get("loaded"):
        findings += [_version(str(loaded["version"])), _build(str(loaded["flags"]), machine)]
    if devices := probe.steps.get("devices"):
        offload = bool(probe.steps.get("loaded", {}).get("offload"))
        findings.append(_devices(devices["devices"], offload=offload))
    if batching := probe.steps.get("batching"):
        findings.append(_batching(batching))
    return findings


def _start(probe: Probe, machine: Machine) -> list[DoctorFinding]:
    if failed := probe.steps.get("failed"):
        return [finding("engine", "error", str(failed["error"]), str(failed["hint"]))]
    if not probe.died_of and probe.code == 0 and "loaded" in probe.steps:
        return [finding("engine", "ok", "it loads and runs in a process of its own")]
    where = f"after the step '{list(probe.steps)[-1]}'" if probe.steps else "while loading"
    if probe.died_of == "SIGILL":
        flags = ", ".join(machine.speed_flags) or "none of those the engine knows"
        detail = (
            f"the engine uses an instruction this processor lacks (illegal instruction, SIGILL, "
            f"{where}); {machine.processor} has: {flags}"
        )
        return [finding("engine", "error", detail, REBUILD)]
    if probe.died_of:
        return [finding("engine", "error", f"it crashed: {probe.died_of} {where}", REBUILD)]
    detail = f"it ended with code {probe.code} {where}: {probe.tail or 'no message'}"
    return [finding("engine", "error", detail, REBUILD)]


def _version(version: str) -> DoctorFinding:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if OLDEST <= numbers < NEWEST:
        return finding("engine version", "ok", f"llama-cpp-python {version}")
    return finding(
        "engine version",
        "warning",
        f"llama-cpp-python {version} is outside the tested range",
        "pip install 'llama-cpp-python>=0.3.36,<0.4'",
    )


def _build(flags: str, machine: Machine) -> DoctorFinding:
    """Compare what the build uses with what the processor has."""
    built = {
        name.strip()
        for part in flags.replace(":", "|").split("|")
        for name, _, value in [part.partition("=")]
        if value.strip() not in ("", "0")
    }
    missing = [
        BUILT_WITH[flag]
        for flag in machine.speed_flags
        if flag in BUILT_WITH and BUILT_WITH[flag] not in built
    ]
    if missing:
        detail = f"built without {', '.join(missing)}, which this processor has: slower than needed"
        return finding("build", "warning", detail, REBUILD)
    used = ", ".join(sorted(built)) or flags
    return finding("build", "ok", f"uses all this processor has ({used})")


def _devices(devices: Sequence[Mapping[str, Any]], *, offload: bool) -> DoctorFinding:
    names = "; ".join(
        f"{each['name']} ({each['description']}, {show_bytes(int(each['free_bytes']))} free)"
        for each in devices
    )
    level = "ok" if offload else "note"
    more = "" if offload else "; no GPU that this build can use"
    return finding("devices", level, f"{names}{more}")


def _batching(found: Mapping[str, Any]) -> DoctorFinding:
    """Say how far one and the same logits lie apart when passes have other widths."""
    widths = found["widths"]
    each = ", ".join(f"{counted(w['rows'], 'row')} {w['largest']:.2g}" for w in widths)
    flips = sum(int(w["flips"]) for w in widths)
    tokens = int(found["tokens"])
    detail = (
        f"{found['model']}, {counted(tokens, 'token')} after {found['before']} "
        "read singly and in batches: "
        f"largest change of a logit {each}; the likeliest token changed in {flips} of "
        f"{tokens * len(widths)} places"
    )
    exact = (
        "--strict makes text equal to the last bit"
        if flips or any(float(w["largest"]) for w in widths)
        else ""
    )
    return finding("batching", "note", detail, exact)


def finding(name: str, level: str, detail: str, fix: str = "") -> DoctorFinding:
    """Make a finding."""
    return DoctorFinding.model_validate({"id": name, "level": level, "detail": detail, "fix": fix})
