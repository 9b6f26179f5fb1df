"""The process that writes a large layout: one call of the quantiser, one line of JSON.

Knows its arguments and two pipes. Does not know who wants the layout.
"""

import json
import os
import sys
from pathlib import Path
from threading import Thread

from localspec.engine.quantise import Recipe, write_here


def main() -> None:
    """Quantise what the arguments say; end when the parent does."""
    Thread(target=_end_with_parent, daemon=True).start()
    source, temporary, given = sys.argv[1:4]
    fields = json.loads(given)
    recipe = Recipe(**{**fields, "prune_layers": tuple(fields["prune_layers"])})
    reason = write_here(Path(source), Path(temporary), recipe)
    sys.stdout.write(json.dumps({"reason": reason}) + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)
