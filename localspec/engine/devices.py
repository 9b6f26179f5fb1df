"""What the engine can compute on: exactly ggml's own list, whatever the vendor.

Knows names and memory. Does not decide what goes where.
"""

import ctypes
from dataclasses import dataclass

from localspec.engine import library

_KINDS = ("cpu", "gpu", "igpu", "accel", "meta")


@dataclass(frozen=True)
class Device:
    """One device of the engine; a CPU reports the machine's memory."""

    name: str
    description: str
    kind: str
    free_bytes: int
    total_bytes: int
    handle: int

    @property
    def is_gpu(self) -> bool:
        """Tell whether layers can be offloaded to it."""
        return self.kind in {"gpu", "igpu"}


def list_devices() -> list[Device]:
    """List the devices this build of the engine found, in the engine's order."""
    count = library.ggml("ggml_backend_dev_count", ctypes.c_size_t)()
    get = library.ggml("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
    return [_device(get(index)) for index in range(count)]


def can_offload() -> bool:
    """Tell whether this build can put layers on a GPU that is really there."""
    return bool(library.load().llama_supports_gpu_offload()) and any(
        device.is_gpu for device in list_devices()
    )


def _device(handle: int) -> Device:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    size = ctypes.POINTER(ctypes.c_size_t)
    memory = library.ggml("ggml_backend_dev_memory", None, ctypes.c_void_p, size, size)
    memory(handle, ctypes.byref(free), ctypes.byref(total))
    kind: int = library.ggml("ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)(handle)
    return Device(
        name=_text("ggml_backend_dev_name", handle),
        description=_text("ggml_backend_dev_description", handle),
        kind=_KINDS[kind] if kind < len(_KINDS) else "other",
        free_bytes=free.value,
        total_bytes=total.value,
        handle=handle,
    )


def _text(name: str, handle: int) -> str:
    value: bytes = library.ggml(name, ctypes.c_char_p, ctypes.c_void_p)(handle)
    return value.decode("utf-8", "replace")
