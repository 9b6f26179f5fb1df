"""A file that appears whole or not at all.

Knows names and the disk. Does not know what is written.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localspec.engine.quantise import _sync, _temporary


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a name to write to; what is there at the end of the block becomes `target`.

    Nothing is left of a block that fails. Raises: LocalspecError where nothing can be written.
    """
    temporary = _temporary(target)
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(target.parent)
