"""What a cache is to keep so that a rejected guess can be taken back, and what that costs.

Told from the header, before anything is loaded. Does not know whether it works: the engine room
tries every way when a cache is made.
"""

from dataclasses import replace

from localspec.core.counted import counted
from localspec.engine.checkpoints import MOST_BYTES, RECENT, TURNS
from localspec.pairs.header import Header
from localspec.pairs.memory import Load, kv_bytes, partial_bytes, show_bytes, snapshot_bytes

# A window is kept whole while that costs little: then any earlier turn can be changed at once.
CHEAP_BYTES = 64_000_000
CHEAP_SHARE = 0.1
# The last states lie beside the state itself; a quarter of the weights is the most they may take.
SNAPSHOT_BYTES = 64_000_000
SNAPSHOT_SHARE = 0.25


def keeping(header: Header, load: Load, *, gamma: int, whole: bool = False) -> Load:
    """Settle how a model is loaded so that up to `gamma` guesses can be taken back.

    `whole` keeps all of a sliding window's history, whatever it costs.
    """
    cheap = max(CHEAP_BYTES, int(CHEAP_SHARE * header.weight_bytes))
    load = replace(load, swa_full=whole or _window_s_extra(header, load) <= cheap)
    one = snapshot_bytes(header)
    most = max(SNAPSHOT_BYTES, int(SNAPSHOT_SHARE * header.weight_bytes))
    snapshots = min(gamma, most // one) if one else 0
    return replace(load, snapshots=snapshots, copies=_copies(partial_bytes(header, load), load))


def _window_s_extra(header: Header, load: Load) -> int:
    """Say what a whole window takes beyond a short one."""
    whole, short = replace(load, swa_full=True), replace(load, swa_full=False)
    return kv_bytes(header, whole) - kv_bytes(header, short)


def _copies(each: int, load: Load) -> int:
    """Give the most bytes that the copies of one state take."""
    number = TURNS + (RECENT if load.rows == 1 else 1)
    return max(each, min(number * each, MOST_BYTES))


def in_words(header: Header, load: Load) -> str:
    """Say how guesses are taken back and what that costs; empty where it costs nothing."""
    said = []
    if extra := _window_s_extra(header, load):
        kept = "whole" if load.swa_full else "short"
        more = "more" if load.swa_full else "less"
        said.append(f"sliding window kept {kept}, {show_bytes(extra)} {more}")
    if load.snapshots:
        each = show_bytes(snapshot_bytes(header))
        said.append(f"{counted(load.snapshots, 'snapshot')} of its state, {each} each")
    if load.copies:
        each = show_bytes(partial_bytes(header, load))
        said.append(f"copies of its state, {each} each, {show_bytes(load.copies)} at most")
    return "; ".join(said)
