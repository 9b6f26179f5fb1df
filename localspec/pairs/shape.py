"""The numbers in a header that decide how much memory a model's cache takes.

Knows layers, heads, windows and recurrent states. Does not add anything up, and does not know
machines.
"""

from dataclasses import dataclass

from localspec.errors import PairRefused
from localspec.pairs.cursor import AGAIN
from localspec.pairs.header import Header
from localspec.pairs.kinds import mtp_layers

# Every how many layers one looks at everything, for architectures whose files do not say it.
WINDOW_PERIODS = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2, "cohere2": 4, "olmo2": 4}
MAX_BLOCKS = 4096  # far above any real model, and few enough to list
ATTENTION_PERIODS = {"qwen35": 4, "qwen35moe": 4, "qwen3next": 4}
# A field of any of these names means that some blocks keep a state.
STATES = ("ssm.state_size", "wkv.head_size", "shortconv.l_cache", "kda.head_dim")
# Architectures whose every block attends and keeps a state.
BOTH = frozenset({"falcon-h1"})
# Architectures for which the engine can keep the states of the last tokens beside the state.
SNAPSHOTS = frozenset(
    {"kimi-k3", "qwen35", "qwen35moe", "qwen4exp", "deepseek4", "glm5-next", "nemotron_h"}
    | {"nemotron_h_moe", "lfm2", "lfm2moe", "bailingmoe3"}
)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one block keeps: values per cached id, or a state of `state` numbers for all of them."""

    keys: int
    values: int
    windowed: bool = False
    state: int = 0


def layers_of(header: Header) -> tuple[Layer, ...]:
    """Describe the cache of every ordinary block."""
    counted = _count_of_blocks(header)
    blocks = max(counted - mtp_layers(header), 0) or counted
    shared = header.number("{arch}.attention.shared_kv_layers") or 0
    heads = _per_layer(header, "{arch}.attention.head_count_kv", blocks)
    heads = heads or _per_layer(header, "{arch}.attention.head_count", blocks) or [0] * blocks
    windowed, recurrent = _windowed(header, blocks), _recurrent(header, blocks)
    return tuple(
        _layer(header, heads[block], windowed[block], recurrent[block])
        for block in range(blocks - min(shared, blocks))
    )


def _count_of_blocks(header: Header) -> int:
    """Give the number of blocks, which a damaged file cannot make absurd."""
    count = header.number("{arch}.block_count") or 0
    if not 0 <= count <= MAX_BLOCKS:
        raise PairRefused(f"{header.path.name} is damaged: it claims {count} blocks", AGAIN)
    return count


def _layer(header: Header, heads: int, windowed: bool, recurrent: bool) -> Layer:
    state = _state(header) if recurrent else 0
    if recurrent and header.arch not in BOTH:
        return Layer(0, 0, state=state)
    keys, values = _lengths(header, windowed)
    # With latent attention the values are a view of the keys.
    latent = header.number("{arch}.attention.key_length_mla") is not None
    return Layer(keys * heads, 0 if latent else values * heads, windowed, state)


def _lengths(header: Header, windowed: bool) -> tuple[int, int]:
    heads = _first(header, "{arch}.attention.head_count") or 1
    usual = (header.number("{arch}.embedding_length") or 0) // heads
    found = []
    for name in ("key", "value"):
        key = f"{{arch}}.attention.{name}_length"
        special = header.number(f"{key}_swa") if windowed else None
        found.append(special or header.number(key) or usual)
    return found[0], found[1]


def _per_layer(header: Header, key: str, blocks: int) -> list[int]:
    array = header.array(key)
    if array is not None:
        numbers = [int(number) for number in array.numbers().tolist()]
        return (numbers + [0] * blocks)[:blocks]
    number = header.number(key)
    return [] if number is None else [number] * blocks


def _first(header: Header, key: str) -> int:
    numbers = _per_layer(header, key, 1)
    return numbers[0] if numbers else 0


def most_heads(header: Header) -> int:
    """Give the most heads that attend in one block."""
    blocks = min(_count_of_blocks(header), MAX_BLOCKS)
    return max(_per_layer(header, "{arch}.attention.head_count", blocks), default=0)


def window_of(header: Header) -> int:
    """Give the length of the sliding window, or 0."""
    return header.number("{arch}.attention.sliding_window") or 0


def _windowed(header: Header, blocks: int) -> list[bool]:
    if not window_of(header):
        return [False] * blocks
    key = "{arch}.attention.sliding_window_pattern"
    if header.array(key) is not None:
        return [bool(number) for number in _per_layer(header, key, blocks)]
    period = header.number(key) or WINDOW_PERIODS.get(header.arch, 0)
    return [bool(period) and block % period < period - 1 for block in range(blocks)]


def _recurrent(header: Header, blocks: int) -> list[bool]:
    if not any(header.number(f"{{arch}}.{key}") for key in STATES):
        return [False] * blocks
    if header.arch in BOTH:
        return [True] * blocks
    key = "{arch}.full_attention_interval"
    period = header.number(key) or ATTENTION_PERIODS.get(header.arch)
    if period:
        return [(block + 1) % period != 0 for block in range(blocks)]
    # Hybrids say which blocks attend by giving the others no heads; pure recurrent ones have none.
    heads = _per_layer(header, "{arch}.attention.head_count_kv", blocks) or [0] * blocks
    if header.arch.startswith("nemotron_h"):  # where blocks of feed-forward alone have none either
        wide = _per_layer(header, "{arch}.feed_forward_length", blocks) or [0] * blocks
        heads = [count + width for count, width in zip(heads, wide, strict=True)]
    return [count == 0 for count in heads]


def _state(header: Header) -> int:
    """Count the numbers of one block's state, as the engine lays it out."""

    def number(key: str) -> int:
        return header.number(f"{{arch}}.{key}") or 0

    width, kernel = number("embedding_length"), max(number("ssm.conv_kernel") - 1, 0)
    if head := number("wkv.head_size"):
        return width * (number("token_shift_count") or 2) + width * head
    if cache := number("shortconv.l_cache"):
        return width * (cache - 1)
    if head := number("kda.head_dim"):
        heads = _first(header, "{arch}.attention.head_count")
        return 3 * (kernel or 3) * heads * head + head * head * heads
    size, inner = number("ssm.state_size"), number("ssm.inner_size")
    return kernel * (inner + 2 * number("ssm.group_count") * size) + size * inner
