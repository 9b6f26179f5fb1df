"""A large layout written by a process of its own, so that it can be stopped at any moment.

The engine's quantiser cannot be interrupted: Ctrl-C would wait for minutes. Knows the call and
two pipes: an open one says that the parent lives, the other takes one line of JSON.
"""

import contextlib
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.errors import PairRefused

if TYPE_CHECKING:
    from localspec.engine.quantise import Recipe

_ROOT = Path(__file__).parents[2]
_CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from localspec.engine.quantise_main import main; main()"
)


def write_apart(source: Path, temporary: Path, recipe: "Recipe") -> str:
    """Quantise in a child; give the engine's reason when it cannot, else an empty text.

    Raises: whatever interrupts the wait, with the child ended; PairRefused when the engine died.
    """
    words = [str(source), str(temporary), json.dumps(asdict(recipe))]
    child = subprocess.Popen(
        [sys.executable, "-c", _CODE, str(_ROOT), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,  # Ctrl-C in the terminal is for us
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
    finally:
        child.kill()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        child.wait()
    if not line.endswith("\n"):
        raise PairRefused(f"the engine stopped while it requantised {source.name}")
    return str(json.loads(line)["reason"])
