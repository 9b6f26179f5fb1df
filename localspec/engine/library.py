"""The door to the engine's shared libraries: loaded once, quiet, with a sane waiting policy.

Knows how llama_cpp is imported and which functions this build exports. Knows nothing of models.
"""

import ctypes
import functools
import hashlib
import os
from importlib import metadata, util
from pathlib import Path
from typing import Any

from localspec.engine import log
from localspec.errors import LocalspecError

# Alone, 3000 spins cost about 1 %; beside a busy program endless ones cost a factor of 5 to 140.
_WAITING_POLICY = {"GOMP_SPINCOUNT": "3000", "KMP_BLOCKTIME": "1"}

_INSTALL_HINT = (
    "install it with 'pip install llama-cpp-python' (it compiles for some minutes and needs a "
    "C++ compiler), then run 'localspec doctor'"
)


def _set_environment() -> None:
    """Tell OpenMP to stop spinning early, unless the user has said how to wait."""
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an abort starts a debugger and prints
    if "OMP_WAIT_POLICY" in os.environ:
        return
    for name, value in _WAITING_POLICY.items():
        os.environ.setdefault(name, value)


def waiting_policy() -> str:
    """Say how the engine's threads wait, as the environment tells it: `GOMP_SPINCOUNT=3000`."""
    names = ("OMP_WAIT_POLICY", *_WAITING_POLICY)
    return " ".join(f"{name}={os.environ[name]}" for name in names if name in os.environ)


@functools.cache
def load() -> Any:
    """Import the binding and start the engine; later calls are free.

    Raises: LocalspecError when llama-cpp-python is missing or its libraries do not load.
    """
    _set_environment()  # read when the libraries load, so it comes before the import
    try:
        import llama_cpp.llama_cpp as binding  # noqa: PLC0415 (a fifth of a second: only when used)
    except ModuleNotFoundError as error:
        raise LocalspecError(f"the engine is not installed ({error})", _INSTALL_HINT) from error
    except (ImportError, OSError, RuntimeError) as error:
        raise LocalspecError(
            f"the engine's libraries do not load: {error}", _INSTALL_HINT
        ) from error
    log.install(binding)
    binding.llama_backend_init()
    return binding


def engine_version() -> str:
    """Give the installed version of llama-cpp-python, without loading it."""
    try:
        return metadata.version("llama-cpp-python")
    except metadata.PackageNotFoundError:
        return "none"


def engine_build() -> str:
    """Tell the installed build from others, of the same version too, without loading it.

    A build with other processor features or backends has other costs and rounds otherwise; its
    libraries differ in size or in the time they were written. So does one that the environment
    gives other kernels.
    """
    facts: list[object] = [
        (each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in _files()
    ]
    facts += _switches()
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:8]
    return f"{engine_version()}-{digest}"


def _switches() -> list[str]:
    """List what the environment tells the engine's kernels: `GGML_CPU_TILED_MM=0`."""
    names = sorted(name for name in os.environ if name.startswith("GGML_"))
    return [f"{name}={os.environ[name]}" for name in names if name != "GGML_NO_BACKTRACE"]


def _files() -> list[Path]:
    """List the engine's own libraries."""
    folder = os.environ.get("LLAMA_CPP_LIB_PATH")
    if folder is None:
        found = util.find_spec("llama_cpp")
        if found is None or found.origin is None:
            return []
        folder = str(Path(found.origin).parent / "lib")
    return sorted(each for each in Path(folder).glob("*") if each.is_file())


def has(name: str) -> bool:
    """Tell whether this build exports a function of that name."""
    return getattr(load(), name, None) is not None or _symbol(load()._lib, name) is not None


def symbol(name: str) -> Any:
    """Give a function of libllama with types of its own still to be set; None without it."""
    return _symbol(load()._lib, name)


def system_info() -> str:
    """Give the engine's own line about processor features and backends."""
    line: bytes = load().llama_print_system_info()
    return line.decode("utf-8", "replace").strip(" |")


def llama(name: str, result: Any, *arguments: Any) -> Any:
    """Declare a function of libllama anew, where the binding's own type is slow or missing."""
    return _declared(_symbol(load()._lib, name), name, (result, arguments))


def ggml(name: str, result: Any, *arguments: Any) -> Any:
    """Declare a function of the ggml libraries that lie beside libllama."""
    found = (_symbol(library, name) for library in _ggml_libraries())
    return _declared(next((each for each in found if each), None), name, (result, arguments))


def _symbol(library: ctypes.CDLL, name: str) -> Any:
    try:
        return library[name]  # indexing gives a fresh object, whose types are ours to set
    except AttributeError:
        return None


def _declared(function: Any, name: str, types: tuple[Any, tuple[Any, ...]]) -> Any:
    if function is None:
        raise LocalspecError(
            f"this build of llama-cpp-python ({engine_version()}) has no {name}",
            "update llama-cpp-python within the range that localspec names",
        )
    function.restype, function.argtypes = types
    return function


@functools.cache
def _ggml_libraries() -> tuple[ctypes.CDLL, ...]:
    folder = Path(load()._lib._name).parent
    names = [f"{prefix}{stem}" for stem in ("ggml", "ggml-base") for prefix in ("lib", "")]
    files = [folder / f"{name}{suffix}" for name in names for suffix in (".so", ".dylib", ".dll")]
    return tuple(ctypes.CDLL(str(file)) for file in files if file.exists())
