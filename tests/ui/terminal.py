"""A program in a pseudo-terminal, and the screen a person would see."""

import json
import os
import shlex
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
import pyte

FAKE = Path(__file__).with_name("fake_chat.py")
PATIENCE_S = 60


class Recorder(pyte.HistoryScreen):
    """A screen whose history holds every line that scrolled away."""

    def __init__(self, columns, rows):
        super().__init__(columns, rows, history=100_000, ratio=1.0)


@dataclass
class Chat:
    """A scripted conversation at work."""

    child: pexpect.spawn
    screen: Recorder
    raw: bytearray = field(default_factory=bytearray)

    def __post_init__(self):
        self._stream = pyte.ByteStream(self.screen)

    def pump(self, seconds=0.05):
        """Read what is there."""
        try:
            data = self.child.read_nonblocking(1 << 16, timeout=seconds)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            return None
        self.raw += data
        self._stream.feed(data)
        return True

    def resize(self, rows, columns):
        """Change the size; what was written before it changed was written for the old one."""
        self.child.setwinsize(rows, columns)
        for _ in range(16):
            if not self.pump(0):
                break
        self.screen.resize(rows, columns)

    def wait_for(self, text, *, count=1):
        """Read until the whole text of the terminal holds `text` so often."""
        self.wait_until(lambda: self.text().count(text) >= count, text)

    def wait_until(self, true, what="it"):
        end = time.monotonic() + PATIENCE_S
        while not true():
            assert time.monotonic() < end, f"{what!r} did not come:\n{self.text()}"
            if self.pump() is None:
                assert true(), f"ended before {what!r}:\n{self.text()}"

    def ready(self):
        """Read until an empty prompt is the last thing on the screen."""
        self.wait_until(lambda: self.lines()[-1:] == [">"], "the prompt")

    def ask(self, text, *, paste=False):
        """Type or paste a message, send it, wait for the next prompt."""
        self.ready()
        before = self._prompts()
        self.send(f"\x1b[200~{text}\x1b[201~" if paste else text)
        self.send("\r")
        self.wait_until(lambda: self._prompts() > before and self.lines()[-1] == ">", "a prompt")

    def _prompts(self):
        return sum(line.startswith(">") for line in self.lines())

    def send(self, text):
        self.child.send(text.encode() if isinstance(text, str) else text)

    def finish(self):
        """Read to the end; give the exit code."""
        while self.pump(1) is not None:
            pass
        self.child.close()
        return self.child.exitstatus

    def lines(self):
        """Give the lines that scrolled away, then those on the screen, without empty ends."""
        gone = ["".join(row[x].data for x in sorted(row)) for row in self.screen.history.top]
        lines = [line.rstrip() for line in [*gone, *self.screen.display]]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def text(self):
        return "\n".join(self.lines())


def chat(rows=24, columns=80, env=None, **wish):
    """Start a scripted conversation in a terminal of that size."""
    return run([sys.executable, str(FAKE), json.dumps(wish)], rows, columns, env)


def shell(script, rows=24, columns=80, env=None, **wish):
    """Start a shell script in which CHAT stands for a scripted conversation."""
    command = shlex.join([sys.executable, str(FAKE), json.dumps(wish)])
    script = script.replace("CHAT", command)
    return run(["/bin/bash", "--norc", "-c", script], rows, columns, env)


def run(command, rows, columns, env=None):
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    clean |= {"TERM": "xterm-256color", **(env or {})}
    child = pexpect.spawn(
        command[0],
        command[1:],
        dimensions=(rows, columns),
        env=clean,
        timeout=PATIENCE_S,
        echo=True,
    )
    child.delaybeforesend = None
    return Chat(child, Recorder(columns, rows))
