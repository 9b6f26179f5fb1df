"""Where a model's weights go: layers on a GPU, devices by name, mapped or copied.

Knows what llama.cpp must be told. Does not weigh memory.
"""

import ctypes
from dataclasses import dataclass
from typing import Any, Literal

from localspec.engine import devices, library
from localspec.errors import OptionError

_ALL_LAYERS = 999


@dataclass(frozen=True)
class ModelOptions:
    """Where the weights go and how they are read.

    `prediction_layers`: read the layers too that guess further tokens (MTP). `head`: the file is a
    head that works beside a target, so it need not write text by itself.
    """

    gpu_layers: int | Literal["auto", "all"] = "auto"
    device: str | None = None
    use_mmap: bool = True
    use_mlock: bool = False
    prediction_layers: bool = False
    head: bool = False


def params(options: ModelOptions, keep: list[Any]) -> Any:
    """Write the options as the engine reads them; `keep` must outlive the load."""
    binding = library.load()
    native = binding.llama_model_default_params()
    native.load_mode = {
        (True, False): binding.LLAMA_LOAD_MODE_MMAP,
        (True, True): binding.LLAMA_LOAD_MODE_MMAP_MLOCK,
        (False, True): binding.LLAMA_LOAD_MODE_MLOCK,
    }.get((options.use_mmap, options.use_mlock), binding.LLAMA_LOAD_MODE_NONE)
    native.n_gpu_layers = gpu_layers(options)
    native.load_mtp = options.prediction_layers
    chosen = _chosen_devices(options)
    if chosen is not None:
        handles = (ctypes.c_void_p * (len(chosen) + 1))(*(each.handle for each in chosen), None)
        keep.append(handles)
        native.devices = ctypes.cast(handles, ctypes.c_void_p)
    return native


def gpu_layers(options: ModelOptions) -> int:
    """Give the number of layers to offload; `auto` is all that this build and machine can."""
    if options.device is not None and options.device.lower() == "cpu":
        return 0
    if options.gpu_layers == "all":
        return _ALL_LAYERS
    if options.gpu_layers == "auto":
        return _ALL_LAYERS if devices.can_offload() else 0
    return options.gpu_layers


def _chosen_devices(options: ModelOptions) -> list[devices.Device] | None:
    if options.device is None:
        return None
    if options.device.lower() == "cpu":
        return []
    found = devices.list_devices()
    chosen = [each for each in found if each.name.lower() == options.device.lower()]
    if not chosen:
        names = ", ".join(each.name for each in found)
        raise OptionError(f"no device '{options.device}'", f"the engine knows: {names}")
    return chosen
