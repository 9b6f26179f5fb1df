"""Sliding windows, kept whole or short: no rewind loses what the window needs."""

from pathlib import Path

import numpy as np
import pytest

from localspec.core.tokens import Tokens
from localspec.engine import Context, ContextOptions, Model
from localspec.engine.forgetting import Way
from tests.models import write_window


def ids(count: int, *, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(5, 300, count).astype(np.int32)


@pytest.mark.parametrize("swa_full", [True, False])
def test_rewinds_in_a_window_model_never_lose_what_the_window_needs(
    tmp_path: Path, swa_full: bool
) -> None:
    """B01, H07: a whole window takes all back; a short one goes back to the end of a prompt."""
    history = ids(600)
    with Model.load(write_window(tmp_path / "w.gguf")) as model:
        shape = ContextOptions(n_ctx=1024, batch=64, swa_full=swa_full)
        with Context(model, shape) as fresh:
            expected = fresh.extend(history[:200], 1).copy()
        with Context(model, shape) as context:
            context.extend(history[:150], 0)
            context.extend(history[150:], 1)
            kept = context.rewind(199)
            assert kept == (199 if swa_full else 150)
            np.testing.assert_allclose(context.extend(history[kept:200], 1), expected, atol=2e-2)


@pytest.mark.parametrize("swa_full", [True, False])
def test_short_rewinds_in_a_window_model_are_kept_each_round(
    tmp_path: Path, swa_full: bool
) -> None:
    """B01 H08: a draft's length never outruns the short cache's spare room."""
    with Model.load(write_window(tmp_path / "w.gguf")) as model:
        shape = ContextOptions(n_ctx=1024, batch=64, swa_full=swa_full)
        with Context(model, shape) as context:
            assert context.way is Way.REMOVAL
            context.extend(ids(10), 1)
            history = ids(10)
            for step in range(120):
                context.extend(ids(8, seed=step), 8)
                held = len(context.tokens)
                assert context.rewind(held - 3) == held - 3
                history = np.concatenate([history, ids(8, seed=step)[:5]])
            found = context.extend(ids(1), 1).copy()
            context.rewind(0)
            context.extend(history, 0)
            np.testing.assert_allclose(found, context.extend(ids(1), 1), atol=2e-2)
