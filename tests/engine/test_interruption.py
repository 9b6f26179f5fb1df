"""Stopping and failing in the middle: cache and tokens agree afterwards."""

import signal
import threading

import numpy as np
import pytest

from localspec.core.tokens import Tokens
from localspec.engine import Context, ContextOptions, DecodeFailed, Interrupted, Model


def ids(count: int, *, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(5, 300, count).astype(np.int32)


def test_a_set_flag_stops_a_long_prefill_and_leaves_a_true_cache(tiny_model: Model) -> None:
    """K01: what was decoded before stays, what was under way is gone."""
    with Context(tiny_model, ContextOptions(n_ctx=2200)) as context:
        context.extend(ids(10), 1)
        flag = threading.Event()
        flag.set()
        context.cancel = flag
        with pytest.raises(Interrupted):
            context.extend(ids(2000), 1)
        assert context.tokens.tolist() == ids(10).tolist()
        flag.clear()
        stopped = context.extend(ids(50, seed=4), 1).copy()
    with Context(tiny_model, ContextOptions(n_ctx=2200)) as fresh:
        fresh.extend(ids(10), 1)
        np.testing.assert_array_equal(stopped, fresh.extend(ids(50, seed=4), 1))


def test_a_flag_set_between_slices_keeps_the_slices_before(tiny_model: Model) -> None:
    """K01."""

    class After:
        def __init__(self, context: Context) -> None:
            self.context = context

        def is_set(self) -> bool:
            return len(self.context.tokens) >= 512

    with Context(tiny_model, ContextOptions(n_ctx=2200)) as context:
        context.cancel = After(context)
        with pytest.raises(Interrupted):
            context.extend(ids(2000), 1)
        assert context.tokens.tolist() == ids(2000)[:512].tolist()


def test_ctrl_c_in_a_long_prefill_ends_it(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K04: the interrupt arrives while the engine computes, and is neither lost nor printed."""
    with Context(tiny_model, ContextOptions(n_ctx=2200)) as context:

        class Press:
            def is_set(self) -> bool:
                signal.raise_signal(signal.SIGINT)
                return False

        context.cancel = Press()
        with pytest.raises(KeyboardInterrupt):
            context.extend(ids(2000), 1)
        context.cancel = None
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert len(context.tokens) == 0
        assert context.extend(ids(40), 1).shape == (1, 384)


def test_an_interrupt_anywhere_in_a_pass_leaves_cache_and_tokens_agreeing(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K01: as if Ctrl-C came between the decode and the book-keeping."""
    history = ids(20)
    with Context(tiny_model, ContextOptions(n_ctx=64)) as context:
        context.extend(history[:10], 1)

        def interrupted(_context: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(context, "_synchronize", interrupted)
        with pytest.raises(KeyboardInterrupt):
            context.extend(ids(6, seed=3), 6)
        monkeypatch.undo()
        again = context.extend(history[10:], 1).copy()
    with Context(tiny_model, ContextOptions(n_ctx=64)) as fresh:
        fresh.extend(history[:10], 1)
        np.testing.assert_array_equal(again, fresh.extend(history[10:], 1))


def test_a_failing_engine_is_one_clear_error_and_the_cache_survives(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G06: the next pass works."""
    with Context(tiny_model, ContextOptions(n_ctx=64)) as context:
        context.extend(ids(5), 1)
        monkeypatch.setattr(context, "_decode", lambda *_: -3)
        with pytest.raises(DecodeFailed, match="could not decode"):
            context.extend(ids(2), 1)
        monkeypatch.undo()
        assert len(context.tokens) == 5
        assert context.extend(ids(2), 1).shape == (1, 384)
