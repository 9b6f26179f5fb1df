"""A loaded model in a few words: how large, which layout, and what it runs on.

Knows loaded models and devices. Does not know where the words are shown.
"""

from localspec.core.counted import counted
from localspec.engine import Context, Model
from localspec.engine.devices import can_offload, list_devices
from localspec.engine.threads import default_threads

NO_DRAFT = "no draft model"
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def in_words(model: Model, context: Context | None) -> str:
    """Say "135M Q4_0, CPU 2 threads" of a loaded model."""
    layout = model.desc.split()[-1] if model.desc else ""
    return f"{show_count(model.n_params)} {layout}, {_device(context)}"


def show_count(number: float) -> str:
    """Write a count of weights as people say it: 135M, 1.5B."""
    for size, unit in _UNITS:
        if number >= size:
            return (
                f"{number / size:.2g}{unit}" if number < 10 * size else f"{number / size:.0f}{unit}"
            )
    return f"{number:.0f}"


def _device(context: Context | None) -> str:
    if can_offload():
        names = [device.description for device in list_devices() if device.is_gpu]
        return ", ".join(names) or "GPU"
    threads = context.threads[0] if context else default_threads()
    return f"CPU {counted(threads, 'thread')}"
