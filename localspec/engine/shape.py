"""The shape of a context, checked and asked of the engine.

Knows what llama.cpp must be told so that no later pass can exceed it. Does not decode.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from localspec.engine import library, log
from localspec.engine.attention import BATCH, Attention, Place, is_plain, pass_width
from localspec.engine.checkpoints import MOST_BYTES
from localspec.engine.model import Model
from localspec.engine.placement import gpu_layers
from localspec.engine.threads import default_threads
from localspec.errors import OptionError, PairRefused

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")

# The matrix kernels take four rows at a time and the rest singly, with other rounding: a width of
# 5 gave a row other bits in its fifth place (Gemma Q4_K_M), multiples of 4 never did.
STRICT_UNIT = 4

_BF16 = 30  # GGML_TYPE_BF16, which the binding does not name
_FLASH = {"auto": -1, "off": 0, "on": 1}


@dataclass(frozen=True)
class Rollback:
    """What a cache that cannot just remove its end keeps, so that tokens can be taken back.

    `snapshots` states of the last tokens lie beside the state itself, where the engine can do so.
    `guessing` says that the sequence reads its own guesses one by one, as a draft model does.
    `on_device` leaves copies of the state where it is; None does so if there are devices.
    """

    snapshots: int = 0
    guessing: bool = False
    checkpoint_bytes: int = MOST_BYTES
    on_device: bool | None = None


@dataclass(frozen=True)
class ContextOptions:
    """The shape of a context.

    `max_rows` is the most rows of logits one pass may be asked for. `strict_rows` makes every pass
    exactly that wide, so that the logits depend on the history alone. `swa_full` keeps a
    sliding-window model's whole history, which costs as much memory as a model without a window
    and makes every rewind exact; without it a rewind beyond the window goes back to a copy. With
    several `sequences`, `n_ctx` and `max_rows` are those of each. `flash_attn`: see `attention`.
    """

    n_ctx: int
    batch: int = BATCH
    threads: int | None = None
    threads_batch: int | None = None
    kv_type_k: str = "f16"
    kv_type_v: str = "f16"
    strict_rows: int | None = None
    max_rows: int = 32
    offload_kqv: bool = True
    swa_full: bool = True
    flash_attn: Attention = "auto"
    rollback: Rollback = field(default_factory=Rollback)
    sequences: int = 1


def strict_width(rows: int) -> int:
    """Give the narrowest strict width that holds `rows` rows."""
    return max(1, -(-rows // STRICT_UNIT)) * STRICT_UNIT


def attends_plainly(model: Model, options: ContextOptions) -> bool:
    """Say whether a context attends by plain products instead of flash attention."""
    on_processor = gpu_layers(model.options) == 0
    return is_plain(options.flash_attn, Place(on_processor, options.kv_type_v, model.n_swa))


def width_of(model: Model, options: ContextOptions) -> int:
    """Give the most tokens of one pass of a context."""
    if options.strict_rows:
        return options.strict_rows
    rows = options.max_rows * options.sequences
    plain = attends_plainly(model, options)
    return min(pass_width(options.batch, rows, plain=plain), options.n_ctx)


def create(
    model: Model,
    options: ContextOptions,
    width: int,
    *,
    others: Mapping[str, object] | None = None,
) -> int:
    """Allocate a context whose passes have at most `width` rows; give the engine's pointer.

    `others` are further fields of the engine's own parameters, by name.
    Raises: OptionError for options that contradict the model, PairRefused when the engine cannot.
    """
    _check_options(model, options)
    params = _params(model, options, width)
    for name, value in (others or {}).items():
        setattr(params, name, value)
    with log.captured() as lines:
        handle: int | None = library.load().llama_init_from_model(model.handle, params)
    if not handle:
        reason = next((line for line in reversed(lines) if "failed" in line or "error" in line), "")
        raise PairRefused(
            f"no context of {options.n_ctx} tokens for {model.path.name}: "
            f"{reason.strip() or 'the engine gives no reason'}",
            "a smaller --ctx or another cache type may help",
        )
    return handle


def _check_options(model: Model, options: ContextOptions) -> None:
    for kind in (options.kv_type_k, options.kv_type_v):
        if kind not in CACHE_TYPES:
            raise OptionError(f"no cache type '{kind}'", f"one of: {', '.join(CACHE_TYPES)}")
    if options.n_ctx < 2 or options.batch < 1 or options.max_rows < 1:
        raise OptionError(
            f"a context of {options.n_ctx} tokens is too small", "give at least 2; 4096 is usual"
        )
    if options.strict_rows is None:
        return
    if options.strict_rows < 1 or options.strict_rows % STRICT_UNIT:
        wider = strict_width(options.strict_rows)
        raise OptionError(
            f"strict rows come in multiples of {STRICT_UNIT}, not {options.strict_rows}",
            f"--strict-rows {wider}",
        )
    if model.is_recurrent or model.is_hybrid:
        raise OptionError(f"{model.path.name} keeps a state, so its passes have no strict width")


def _params(model: Model, options: ContextOptions, width: int) -> Any:
    binding = library.load()
    params = binding.llama_context_default_params()
    threads = options.threads or default_threads()
    strict = options.strict_rows is not None
    params.n_ctx = options.n_ctx * options.sequences + (width if strict else 0)
    params.n_batch = params.n_ubatch = width
    params.n_seq_max = 2 if strict else options.sequences
    params.kv_unified = True
    # The engine reserves vocabulary x outputs floats, so ask for no more rows than anyone reads.
    rows = options.max_rows * options.sequences
    params.n_outputs_max = width if strict else min(rows, width)
    params.n_threads = threads
    params.n_threads_batch = options.threads_batch or threads
    params.type_k = _cache_type(options.kv_type_k)
    params.type_v = _cache_type(options.kv_type_v)
    plain = attends_plainly(model, options)
    params.flash_attn_type = _FLASH["off" if plain else options.flash_attn]
    params.offload_kqv, params.no_perf = options.offload_kqv, True
    params.swa_full = not window_of(model, options)
    params.n_rs_seq = options.rollback.snapshots
    return params


def window_of(model: Model, options: ContextOptions) -> int:
    """Give the length of a window that slides in a short cache; 0 when all of it is kept.

    A hybrid's is always kept whole: the engine does not say what such a window has lost.
    """
    return 0 if options.swa_full or model.is_hybrid else model.n_swa


def _cache_type(name: str) -> int:
    return int(getattr(library.load(), f"GGML_TYPE_{name.upper()}", _BF16))
