"""Downloads on a screen: a bar for each file and one for all; a line per 10 % off a terminal.

Knows how far each file is. Does not fetch anything.
"""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from localspec.pairs.hub import DownloadPlan
from localspec.pairs.hub import Progress as FileProgress
from localspec.pairs.hub_cache import RemoteFile
from localspec.pairs.memory import show_bytes
from localspec.ui.terminal import Terminal

TOTAL = "total"
STEP = 0.1


class Downloads:
    """Show a download while it runs: call it with each `Progress`."""

    def __init__(self, plan: DownloadPlan, terminal: Terminal, *, quiet: bool = False) -> None:
        self._plan, self._terminal = plan, terminal
        self._done = {file.file: file.here for file in plan.files}
        self._began_at = sum(self._done.values())
        self._clock = time.monotonic()
        self._told = self._share()
        self._lines = not quiet and not terminal.err_ansi
        self._bars = _bars(terminal) if terminal.err_ansi and not quiet else None
        self._tasks: dict[RemoteFile | str, TaskID] = {}

    def __enter__(self) -> Self:
        if self._bars is not None:
            for file in self._plan.files:
                name = file.file.name.rsplit("/", 1)[-1]
                self._tasks[file.file] = self._bars.add_task(
                    name, total=file.size, completed=file.here
                )
            if len(self._plan.files) > 1:
                total = self._plan.bytes_total
                self._tasks[TOTAL] = self._bars.add_task(
                    TOTAL, total=total, completed=self._began_at
                )
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, progress: FileProgress) -> None:
        """Take in how far a file is."""
        self._done[progress.file] = progress.done
        if self._bars is not None:
            self._bars.update(self._tasks[progress.file], completed=progress.done)
            if TOTAL in self._tasks:
                self._bars.update(self._tasks[TOTAL], completed=sum(self._done.values()))
        elif self._lines:
            self._tell()

    def _share(self) -> float:
        return sum(self._done.values()) / max(self._plan.bytes_total, 1)

    def _tell(self) -> None:
        """Write a line when another tenth is here."""
        share = self._share()
        if int(share / STEP + 1e-9) <= int(self._told / STEP + 1e-9):
            return
        self._told = share
        done, total = sum(self._done.values()), self._plan.bytes_total
        seconds = max(time.monotonic() - self._clock, 1e-6)
        speed = show_bytes(int((done - self._began_at) / seconds))
        self._terminal.say(f"{share:4.0%}  {show_bytes(done)} of {show_bytes(total)}  {speed}/s")


def _bars(terminal: Terminal) -> Progress:
    console = Console(file=terminal.err, force_terminal=True, width=terminal.width())
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
