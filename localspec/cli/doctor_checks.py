"""What doctor looks at besides the engine: machine, disk, cache, settings, terminal.

Knows what is odd and what to type about it. Each check gives findings and raises nothing.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from localspec.cli import config_file, pairs_here
from localspec.cli.engine_probe import finding
from localspec.cli.known import setting_names, settings
from localspec.core.counted import counted
from localspec.errors import LocalspecError
from localspec.measure.machine import Machine, disk_free_bytes
from localspec.pairs.catalogue import Catalogue
from localspec.pairs.hub_cache import cache_folder, partial_files
from localspec.pairs.memory import show_bytes
from localspec.report.pair_documents import DoctorFinding
from localspec.runtime.demo_pair import NAME as DEMO
from localspec.runtime.folders import cache_dir, config_dir, state_dir, unwritable
from localspec.ui.terminal import Terminal

LITTLE_MEMORY = 2_000_000_000
LITTLE_DISK = 5_000_000_000
PREFIX = "LOCALSPEC_"
OTHER_VARIABLES = {f"{PREFIX}{name}" for name in ("CACHE", "STATE", "CONFIG_DIR", "DEBUG")}


def machine_findings(
    machine: Machine, environment: Mapping[str, str] = os.environ
) -> Iterator[DoctorFinding]:
    """Look at processor, threads, load and memory."""
    flags = " ".join(machine.speed_flags) or "no flags known"
    version = ".".join(map(str, sys.version_info[:3]))
    yield finding("python", "ok", f"Python {version} on {machine.system}")
    yield finding(
        "processor", "ok", f"{machine.processor}, {counted(machine.cores, 'core')}; {flags}"
    )
    yield _threads(machine)
    yield _load(machine)
    if environment.get("OMP_WAIT_POLICY", "").lower() == "active":
        yield finding(
            "waiting",
            "warning",
            "OMP_WAIT_POLICY=active: threads spin, which is very slow beside another program",
            "unset OMP_WAIT_POLICY",
        )
    yield _memory(machine)


def _threads(machine: Machine) -> DoctorFinding:
    told = f"{machine.threads} by default (fast physical cores that we may use)"
    if machine.allowed < machine.logical:
        processors = counted(machine.logical, "processor")
        detail = f"{told}; only {machine.allowed} of {processors} allowed to us"
        return finding("threads", "note", detail, "taskset or the container decides; see --threads")
    return finding("threads", "ok", told)


def _load(machine: Machine) -> DoctorFinding:
    if machine.load is None:
        return finding("load", "note", "this system keeps no load average")
    others = f"{machine.load:.1f} threads were busy in the last minute"
    if machine.load > 0.5 * machine.allowed:
        return finding("load", "warning", others, "close other programs before measuring")
    return finding("load", "ok", others)


def _memory(machine: Machine) -> DoctorFinding:
    free, total = show_bytes(machine.available_bytes), show_bytes(machine.memory_bytes)
    if machine.available_bytes < LITTLE_MEMORY:
        fix = "close other programs; localspec models list --fits"
        return finding("memory", "warning", f"{free} of {total} free", fix)
    return finding("memory", "ok", f"{free} of {total} free")


def disk_findings() -> Iterator[DoctorFinding]:
    """Look at the folders that are written to, and at what lies half-finished in the cache."""
    hub = cache_folder()
    free = disk_free_bytes(hub)
    where = f"{show_bytes(free)} free for model files in {hub}"
    if free < LITTLE_DISK:
        yield finding("disk", "warning", where, "set HF_HOME to a larger disk")
    else:
        yield finding("disk", "ok", where)
    for name, folder in (("hub cache", hub), ("cache", cache_dir()), ("state", state_dir())):
        yield _writable(name, folder)
    yield from _partial()
    yield from _broken_links(hub)


def _writable(name: str, folder: Path) -> DoctorFinding:
    reason = unwritable(folder)
    if not reason:
        return finding(name, "ok", str(folder))
    fix = "change its owner, or choose another folder"
    said = reason if reason.startswith(str(folder)) else f"{folder}: {reason}"
    return finding(name, "error", said, fix)


def _partial() -> Iterator[DoctorFinding]:
    parts = partial_files()
    if parts:
        size = sum(part.stat().st_size for part in parts)
        begun = counted(len(parts), "download is", plural="downloads are")
        fix = f"models pull goes on where it stopped; or delete {parts[0].parent}/*.part"
        yield finding("downloads", "note", f"{begun} unfinished, {show_bytes(size)}", fix)
    else:
        yield finding("downloads", "ok", "none is unfinished")


def _broken_links(hub: Path) -> Iterator[DoctorFinding]:
    found = [p for p in hub.glob("models--*/snapshots/*/**/*.gguf") if not p.exists()]
    if found:
        detail = f"{counted(len(found), 'link')} to nothing, the first is {found[0]}"
        yield finding("links", "warning", detail, "models pull the pair again")


def settings_findings(path: Path | None) -> Iterator[DoctorFinding]:
    """Read the settings file and both models files."""
    place = path or config_file.default_path()
    try:
        given = config_file.read(path, setting_names())
        state = (
            f"{counted(len(given), 'setting')} in {place}"
            if given
            else f"none; {place} would be read"
        )
        yield finding("settings", "ok", state)
    except LocalspecError as failure:
        yield finding("settings", "error", failure.message, failure.hint or f"mend {place}")
    yield from _variables(os.environ)
    try:
        known = pairs_here.catalogue()
        own = pairs_here.own_models()
        more = f", your own from {own}" if own.is_file() else ""
        yield finding("catalogue", "ok", f"{counted(len(known.pairs), 'pair')}{more}")
        yield _demo(known)
    except LocalspecError as failure:
        fix = failure.hint or f"mend models.toml in {config_dir()}"
        yield finding("catalogue", "error", failure.message, fix)


def _variables(environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Find misspelt variables: nothing else would ever mention them."""
    known = sorted({setting.variable for setting in settings()} | OTHER_VARIABLES)
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            close = get_close_matches(name, known, n=1, cutoff=0.8)
            fix = f"did you mean {close[0]}?" if close else "localspec config lists them"
            yield finding("variables", "warning", f"{name} is no setting of localspec", fix)


def _demo(known: Catalogue) -> DoctorFinding:
    if DEMO in known.pairs and pairs_here.is_here(known.pairs[DEMO]):
        return finding("demo", "ok", "the demo pair is installed: localspec chat demo")
    fix = "pip install 'localspec[demo]'"
    return finding("demo", "note", "the demo pair is not installed", fix)


def terminal_finding(terminal: Terminal, environment: Mapping[str, str]) -> DoctorFinding:
    """Say what the terminal can show."""
    colours = "256 colours" if terminal.many_colours else "16 colours"
    screen = "a terminal" if terminal.shown else "no terminal: plain text, no live line"
    words = [screen, *([colours] if terminal.out_ansi else []), counted(terminal.width(), "column")]
    named = environment.get("TERM", "")
    detail = f"{', '.join(words)}{f', TERM={named}' if named else ''}"
    if not terminal.unicode:
        return finding("terminal", "warning", f"{detail}, not UTF-8", "set a UTF-8 locale")
    return finding("terminal", "ok", detail)
