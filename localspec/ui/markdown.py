"""Markdown shown block by block: what is complete is rendered once and never touched again.

Knows where blocks end and how rich draws them. Does not know the live line.
"""

import io
import re
from dataclasses import dataclass

from rich.console import Console
from rich.markdown import Markdown

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
FENCES = ("```", "~~~")


@dataclass
class Blocks:
    """Cut text into blocks at blank lines outside of code fences."""

    rest: str = ""

    def feed(self, text: str) -> list[str]:
        """Take text; give the blocks that are complete now."""
        self.rest += text
        done: list[str] = []
        while (end := _block_end(self.rest)) is not None:
            done.append(self.rest[:end])
            self.rest = self.rest[end:]
        return [block for block in done if block.strip()]

    def flush(self) -> list[str]:
        """Give the last block, finished or not."""
        rest, self.rest = self.rest, ""
        return [rest] if rest.strip() else []


def _block_end(text: str) -> int | None:
    """Find where the first block ends; None while it may go on."""
    fence, at = "", 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        if not line.endswith("\n"):
            return None
        mark = line.strip()[:3]
        if fence:
            fence = "" if mark == fence else fence
        elif mark in FENCES:
            fence = mark
        if not fence and not line.strip() and text[:at].strip():
            return at
    return None


def render(block: str, width: int, *, many_colours: bool = True) -> str:
    """Draw a block for a terminal of that width, without blank lines around it."""
    sink = io.StringIO()
    console = Console(
        file=sink,
        force_terminal=True,
        color_system="256" if many_colours else "standard",
        width=max(width - 1, 20),
        legacy_windows=False,
        _environ={},
    )
    console.print(Markdown(block, code_theme="ansi_dark", hyperlinks=False))
    lines = sink.getvalue().splitlines()
    shown = [number for number, line in enumerate(lines) if _ESCAPE.sub("", line).strip()]
    return "".join(f"{line}\n" for line in lines[shown[0] : shown[-1] + 1]) if shown else ""
