"""Which blocks of target and draft go onto which device.

Knows sizes and free bytes, given as numbers. Does not ask a device anything, and does not load.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localspec.errors import PairRefused
from localspec.pairs.header import Header
from localspec.pairs.memory import (
    Load,
    compute_bytes,
    estimate,
    layer_kv_bytes,
    show_bytes,
    vocabulary_bytes,
)
from localspec.pairs.shape import layers_of, window_of

# A driver's own context, and a little air.
DEVICE_RESERVE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Device:
    """A device other than the processor, and what is free on it now."""

    name: str
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one model goes: `layers` counts from the end and includes the output layer."""

    layers: int
    of: int
    split: tuple[tuple[str, int], ...]
    device_bytes: int
    ram_bytes: int

    @property
    def whole(self) -> bool:
        """Tell whether nothing is left to the processor but the embedding."""
        return self.layers == self.of


@dataclass(frozen=True, slots=True)
class Plan:
    """Where both models go, and why in one line."""

    target: Placement
    draft: Placement | None
    reason: str


def plan(
    target: tuple[Header, Load],
    draft: tuple[Header, Load] | None,
    *,
    ram_free: int,
    devices: Sequence[Device],
) -> Plan:
    """Place both models; the draft comes first, since it runs several times a pass.

    Raises: PairRefused when what is left does not fit in memory.
    """
    free = {device.name: device.free_bytes - DEVICE_RESERVE_BYTES for device in devices}
    small = _place_whole(*draft, free=free) if draft else None
    large = _place(*target, free=free)
    if draft and small is None:
        small = _place(*draft, free=free)
    ram = large.ram_bytes + (small.ram_bytes if small else 0)
    if ram > ram_free:
        raise PairRefused(
            f"the pair needs {show_bytes(ram)} of memory beside its devices, "
            f"{show_bytes(ram_free)} is free",
            "a shorter --ctx, --kv q8_0, or a smaller pair: `localspec models list --fits`",
        )
    return Plan(large, small, _reason(large, small, devices))


def _reason(large: Placement, small: Placement | None, devices: Sequence[Device]) -> str:
    if not devices:
        return "no device but the processor"
    drafted = "" if small is None else (" and the draft" if small.whole else "")
    if large.whole:
        return f"the whole target{drafted} on {_names(large)}"
    part = f"{large.layers} of {large.of} target layers on {_names(large)}"
    if small is None:
        return part
    first = "the draft first, since it runs several times a pass" if small.whole else "no draft"
    return f"{first}; {part}"


def _names(placement: Placement) -> str:
    return " and ".join(name for name, _ in placement.split) or "the processor"


def _place_whole(header: Header, load: Load, *, free: dict[str, int]) -> Placement | None:
    costs = _layer_costs(header, load)
    needed = sum(costs) + compute_bytes(header, load)
    fitting = [name for name, left in free.items() if left >= needed]
    if not fitting:
        return None
    name = min(fitting, key=free.__getitem__)
    free[name] -= needed
    return _placement(header, load, costs, {name: len(costs)})


def _place(header: Header, load: Load, *, free: dict[str, int]) -> Placement:
    costs, taken = _layer_costs(header, load), dict.fromkeys(free, 0)
    working, at = compute_bytes(header, load), len(costs)
    for name in sorted(free, key=lambda device: -free[device]):
        left = free[name] - working
        while at and left >= costs[at - 1]:
            at -= 1
            left -= costs[at]
            taken[name] += 1
        if taken[name]:
            free[name] = left
    return _placement(header, load, costs, {name: n for name, n in taken.items() if n})


def _placement(
    header: Header, load: Load, costs: Sequence[int], taken: Mapping[str, int]
) -> Placement:
    layers = sum(taken.values())
    on_devices = sum(costs[len(costs) - layers :])
    working = compute_bytes(header, load) * len(taken)
    everything = estimate(header, load)
    if layers == len(costs):
        embedding = header.tensor("token_embd.weight")
        ram = vocabulary_bytes(header) + (embedding.bytes if embedding else 0)
    else:
        ram = max(everything.total - on_devices, 0)
    return Placement(layers, len(costs), tuple(taken.items()), on_devices + working, ram)


def _layer_costs(header: Header, load: Load) -> list[int]:
    """Bytes of each block with its cache, the output layer last."""
    layers, window = layers_of(header), window_of(header)
    blocks = header.number("{arch}.block_count") or len(layers)
    costs = [0] * (blocks + 1)
    for block, layer in enumerate(layers):
        costs[block] = layer_kv_bytes(layer, window, load) + 4 * layer.state * load.snapshots
    for tensor in header.tensors:
        prefix, _, rest = tensor.name.partition(".")
        number = rest.partition(".")[0]
        if prefix == "blk" and number.isdigit() and int(number) < blocks:
            costs[int(number)] += tensor.bytes
        elif tensor.name.startswith("output"):
            costs[blocks] += tensor.bytes
    if header.tensor("output.weight") is None:
        embedding = header.tensor("token_embd.weight")
        costs[blocks] += embedding.bytes if embedding else 0
    return costs
