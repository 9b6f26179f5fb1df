"""Hidden states of a target, kept by position for whoever guesses from them.

Knows where llama.cpp leaves the states of a pass, and which models leave any. A `Context` calls
its taps around every pass; rows of tokens that were taken back are never given out. Does not know
who reads them, or what a guess is.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from localspec.core.tokens import Tokens
from localspec.engine import library, staging
from localspec.engine.model import Model
from localspec.engine.window import States, Window
from localspec.errors import PairRefused

ROOM_BYTES = 32 << 20

# Architectures whose graphs mark what goes into each block (`t_layer_inp` in llama.cpp's
# src/models, seen in llama-cpp-python 0.3.36); a tap on any other aborts the process.
_MARKED = frozenset(
    {
        *("bailingmoe3", "deepseek4", "gemma4", "gpt-oss", "hunyuan-dense", "hunyuan_vl", "lfm2"),
        *("llama", "mimo2", "minimax-01", "minimax-m2", "muse-glimmer", "nanbeige", "nemotron_h"),
        *("nemotron_h_moe", "qwen3", "qwen35", "qwen35moe", "qwen3moe", "qwen3next"),
    }
)


class Watched(Protocol):
    """What a tap needs of the context that it watches."""

    @property
    def model(self) -> Model:
        """Give the loaded model."""
        ...

    @property
    def handle(self) -> int:
        """Give the engine's pointer."""
        ...

    @property
    def tokens(self) -> Tokens:
        """Give the ids that the cache holds."""
        ...

    @property
    def width(self) -> int:
        """Give the most rows of one pass."""
        ...

    def rewind(self, length: int) -> int:
        """Drop everything from `length` on."""
        ...

    def watch(self, tap: "Tap") -> None:
        """Tell a tap about every pass from now on."""
        ...


class Source(Protocol):
    """Where a kind of state is found after a pass."""

    @property
    def width(self) -> int:
        """Give the numbers in one row."""
        ...

    def before(self, count: int, rows: int) -> bool:
        """Make ready for a pass of `count` tokens, `rows` with logits; say if it leaves states."""
        ...

    def copy(self, place: States) -> None:
        """Copy the states of the pass, one row a token."""
        ...


class Tap:
    """The states of one kind behind the tokens of a context, kept by position.

    Call `reader`, when set, before rows are lost for want of room that nobody has `read` yet, with
    the position up to which there are states.
    `lasting` states are needed behind any token that is kept, so a context that lacks one reads
    that token again.
    """

    def __init__(self, context: Watched, source: Source, *, room: int, lasting: bool) -> None:
        self._context, self._source = context, source
        self._window = Window(source.width, room)
        self._lasting, self._leaves = lasting, False
        self._read = 0
        self.reader: Callable[[int], None] | None = None

    @property
    def tokens(self) -> Tokens:
        """Give the ids that the states belong to; borrowed until the next change."""
        return self._context.tokens

    @property
    def width(self) -> int:
        """Give the numbers in one row."""
        return self._source.width

    def rows(self, begin: int, end: int) -> States | None:
        """Give the states of the tokens from `begin` to before `end`; None when one is missing.

        Shapes: (tokens, width), borrowed until the next pass.
        """
        return self._window.rows(begin, end) if end <= len(self._context.tokens) else None

    def read(self, position: int) -> None:
        """Hear that the states before a position have been read, and may be lost."""
        self._read = position

    def reach(self, length: int) -> int:
        """Give the length to rewind to, so that the state behind the last token is known."""
        known = not self._lasting or self._window.first < length <= self._window.end
        return length if known else max(length - 1, 0)

    def before(self, count: int, rows: int) -> None:
        """Hear of a pass to come; called by the context."""
        self._leaves = self._source.before(count, rows)

    def after(self, start: int, count: int) -> None:
        """Take what a pass left whose tokens stand at `start` and after; called by the context."""
        window = self._window
        if not self._leaves:
            window.cut(start)
            return
        self._read = min(self._read, start)
        lost = start + count - window.room
        if self.reader is not None and lost > max(self._read, window.first):
            self.reader(start)
        self._source.copy(window.place(start, count))


def layer_tap(context: Watched, layers: Sequence[int]) -> Tap:
    """Keep what goes into some blocks, for every token: what an EAGLE-3 head reads.

    Shapes: a row is the states of `layers` in that order, one behind the other.
    Raises: PairRefused when this engine, or this model in it, does not show them.
    """
    return _every(context, _LayerInputs(context, layers))


