"""Heads that guess from a target's hidden states: EAGLE-3 files, and prediction layers (MTP).

Knows which pair of token and state stands where, in which order they are read, and how several
layers are chained. Does not know histories, laws or when to guess.

Source: llama.cpp's `common/speculative.cpp`, states `draft_eagle3` and `draft_mtp`.
"""

import ctypes

import numpy as np

from localspec.core.tokens import Logits, Tokens
from localspec.engine import staging
from localspec.engine.context import Context
from localspec.engine.headcache import PairCache
from localspec.engine.model import Model
from localspec.engine.shape import ContextOptions
from localspec.engine.window import States
from localspec.errors import PairRefused

_MTP_CONTEXT = 1  # LLAMA_CONTEXT_TYPE_MTP, which the binding does not name

# Architectures with a graph for prediction layers (`DECODER_MTP` in llama.cpp's src/models, seen
# in llama-cpp-python 0.3.36); those of the second set run several. Any other would abort.
_ONE_LAYER = frozenset(
    {
        *("bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "deepseek4", "glm-dsa"),
        *("glm4moe", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next"),
    }
)
_MORE_LAYERS = frozenset({"hy_v3", "mimo2", "step35"})


class Eagle3Head:
    """An EAGLE-3 head: at position P stand token P+1 and the encoded states of token P.

    Raises: PairRefused when this engine cannot run it.
    """

    first = 1
    """The first token that has a pair."""
    longest: int | None = None
    """The most tokens of one draft: here there is no limit."""

    def __init__(self, model: Model, target: Context, options: ContextOptions) -> None:
        self._cache = PairCache(model, target, options, 0)
        # `held`: the tokens whose pairs are in the cache with states of the target.
        self.held = self._end = 0
        self.capacity = options.n_ctx

    def read(self, begin: int, tokens: Tokens, states: States, *, guess: bool) -> Logits | None:
        """Read the pairs of `tokens`, which stand at `begin` and after; drop what stood there.

        `states` are the target's, of the tokens before each. With `guess` give the logits after
        the last one.
        Shapes: tokens (n,), states (n, width); logits (vocabulary,), borrowed until the next call.
        """
        cache, start = self._cache, begin - 1
        self.held = min(self.held, begin)
        cache.cut(start)
        encoded = cache.encode(states, start)
        cache.read(tokens, encoded.ctypes.data, start, guess=guess)
        self.held = begin + len(tokens)
        self._end = start + len(tokens)
        return cache.logits() if guess else None

    def step(self, token: int) -> Logits:
        """Give the logits after one more token, a guessed one, with the head's own state."""
        cache = self._cache
        cache.decode([token], cache.state(), self._end, output=True)
        self._end += 1
        return cache.logits()

    def close(self) -> None:
        """Free the cache."""
        self._cache.close()


class MtpHead:
    """Prediction layers: at position P stand token P and the state of token P-1, or zeros.

    One layer goes on from its own state. Of several, each guesses one token further, and reads
    the whole draft again into its own part of the cache.
    Raises: PairRefused when this engine cannot run them.
    """

    first = 0

    def __init__(self, model: Model, target: Context, options: ContextOptions) -> None:
        layers = prediction_layers(model)
        self._cache = PairCache(model, target, options, _MTP_CONTEXT)
        self._offset = staging.function("llama_set_nextn_layer_offset")
        self._layers = layers
        self.longest = layers if layers > 1 else None
        self.held = self._end = self._head = 0
        self.capacity = options.n_ctx
        self._chain: list[int] = []
        self._states = np.zeros((layers + 1, self._cache.width), np.float32)

    def read(self, begin: int, tokens: Tokens, states: States, *, guess: bool) -> Logits | None:
        """Read pairs, as `Eagle3Head.read` does; the state before token 0 is not asked for."""
        if begin == 0:
            states = np.concatenate([np.zeros((1, self._cache.width), np.float32), states])
        self.held = min(self.held, begin)
        states = np.ascontiguousarray(states)
        if self._layers > 1:
            return self._read_chained(begin, tokens, states, guess=guess)
        cache = self._cache
        cache.cut(begin)
        cache.read(tokens, states.ctypes.data, begin, guess=guess)
        self.held = self._end = begin + len(tokens)
        return cache.logits() if guess else None

    def step(self, token: int) -> Logits:
        """Give the logits after one more token, a guessed one."""
        cache = self._cache
        if self._layers > 1:
            self._chain.append(token)
            self._keep_state(len(self._chain) - 1, cache.state())
            return self._run_chain()
        cache.decode([token], cache.state(), self._end, output=True)
        self._end += 1
        return cache.logits()

    def _read_chained(
        self, begin: int, tokens: Tokens, states: States, *, guess: bool
    ) -> Logits | None:
        """Read the pairs but for the last into every layer; the last one starts a chain."""
        count = len(tokens) - guess
        for head in range(self._layers):
            self._cache.cut(begin)
            self._offset(self._cache.handle, head)
            if count:
                self._cache.decode(tokens[:count], states.ctypes.data, begin, output=False)
        self.held = self._end = begin + count
        if not guess:
            return None
        self._chain, self._head = [int(tokens[-1])], 0
        self._keep_state(0, states[count:].ctypes.data)
        return self._run_chain()

    def _run_chain(self) -> Logits:
        """Let the next layer read the draft so far, in its own part of the cache."""
        cache = self._cache
        cache.cut(self._end)
        self._offset(cache.handle, self._head)
        cache.decode(self._chain, self._states.ctypes.data, self._end, output=True)
        self._head += 1
        return cache.logits()

    def _keep_state(self, index: int, address: int) -> None:
        ctypes.memmove(self._states[index:].ctypes.data, address, 4 * self._cache.width)

    def close(self) -> None:
        """Free the cache."""
        self._cache.close()


def runs_prediction_layers(architecture: str, layers: int) -> bool:
    """Tell whether the engine has a graph for so many prediction layers of an architecture."""
    return architecture in _MORE_LAYERS or (architecture in _ONE_LAYER and layers == 1)


def prediction_layers(model: Model) -> int:
    """Count the prediction layers of a model that this engine can run.

    Raises: PairRefused when there is none, or the engine has no graph for them.
    """
    layers, architecture = model.n_layer_nextn, model.architecture
    if not (layers and model.options.prediction_layers):
        missing = "did not load its prediction layers" if layers else "carries no prediction layer"
        raise PairRefused(
            f"{model.path.name} {missing}",
            "drafter 'mtp' needs a file with them, and is named at the start",
        )
    if runs_prediction_layers(architecture, layers):
        return layers
    raise PairRefused(
        f"not available in your engine: it cannot run {layers} prediction "
        f"layer{'s' * (layers > 1)} of a {architecture} model",
        "take another drafter",
    )
