"""Functions of llama.cpp's staging header, which its C interface does not export yet.

Knows their C++ names as compilers of the Itanium family write them. Looks each up once; what a
build lacks is said in one line, never met by a crash.
"""

import ctypes
import functools
from typing import Any

from localspec.engine import library
from localspec.errors import PairRefused

_POINTER, _INT, _UINT, _BOOL = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32, ctypes.c_bool

# name -> (parameters as they stand in the mangled name, result, argument types)
_FUNCTIONS: dict[str, tuple[str, Any, tuple[Any, ...]]] = {
    "llama_set_embeddings_layer_inp": ("P13llama_contextjb", None, (_POINTER, _UINT, _BOOL)),
    "llama_get_embeddings_layer_inp": ("P13llama_contextj", _POINTER, (_POINTER, _UINT)),
    "llama_set_embeddings_nextn": ("P13llama_contextbb", None, (_POINTER, _BOOL, _BOOL)),
    "llama_get_embeddings_nextn": ("P13llama_context", _POINTER, (_POINTER,)),
    "llama_get_embeddings_nextn_ith": ("P13llama_contexti", _POINTER, (_POINTER, _INT)),
    "llama_set_nextn_layer_offset": ("P13llama_contexti", None, (_POINTER, _INT)),
}


@functools.cache
def lookup(name: str) -> Any:
    """Give a function by its plain name, or by its C++ name; None when this build has neither."""
    parameters, result, arguments = _FUNCTIONS[name]
    for spelled in (name, f"_Z{len(name)}{name}{parameters}"):
        found = library.symbol(spelled)
        if found is not None:
            found.restype, found.argtypes = result, arguments
            return found
    return None


def function(name: str) -> Any:
    """Give a function that this build must have.

    Raises: PairRefused when it does not.
    """
    found = lookup(name)
    if found is None:
        raise PairRefused(
            f"not available in your engine: llama-cpp-python {library.engine_version()} has no "
            f"{name}",
            "update llama-cpp-python within the range that localspec names, or take another "
            "drafter",
        )
    return found
