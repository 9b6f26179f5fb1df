"""How much memory a model needs, told from its header before anything is loaded.

Knows weights, the engine's repacked copies, vocabularies, caches and working buffers. Does not
know how much is free, and does not load anything. The constants were fitted to measured resident
memory of four models of 0.1 to 1.5 billion weights; a test holds the estimate to 10 %.
"""

import platform
from dataclasses import dataclass, replace

from localspec.errors import OptionError, PairRefused
from localspec.pairs.ggml_types import GGML_TYPES, TYPE_NAMES, GgmlType, row_bytes
from localspec.pairs.header import Header, TensorInfo
from localspec.pairs.shape import SNAPSHOTS, Layer, layers_of, most_heads, window_of

CELL_STEP = 256
SMALLEST_CONTEXT = 512
TOKEN_BYTES, MERGE_BYTES = 160, 170

# What ggml's processor backend copies into another layout while it loads.
REPACKED_X86 = frozenset({"Q4_0", "Q4_K", "Q2_K", "IQ4_NL", "MXFP4"})
REPACKED_ARM = frozenset({"Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "IQ4_NL", "MXFP4"})


@dataclass(frozen=True, slots=True)
class Load:
    """How a model is to be loaded; `rows` is the most rows of logits a pass may give.

    Without `flash_attn` a pass needs a table of scores, one for each of its tokens, ids and heads.
    `snapshots` are states of the last tokens kept beside the state, `copies` the most bytes that
    copies of it may take; both so that guesses can be taken back.
    """

    n_ctx: int
    kv_type_k: str = "f16"
    kv_type_v: str = "f16"
    n_batch: int = 512
    rows: int = 32
    swa_full: bool = True
    snapshots: int = 0
    copies: int = 0
    flash_attn: bool = True


@dataclass(frozen=True, slots=True)
class Memory:
    """The parts of a model's memory, in bytes.

    `rollback` is what is kept beside the cache so that guesses can be taken back.

    `superseded` are pages of the file whose repacked copies are used instead: they are resident
    right after loading, and the system takes them back when it needs them.
    """

    weights: int
    vocabulary: int
    kv: int
    compute: int
    superseded: int = 0
    rollback: int = 0

    @property
    def total(self) -> int:
        """Give what must be there while the model runs."""
        return self.weights + self.vocabulary + self.kv + self.compute + self.rollback

    @property
    def resident(self) -> int:
        """Give what the system counts as resident right after the first passes."""
        return self.total + self.superseded


def estimate(header: Header, load: Load, repacked: frozenset[str] | None = None) -> Memory:
    """Say what a model needs on the processor; `repacked` defaults to this machine's types.

    Raises: OptionError for an unknown cache type.
    """
    copies, superseded = _copies(header, machine_repacks() if repacked is None else repacked)
    return Memory(
        weights=header.weight_bytes - superseded + copies,
        vocabulary=vocabulary_bytes(header),
        kv=kv_bytes(header, load),
        compute=compute_bytes(header, load),
        superseded=superseded,
        rollback=rollback_bytes(header, load),
    )


def machine_repacks() -> frozenset[str]:
    """Name the storage types that this processor's backend copies."""
    arm = platform.machine().lower() in ("arm64", "aarch64")
    return REPACKED_ARM if arm else REPACKED_X86


def _copies(header: Header, repacked: frozenset[str]) -> tuple[int, int]:
    tied = header.tensor("output.weight") is None
    copies = superseded = 0
    for tensor in header.tensors:
        embedding = tensor.name == "token_embd.weight"
        if not _repackable(tensor, repacked) or (embedding and not tied):
            continue
        copies += tensor.bytes
        superseded += 0 if embedding else tensor.bytes  # a tied embedding is looked up as it was
    return copies, superseded


def _repackable(tensor: TensorInfo, repacked: frozenset[str]) -> bool:
    matrix = len(tensor.shape) >= 2 and tensor.shape[1] % 8 == 0
    return matrix and tensor.name.endswith(".weight") and GGML_TYPES[tensor.type].name in repacked


def vocabulary_bytes(header: Header) -> int:
    """Say what the engine's tables of tokens and merges take."""
    tokens = header.array("tokenizer.ggml.tokens")
    merges = header.array("tokenizer.ggml.merges")
    return (tokens.count if tokens else 0) * TOKEN_BYTES + (
        merges.count if merges else 0
    ) * MERGE_BYTES


def kv_bytes(header: Header, load: Load) -> int:
    """Say what the cache of a whole model takes.

    Raises: OptionError for an unknown cache type.
    """
    return sum(layer_kv_bytes(layer, window_of(header), load) for layer in layers_of(header))


def layer_kv_bytes(layer: Layer, window: int, load: Load) -> int:
    """Say what the cache of one block takes, without what is kept for taking back."""
    cells = _padded(load.n_ctx)
    if layer.windowed and not load.swa_full:
        cells = min(cells, _padded(window + load.n_batch))
    return 4 * layer.state + cells * _row_bytes(layer, load)


def _row_bytes(layer: Layer, load: Load) -> int:
    """Say what one block keeps of one id."""
    keys = row_bytes(cache_type(load.kv_type_k), layer.keys)
    return keys + row_bytes(cache_type(load.kv_type_v), layer.values)


def rollback_bytes(header: Header, load: Load) -> int:
    """Say what snapshots and copies take beside the cache."""
    return load.snapshots * snapshot_bytes(header) + load.copies


def snapshot_bytes(header: Header) -> int:
    """Say what one more state of every block takes; 0 where the engine keeps only one."""
    return _states(header) if header.arch in SNAPSHOTS else 0


def partial_bytes(header: Header, load: Load) -> int:
    """Say what a copy of all that cannot be removed takes: states, and what a short window sees."""
    slid = [] if load.swa_full else [each for each in layers_of(header) if each.windowed]
    rows = sum(_row_bytes(layer, load) for layer in slid)
    return _states(header) + min(window_of(header), load.n_ctx) * rows


def _states(header: Header) -> int:
    return 4 * sum(layer.state for layer in layers_of(header))


def cache_type(name: str) -> GgmlType:
    """Find a cache type by its name.

    Raises: OptionError naming those there are.
    """
    if name not in TYPE_NAMES:
        raise OptionError(f"no cache type {name!r}", "f16, q8_0, q5_1, q5_0, q4_1 or q4_0")
    return TYPE_NAMES[name]


def _padded(cells: int) -> int:
    return -(-cells // CELL_STEP) * CELL_STEP


def compute_bytes(header: Header, load: Load) -> int:
    """Say what the working buffers take: activations, the attention mask, rows of logits."""
    tokens = min(load.n_batch, load.n_ctx)
    width = header.number("{arch}.embedding_length") or 0
    activations = 4 * tokens * (3 * _feed_forward(header) + 6 * width)
    mask = 2 * tokens * _padded(load.n_ctx)
    vocabulary = header.array("tokenizer.ggml.tokens")
    logits = 2 * 4 * load.rows * (vocabulary.count if vocabulary else 0)
    if load.flash_attn:
        return activations + mask + logits
    scores = 4 * tokens * _padded(load.n_ctx) * most_heads(header)
    return max(activations, scores + mask) + mask + logits


def _feed_forward(header: Header) -> int:
    experts = header.number("{arch}.expert_feed_forward_length")
    if experts:
        return experts * ((header.number("{arch}.expert_used_count") or 1) + 1)
    array = header.array("{arch}.feed_forward_length")
    if array is not None:
        return max((int(n) for n in array.numbers().tolist()), default=0)
    return header.number("{arch}.feed_forward_length") or 0


@dataclass(frozen=True, slots=True)
class Room:
    """The memory two models share: bytes free, and the share of them to use at most."""

    free_bytes: int
    share: float = 0.9

    @property
    def usable(self) -> int:
        """Give the bytes to plan with."""
        return int(self.free_bytes * self.share)


def auto_context(target: Header, draft: Header | None, load: Load, room: Room) -> int:
    """Find the longest context, up to `load.n_ctx`, at which both models fit.

    Raises: PairRefused with what is needed and what is free when not even a short one fits.
    """
    models = [model for model in (target, draft) if model is not None]
    trained = [model.number("{arch}.context_length") or load.n_ctx for model in models]
    longest = min(load.n_ctx, *trained)

    def needed(context: int) -> int:
        return sum(estimate(model, replace(load, n_ctx=context)).total for model in models)

    low, high = min(SMALLEST_CONTEXT, longest), longest
    if needed(low) > room.usable:
        raise PairRefused(
            f"the pair needs {show_bytes(needed(low))} at {low} tokens of context, "
            f"{show_bytes(room.usable)} of {show_bytes(room.free_bytes)} free may be used",
            "close other programs, or take a smaller pair: `localspec models list --fits`",
        )
    if needed(high) <= room.usable:
        return high
    while high - low > CELL_STEP:
        middle = (low + high) // 2 // CELL_STEP * CELL_STEP
        middle = middle if middle > low else low + CELL_STEP
        low, high = (middle, high) if needed(middle) <= room.usable else (low, middle)
    return low


def show_bytes(count: int) -> str:
    """Write a number of bytes as a person would."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
