"""Other layouts of a model file: the same weights requantised or pruned, kept in the cache.

Knows recipes and files. Does not know which layout is good: that is measured elsewhere.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from localspec.engine.library import engine_version
from localspec.engine.quantise import Recipe, quantise
from localspec.runtime.folders import cache_dir, short_name

Notify = Callable[[str], None]


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
    return (
        cache_dir() / "layouts" / f"{short_name(source.stem)}-{recipe.type}{pruned}-{digest}.gguf"
    )


def ensure_layout(source: Path, recipe: Recipe, notify: Notify) -> Path:
    """Give the layout's file, making it first if it is not there.

    Raises: PairRefused when the file cannot be requantised or the disk is full.
    """
    path = layout_path(source, recipe)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            notify(f"making {path.name} from {source.name} (once)")
            quantise(source, path, recipe)
    return path
