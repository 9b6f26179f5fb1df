"""`localspec doctor`: installation and machine, each finding with its fix.

Knows the order of checks and how they are shown. Exit code 3 when one of them is an error.
"""

import getpass
import os
from contextlib import suppress
from pathlib import Path

from localspec import __version__
from localspec.cli import doctor_checks as checks
from localspec.cli.binding import Common
from localspec.cli.doctor_options import DoctorOptions
from localspec.cli.engine_probe import engine_findings, probe_engine
from localspec.cli.models_list import terminal_of, write
from localspec.core.counted import counted
from localspec.errors import LocalspecError
from localspec.measure.machine import this_machine
from localspec.pairs.catalogue import load_catalogue
from localspec.pairs.resolve import Request, resolve
from localspec.report.pair_documents import DoctorDocument, DoctorFinding
from localspec.report.write import to_json
from localspec.runtime.demo_pair import NAME
from localspec.ui.tables import broken
from localspec.ui.terminal import Terminal, Tone
from localspec.ui.waiting import Waiting

FOUND_ERROR = 3
MARKS = {"ok": "ok", "note": "·", "warning": "!", "error": "x"}
TONES = {"ok": Tone.GOOD, "note": Tone.DIM, "warning": Tone.DRAFT, "error": Tone.BAD}
SHORTEST_NAME = 3
LEAST_ROOM = 20


def run_doctor(options: DoctorOptions, common: Common) -> int:
    """Look at everything, and show it."""
    terminal = terminal_of(common)
    findings = examine(terminal, config=common.config, quick=options.quick)
    if options.report:
        findings = [anonymous(each) for each in findings]
    if common.json:
        write(to_json(DoctorDocument(version=__version__, findings=findings)))
    else:
        for line in shown(findings, terminal):
            write(line)
    return FOUND_ERROR if any(each.level == "error" for each in findings) else 0


def examine(terminal: Terminal, *, config: Path | None, quick: bool) -> list[DoctorFinding]:
    """Look at machine, engine, disk, settings and terminal."""
    machine = this_machine()
    with Waiting(terminal, "trying the engine"):
        probe = probe_engine(None if quick else _measured_model())
    return [
        *checks.machine_findings(machine),
        *engine_findings(probe, machine),
        *checks.disk_findings(),
        *checks.settings_findings(config),
        checks.terminal_finding(terminal, os.environ),
    ]


def _measured_model() -> Path | None:
    """Give the file that the demo pair is made from, as the package carries it."""
    with suppress(LocalspecError):
        return resolve(Request(NAME), load_catalogue()).target.path
    return None


def shown(findings: list[DoctorFinding], terminal: Terminal) -> list[str]:
    """Write the findings for people, a fix below what needs one."""
    wide = max(len(each.id) for each in findings)
    lines = [f"localspec {__version__}"]
    for each in findings:
        mark = f"{MARKS[each.level]:>3}"
        painted = _painted(mark, TONES[each.level], terminal)
        first, *rest = _fitting(each.detail, wide + 6, terminal)
        lines.append(f"{painted} {each.id:{wide}}  {first}")
        lines += [f"{'':{wide + 6}}{line}" for line in rest]
        if each.fix and each.level != "ok":
            lines.append(f"{'':{wide + 6}}→ {each.fix}")
    bad = [each for each in findings if each.level in ("warning", "error")]
    errors = sum(each.level == "error" for each in bad)
    if not bad:
        return [*lines, "", "All is well."]
    count = f"{counted(errors, 'error')}, {len(bad) - errors} to look at"
    return [*lines, "", f"{count}."]


def _fitting(text: str, indent: int, terminal: Terminal) -> list[str]:
    """Break a finding between words on a screen; a pipe gets one line, a fix is there to copy."""
    room = terminal.width() - indent
    return broken(text, room) if terminal.shown and room >= LEAST_ROOM else [text]


def _painted(text: str, tone: Tone, terminal: Terminal) -> str:
    """Colour for stdout, where the findings go."""
    return f"{terminal.sgr(tone)}{text}\x1b[0m" if terminal.out_ansi else text


def anonymous(found: DoctorFinding) -> DoctorFinding:
    """Leave out home folder and user name."""
    return found.model_copy(
        update={"detail": without_person(found.detail), "fix": without_person(found.fix)}
    )


def without_person(text: str) -> str:
    """Put ~ for the home folder, USER for the user's name and HOST for the machine's."""
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = text.replace(home, "~")
    for folder in (os.environ.get("LOCALSPEC_CACHE"), os.environ.get("LOCALSPEC_STATE")):
        text = text.replace(folder, "…") if folder else text
    with suppress(OSError, KeyError, ImportError):
        name = getpass.getuser()
        text = text.replace(name, "USER") if len(name) >= SHORTEST_NAME else text
    return text
