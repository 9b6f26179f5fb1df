"""Caches that cannot forget only their end: recurrent states and slid windows."""

from pathlib import Path

import numpy as np
import pytest

from localspec.core.tokens import Tokens, sync
from localspec.engine import Context, ContextOptions, Model
from localspec.errors import OptionError
from tests.models import write_mamba, write_window


def ids(count: int, *, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(5, 300, count).astype(np.int32)


def test_a_recurrent_model_says_that_it_cannot_rewind(tmp_path: Path) -> None:
    """H01: found out by trying, before anyone relies on it."""
    with (
        Model.load(write_mamba(tmp_path / "m.gguf")) as model,
        Context(model, ContextOptions(n_ctx=64)) as context,
    ):
        assert not context.can_rewind
        history = ids(12)
        expected = context.extend(history, 1).copy()
        assert context.rewind(11) == 0
        assert len(context.tokens) == 0
        np.testing.assert_allclose(sync(context, history, 1), expected, atol=1e-3)


def test_a_recurrent_model_has_no_strict_width(tmp_path: Path) -> None:
    with (
        Model.load(write_mamba(tmp_path / "m.gguf")) as model,
        pytest.raises(OptionError, match="strict width"),
    ):
        Context(model, ContextOptions(n_ctx=64, strict_rows=8))


@pytest.mark.parametrize("swa_full", [True, False])
def test_rewinds_in_a_window_model_never_lose_what_the_window_needs(
    tmp_path: Path, swa_full: bool
) -> None:
    """B01, H07: with the full cache every rewind stays; with the small one it may start anew."""
    history = ids(600)
    with Model.load(write_window(tmp_path / "w.gguf")) as model:
        options = ContextOptions(n_ctx=1024, batch=64, swa_full=swa_full)
        with Context(model, options) as fresh:
            expected = fresh.extend(history[:200], 1).copy()
        with Context(model, options) as context:
            context.extend(history, 1)
            kept = context.rewind(199)
            assert kept == (199 if swa_full else 0)
            np.testing.assert_allclose(context.extend(history[kept:200], 1), expected, atol=2e-2)


@pytest.mark.parametrize("swa_full", [True, False])
def test_short_rewinds_in_a_window_model_are_kept_each_round(
    tmp_path: Path, swa_full: bool
) -> None:
    """B01: a draft's length never outruns the small cache's spare room."""
    with Model.load(write_window(tmp_path / "w.gguf")) as model:
        options = ContextOptions(n_ctx=1024, batch=64, swa_full=swa_full)
        with Context(model, options) as context:
            context.extend(ids(10), 1)
            for step in range(60):
                context.extend(ids(8, seed=step), 8)
                held = len(context.tokens)
                assert context.rewind(held - 3) == held - 3