def nextn_tap(context: Watched) -> Tap:
    """Keep the state that the target's own prediction layers read, for every token.

    Raises: PairRefused when this engine does not show it.
    """
    return _every(context, _NextnStates(context))


def hidden_tap(context: Watched) -> Tap:
    """Keep the last hidden state, from which the logits are made, of the newest tokens.

    Only a pass with logits for all of its tokens leaves it, as every pass that judges a draft
    does: the engine would otherwise compute logits for a whole prompt.
    """
    tap = Tap(context, _LastHidden(context), room=2 * context.width, lasting=False)
    context.watch(tap)
    return tap


def _every(context: Watched, source: Source) -> Tap:
    """Keep some dozen megabytes, and two passes at least; what was read before is read again."""
    room = max(2 * context.width, ROOM_BYTES // (4 * source.width))
    tap = Tap(context, source, room=room, lasting=True)
    context.watch(tap)
    context.rewind(0)
    return tap


class _LayerInputs:
    """What went into some blocks, of every token."""

    def __init__(self, context: Watched, layers: Sequence[int]) -> None:
        _check_marked(context.model, layers)
        self._context, self._layers = context, tuple(layers)
        self._get = staging.function("llama_get_embeddings_layer_inp")
        enable = staging.function("llama_set_embeddings_layer_inp")
        for layer in layers:
            enable(context.handle, layer, True)
        self._views = _Views(context.model.n_embd)
        self.width = len(self._layers) * context.model.n_embd

    def before(self, count: int, rows: int) -> bool:
        """Say that every pass leaves them."""
        del count, rows
        return True

    def copy(self, place: States) -> None:
        """Put the layers beside each other."""
        each = self._context.model.n_embd
        for i, layer in enumerate(self._layers):
            address = self._get(self._context.handle, layer)
            place[:, i * each : (i + 1) * each] = self._views.at(address, len(place))


class _NextnStates:
    """What prediction layers read, of every token."""

    def __init__(self, context: Watched) -> None:
        self._context = context
        self._get = staging.function("llama_get_embeddings_nextn")
        staging.function("llama_set_embeddings_nextn")(context.handle, True, False)
        self.width = context.model.n_embd_out
        self._views = _Views(self.width)

    def before(self, count: int, rows: int) -> bool:
        """Say that every pass leaves them."""
        del count, rows
        return True

    def copy(self, place: States) -> None:
        """Copy them."""
        place[:] = self._views.at(self._get(self._context.handle), len(place))


class _LastHidden:
    """What the logits are made from, of the tokens that have logits."""

    def __init__(self, context: Watched) -> None:
        self._context = context
        self._get = library.llama("llama_get_embeddings", ctypes.c_void_p, ctypes.c_void_p)
        self.width = context.model.n_embd_out
        self._views = _Views(self.width)
        self._on = False

    def before(self, count: int, rows: int) -> bool:
        """Ask for the states where that costs nothing more."""
        wanted = count == rows
        if wanted is not self._on:
            library.load().llama_set_embeddings(self._context.handle, wanted)
            self._on = wanted
        return wanted

    def copy(self, place: States) -> None:
        """Copy them."""
        place[:] = self._views.at(self._get(self._context.handle), len(place))


class _Views:
    """The engine's rows as arrays, without a copy; building a view is slow, so it is kept."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._known: dict[tuple[int, int], States] = {}

    def at(self, address: int, count: int) -> States:
        """View `count` rows at an address."""
        view = self._known.get((address, count))
        if view is None:
            raw = (ctypes.c_float * (count * self._width)).from_address(address)
            view = np.ctypeslib.as_array(raw).reshape(count, self._width)
            self._known[address, count] = view
        return view


def _check_marked(model: Model, layers: Sequence[int]) -> None:
    if model.architecture not in _MARKED:
        raise PairRefused(
            f"not available in your engine: it does not show the inner states of a "
            f"{model.architecture} model",
            "take another drafter",
        )
    outside = [layer for layer in layers if not 0 <= layer < model.n_layer]
    if outside:
        raise PairRefused(
            f"the head reads what goes into block {outside[0]}, the target has {model.n_layer}",
            "the head was made for another model",
        )
