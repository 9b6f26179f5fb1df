"""One GGUF file, loaded: its facts and its vocabulary.

Knows which files the engine can run as a text model, and says in one line why it cannot. Does not
know what the model is used for.
"""

import ctypes
import functools
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from localspec.engine import header, library, log
from localspec.engine.placement import ModelOptions
from localspec.engine.vocabulary import Vocabulary
from localspec.engine.weights import Progress, load_weights
from localspec.errors import LocalspecError, NotHere, PairRefused

_NOT_A_MODEL = {"mmproj", "clip", "adapter", "imatrix", "lora", "vocab"}


class Closable(Protocol):
    """Something that holds memory of the engine."""

    def close(self) -> None:
        """Give it back; once is enough, twice is harmless."""
        ...


class Model:
    """A loaded model; close it (or use `with`) to give its memory back."""

    def __init__(self, path: Path, handle: int, options: ModelOptions) -> None:
        self.path, self.options = path, options
        self._handle: int | None = handle
        self._dependents: weakref.WeakSet[Closable] = weakref.WeakSet()
        self.vocabulary = Vocabulary(handle)

    @classmethod
    def load(
        cls,
        path: Path | str,
        options: ModelOptions | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Load a GGUF file; `progress` gets 0 to 1 and stops the load by returning False.

        Raises: NotHere for a missing file, PairRefused when the engine cannot run it as a text
        model, OptionError for a device that is not there, Interrupted when `progress` said no.
        """
        path = Path(path)
        options = options or ModelOptions()
        found = header.read(path)
        _check_header(path, found)
        _check_tokens(path, found)
        with log.captured() as lines:
            handle = load_weights(path, options, progress)
        if not handle:
            raise _refusal(path, found, lines)
        model = cls(path, handle, options)
        if not options.head:
            model._check_decodes_text()
        return model

    @property
    def handle(self) -> int:
        """Give the engine's pointer."""
        if self._handle is None:
            raise ValueError(f"{self.path.name} is closed")
        return self._handle

    def attach(self, dependent: Closable) -> None:
        """Close `dependent` before this model, since it reads the model's weights."""
        self._dependents.add(dependent)

    def close(self) -> None:
        """Free the contexts of this model, then the model."""
        for dependent in list(self._dependents):
            dependent.close()
        if self._handle is not None:
            library.load().llama_model_free(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _number(self, name: str) -> int:
        return int(getattr(library.load(), name)(self.handle))

    @property
    def n_vocab(self) -> int:
        """Give the width of a row of logits."""
        return self.vocabulary.size

    @functools.cached_property
    def n_embd(self) -> int:
        """Give the width of the hidden state."""
        return self._number("llama_model_n_embd")

    @functools.cached_property
    def n_embd_out(self) -> int:
        """Give the width of the states that the model gives out."""
        return self._number("llama_model_n_embd_out")

    @functools.cached_property
    def n_layer(self) -> int:
        """Give the number of blocks."""
        return self._number("llama_model_n_layer")

    @functools.cached_property
    def n_layer_nextn(self) -> int:
        """Give the number of prediction layers; they are no part of `n_layer`."""
        return self._number("llama_model_n_layer_nextn")

    @functools.cached_property
    def n_ctx_train(self) -> int:
        """Give the context length the model was trained for."""
        return self._number("llama_model_n_ctx_train")

    @functools.cached_property
    def n_swa(self) -> int:
        """Give the width of the sliding window; 0 when every layer sees everything."""
        return self._number("llama_model_n_swa")

    @functools.cached_property
    def n_params(self) -> int:
        """Give the number of weights."""
        return self._number("llama_model_n_params")

    @functools.cached_property
    def size_bytes(self) -> int:
        """Give the bytes of all weights, which is about what one pass reads."""
        return self._number("llama_model_size")

    @functools.cached_property
    def is_recurrent(self) -> bool:
        """Tell whether the whole cache is one state that cannot forget its end."""
        return bool(self._number("llama_model_is_recurrent"))

    @functools.cached_property
    def is_hybrid(self) -> bool:
        """Tell whether some layers keep such a state."""
        return bool(self._number("llama_model_is_hybrid"))

    @functools.cached_property
    def desc(self) -> str:
        """Give the engine's short description: family, size, layout."""
        return _grown(
            lambda buffer, size: library.load().llama_model_desc(self.handle, buffer, size)
        )

    @functools.cached_property
    def metadata(self) -> dict[str, str]:
        """Give the scalar fields of the header as text."""
        fields = range(self._number("llama_model_meta_count"))
        return {
            self._field("llama_model_meta_key_by_index", index): self._field(
                "llama_model_meta_val_str_by_index", index
            )
            for index in fields
        }

    def _field(self, name: str, index: int) -> str:
        read = getattr(library.load(), name)
        return _grown(lambda buffer, size: read(self.handle, index, buffer, size))

    @property
    def architecture(self) -> str:
        """Give the architecture the header names."""
        return self.metadata.get("general.architecture", "")

    @functools.cached_property
    def chat_template(self) -> str | None:
        """Give the chat template of the header, or None when it has none."""
        found: bytes | None = library.load().llama_model_chat_template(self.handle, None)
        return found.decode("utf-8", "replace") if found else None

    def _check_decodes_text(self) -> None:
        reason = self._why_not_text()
        if reason is not None:
            self.close()
            raise PairRefused(
                f"{self.path.name} cannot write text: {reason}",
                "give a language model (a decoder) instead",
            )

    def _why_not_text(self) -> str | None:
        arch, fields, binding = self.architecture, self.metadata, library.load()
        if not binding.llama_model_has_decoder(self.handle):
            return f"it is an encoder only ({arch})"
        if binding.llama_model_has_encoder(self.handle):
            return f"it is an encoder-decoder model ({arch}), which is not supported"
        if fields.get(f"{arch}.attention.causal") == "false":
            return f"it is an embedding model ({arch}, attention in both directions)"
        if fields.get(f"{arch}.pooling_type", "0") not in {"0", "-1"}:
            return f"it is an embedding model ({arch}, its output is pooled)"
        return None if self.n_vocab else f"it has no vocabulary ({arch})"


def _check_header(path: Path, found: header.Header) -> None:
    size = path.stat().st_size
    if found.architecture in _NOT_A_MODEL or found.kind in _NOT_A_MODEL:
        what = found.kind or found.architecture
        raise PairRefused(
            f"{path.name} is not a language model: its header says '{what}'",
            "a projector or adapter goes with a model; give the model's own file",
        )
    if size < found.needed_bytes:
        raise PairRefused(
            f"{path.name} is cut off: {size:,} of {found.needed_bytes:,} bytes are here",
            "download it again",
        )


def _check_tokens(path: Path, found: header.Header) -> None:
    if found.repeated_token:
        raise PairRefused(
            f"{path.name} is damaged: two of its tokens have the text '{found.repeated_token}'",
            "download it again",
        )


def _refusal(path: Path, found: header.Header, lines: Iterable[str]) -> LocalspecError:
    reason = next((line for line in lines if "error loading model" in line), "")
    reason = reason.rpartition("error loading model: ")[2].strip() or "the engine gives no reason"
    newer = {
        "unknown model architecture": found.architecture,
        "unknown pre-tokenizer": found.pre_tokenizer,
    }
    for sign, name in newer.items():
        if sign in reason:
            return PairRefused(
                f"{path.name} needs a newer llama-cpp-python than {library.engine_version()}: "
                f"'{name}' is unknown to it",
                "update with 'pip install -U llama-cpp-python'",
            )
    if not path.exists():
        return NotHere(f"{path}: no such file")
    return PairRefused(f"the engine cannot load {path.name}: {reason}")


def _grown(fill: Callable[[Any, int], int]) -> str:
    """Read a text of unknown length: ask, grow, ask again."""
    buffer = ctypes.create_string_buffer(256)
    needed = fill(buffer, len(buffer))
    if needed >= len(buffer):
        buffer = ctypes.create_string_buffer(needed + 1)
        fill(buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")
