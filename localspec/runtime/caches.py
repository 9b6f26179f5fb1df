"""The caches of a run: how long they are, and how each takes a rejected guess back.

Knows headers, settings and what a cache proved when it was made. Loads nothing.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localspec.core.tokens import Tokens
from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.engine.attention import BATCH, Place, is_plain, pass_width
from localspec.engine.forgetting import Way
from localspec.engine.placement import gpu_layers
from localspec.errors import PairRefused
from localspec.pairs.header import Header
from localspec.pairs.memory import Load
from localspec.pairs.rollback import in_words, keeping
from localspec.pairs.shape import layers_of, window_of
from localspec.runtime.settings import Placement, RunSettings

DRAFT_ROWS = 1
DISAGREES = 0.9
_READ = 64
_TEXT = (
    "A short walk after lunch clears the head. Write a function that counts the words of a text "
    "and returns the five most frequent ones, sorted by how often they occur. The river was high "
    "that spring, and nobody had crossed it for a week."
)
USELESS = (Way.READING_AGAIN, Way.NONE)
_WHY = {
    Way.READING_AGAIN: "its cache forgets all or nothing, so each rejected guess would cost "
    "reading the whole text again",
    Way.NONE: "after a rejected guess its cache gives other logits than before",
}


def target_load(header: Header, settings: RunSettings, n_ctx: int) -> Load:
    """Say how the target is loaded; with strict width a window's history stays in order, whole."""
    load = _load(header, settings, settings.target, n_ctx=n_ctx, rows=settings.max_gamma + 1)
    return keeping(header, load, gamma=settings.max_gamma, whole=settings.strict)


def draft_load(header: Header, settings: RunSettings, n_ctx: int) -> Load:
    """Say how the draft is loaded; it takes back its own guesses, one by one."""
    load = _load(header, settings, settings.draft, n_ctx=n_ctx, rows=DRAFT_ROWS)
    return keeping(header, load, gamma=0)


def _load(
    header: Header, settings: RunSettings, placement: Placement, *, n_ctx: int, rows: int
) -> Load:
    """Say how long and wide a cache is, as the engine will settle it for this place."""
    on_processor = gpu_layers(ModelOptions(placement.gpu_layers, placement.device)) == 0
    window = window_of(header) if any(each.windowed for each in layers_of(header)) else 0
    plain = is_plain(settings.flash_attn, Place(on_processor, placement.kv, window))
    return Load(
        n_ctx,
        placement.kv,
        placement.kv,
        n_batch=pass_width(BATCH, rows, plain=plain),
        rows=rows,
        flash_attn=not plain,
    )


def can_speculate(context: Context) -> bool:
    """Tell whether a rejected guess is taken back for less than it could ever save."""
    return context.way not in USELESS


def why_not(context: Context) -> str:
    """Say why a file cannot be used for guessing."""
    return f"{context.model.path.name} cannot take a guess back: {_WHY[context.way]}"


def refuse_useless(context: Context) -> None:
    """Refuse a cache that cannot forget.

    Raises: PairRefused with the reason.
    """
    if not can_speculate(context):
        raise PairRefused(why_not(context), "--plain runs it without guesses")


def quantised_agreement(model: Model, options: ContextOptions) -> float:
    """Say how often a draft guesses the same with its cache as with an f16 one, over some text."""
    words = model.vocabulary.tokenize(_TEXT, special=False, bos=True)
    ids = np.resize(np.array(words, np.int32), _READ)
    plain = replace(options, kv_type_k="f16", kv_type_v="f16")
    guesses = [_guesses(model, each, ids) for each in (options, plain)]
    return float((guesses[0] == guesses[1]).mean())


def _guesses(model: Model, options: ContextOptions, ids: Tokens) -> NDArray[np.intp]:
    """Read a text half by half; give the likeliest id after each of the second half's."""
    rows = len(ids) // 2
    shape = replace(options, n_ctx=len(ids), max_rows=rows)
    with Context(model, shape) as context:
        context.extend(ids[:rows], 0)
        likeliest: NDArray[np.intp] = context.extend(ids[rows:], rows).argmax(axis=-1)
        return likeliest


def kept_words(context: Context, header: Header, load: Load) -> str:
    """Say what taking back costs where a cache cannot just remove; empty where it can."""
    words = in_words(header, load)
    if context.way is Way.REMOVAL and load.swa_full:
        return ""
    return f"{context.model.path.name} takes rejected guesses back by {context.way}: {words}"
