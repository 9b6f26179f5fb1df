"""Other layouts of a model file: the same weights requantised or pruned, kept in the cache.

Knows recipes, files, and the record beside each of what it was made from. Does not know which
layout is good: that is measured elsewhere.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from localspec.core.counted import counted
from localspec.engine.library import engine_version
from localspec.engine.quantise import COPY, Recipe, quantise
from localspec.errors import LocalspecError
from localspec.runtime import layout_records as records
from localspec.runtime.folders import cache_dir, cannot_write, short_name

Notify = Callable[[str], None]
AS_IT_IS = "as it is"
_MIX = {"q4_k_s": "q4_k", "q5_k_s": "q5_k", "q3_k_s": "q3_k"}


def folder() -> Path:
    """Give the folder of all layouts."""
    return cache_dir() / "layouts"


def recipe_words(recipe: Recipe) -> str:
    """Say a recipe in a few words: `Q4_0`, `Q4_K, head Q6_K`, `Q4_0 without 3 blocks`.

    A pure layout goes by its tensors' type, a mix by the engine's name for it.
    """
    kind = recipe.type.lower()
    tensors = _MIX.get(kind, kind)
    words = tensors.upper() if recipe.pure else f"{kind.upper()} mix"
    words = AS_IT_IS if kind == COPY else words
    what, apart = (
        ("head", recipe.output_type) if recipe.output_type else ("embedding", recipe.embedding_type)
    )
    if recipe.pure and apart and apart.lower() != tensors:
        words += f", {what} {apart.upper()}"
    if recipe.prune_layers:
        words += f" without {counted(len(set(recipe.prune_layers)), 'block')}"
    return words


def layout_path(source: Path, recipe: Recipe) -> Path:
    """Name the file that this recipe makes of this source, with this engine.

    The name carries a digest of the source's size, change time and name, the recipe and the
    engine's version, so that none of them can change behind the cache's back.
    """
    facts = source.stat()
    key = json.dumps(
        [source.name, facts.st_size, facts.st_mtime_ns, repr(recipe), engine_version()]
    )
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    pruned = f"-without-{len(recipe.prune_layers)}-blocks" if recipe.prune_layers else ""
    return folder() / f"{short_name(source.stem)}-{recipe.type}{pruned}-{digest}.gguf"


def ensure_layout(source: Path, recipe: Recipe, notify: Notify) -> Path:
    """Give the layout's file, making it first if it is not there, or not as its record says.

    Two programs that want the same layout make it once: the second one waits.
    Raises: PairRefused when the file cannot be requantised or the disk is full, OptionError when
    the cache cannot be written.
    """
    path = layout_path(source, recipe)
    if records.whole(path):
        return path
    with locked(path):
        if not records.whole(path):
            _drop_leftovers(path)
            notify(f"making {path.name} from {source.name} (once)")
            quantise(source, path, recipe)
            records.write(path, records.Origin.of(source), recipe)
    return path


def kept_layouts() -> list[records.Kept]:
    """List the layouts that are here, the newest last; none where the cache is no folder."""
    found = []
    with suppress(OSError):
        found = [records.read(path) for path in folder().glob("*.gguf") if path.is_file()]
    return sorted(found, key=lambda each: each.made_at)


def remove_layout(path: Path) -> int:
    """Delete a layout with its record and whatever an interrupted write left; give the bytes freed.

    Raises: LocalspecError while another program writes it.
    """
    freed = 0
    with locked(path, wait_s=0):
        for each in (path, records.beside(path), *_leftovers(path)):
            with suppress(FileNotFoundError):
                size = each.stat().st_size
                each.unlink()
                freed += size
    return freed


@contextmanager
def locked(path: Path, *, wait_s: float = -1) -> Iterator[None]:
    """Keep other programs from writing the same layout meanwhile.

    Raises: OptionError when the folder cannot be written, LocalspecError when nobody lets go in
    time.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{path}.lock", timeout=wait_s)
        lock.acquire()
    except Timeout as failure:
        raise LocalspecError(f"{path.name} is being written by another program") from failure
    except (OSError, NotImplementedError) as failure:
        raise cannot_write(path.parent, failure) from failure
    try:
        yield
    finally:
        lock.release()


def _leftovers(path: Path) -> list[Path]:
    return list(path.parent.glob(f".{path.name}.*.part"))


def _drop_leftovers(path: Path) -> None:
    """Delete what a killed program left of this layout; the lock says that nobody writes it."""
    for part in _leftovers(path):
        part.unlink(missing_ok=True)
