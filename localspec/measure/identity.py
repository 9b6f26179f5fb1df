"""What a measurement belongs to: this machine, this engine, these files, these options.

Knows how to name them. Two measurements may be compared, or one reused, only where these agree.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from localspec.engine.library import engine_version
from localspec.measure.machine import Machine, this_machine

EDGE = 1 << 20


@dataclass(frozen=True)
class FileIdentity:
    """A model file: its name, its size, and a digest of its size and its first and last MiB."""

    name: str
    bytes: int
    digest: str


def identify(path: Path) -> FileIdentity:
    """Name a file by its content: headers and the end of the weights, in milliseconds."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as handle:
        digest.update(handle.read(EDGE))
        handle.seek(max(size - EDGE, 0))
        digest.update(handle.read(EDGE))
    return FileIdentity(path.name, size, digest.hexdigest()[:16])


@dataclass(frozen=True)
class MachineIdentity:
    """The facts of a machine that must agree before two results are compared."""

    system: str
    processor: str
    cores: int
    allowed: int
    memory_gib: int
    flags: str
    engine: str


def machine_identity(machine: Machine | None = None) -> MachineIdentity:
    """Say which machine this is."""
    machine = machine or this_machine()
    return MachineIdentity(
        machine.system,
        machine.processor,
        machine.cores,
        machine.allowed,
        round(machine.memory_bytes / 2**30),
        " ".join(machine.speed_flags),
        f"llama-cpp-python {engine_version()}",
    )


def key_of(
    machine: MachineIdentity, file: FileIdentity, options: Mapping[str, object], what: str
) -> str:
    """Give the name under which a calibration is kept."""
    text = json.dumps([asdict(machine), asdict(file), dict(options), what], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
