"""The states that an EAGLE-3 head reads, behind every token of the kept chats.

One file a shard beside the chats, in the order of the shard's ids: chats are written once, for
heads of any kind. Resumable a shard at a time. Does not know what is trained.
"""

from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from localspec.engine import Context, ContextOptions, Model
from localspec.engine.features import Tap, layer_tap
from tools.train_head.dataset import shard_files

CHUNK = 256
MOST = 6e4
"""Half precision ends at 65,504; a few states of some models are larger."""


def states_file(shard: Path, layers: tuple[int, ...]) -> Path:
    """Name the file of a shard's states."""
    return shard.parent / ("states-" + "-".join(map(str, layers))) / f"{shard.stem}.npy"


def check_shown(target: Path, layers: tuple[int, ...]) -> None:
    """See whether the engine shows these states of a target, before an hour is spent on chats.

    Raises: PairRefused.
    """
    with Model.load(target) as model, Context(model, ContextOptions(64, threads=1)) as context:
        layer_tap(context, layers)


def gather(target: Path, chats: Path, layers: tuple[int, ...], *, threads: int, end: float) -> bool:
    """Read all shards that have no states yet; False when the time is over before.

    Raises: PairRefused when the engine does not show them.
    """
    missing = [shard for shard in shard_files(chats) if not states_file(shard, layers).exists()]
    if not missing:
        return True
    room = max(int(_lengths(shard).max()) for shard in missing)
    options = ContextOptions(room, threads=threads, threads_batch=threads)
    with Model.load(target) as model, Context(model, options) as context:
        tap = layer_tap(context, layers)
        for number, shard in enumerate(missing):
            if monotonic() > end:
                return False
            print(f"states of {shard.name}, {len(missing) - number} to go", flush=True)
            _read_shard(context, tap, shard, states_file(shard, layers))
    return True


def _read_shard(context: Context, tap: Tap, shard: Path, path: Path) -> None:
    """Read one shard; its file appears whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".part")
    with np.load(shard) as found:
        ids = found["ids"]
    shape = (len(ids), tap.width)
    kept = np.lib.format.open_memmap(temporary, "w+", np.float16, shape)
    begin = 0
    for length in _lengths(shard):
        context.rewind(0)
        for at in range(begin, begin + length, CHUNK):
            part = ids[at : min(at + CHUNK, begin + length)]
            context.extend(part, 0)
            rows = tap.rows(at - begin, at - begin + len(part))
            if rows is None:
                raise RuntimeError("the engine left no states behind a pass")
            kept[at : at + len(part)] = np.clip(rows, -MOST, MOST)
        begin += length
    kept.flush()
    del kept
    temporary.replace(path)


def _lengths(shard: Path) -> NDArray[np.int64]:
    with np.load(shard) as found:
        return np.asarray(found["prompt"] + found["answer"], np.int64)
