"""Caches of every kind: which way back is proven, and that none is believed unproven."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from localspec.core.tokens import Tokens, sync
from localspec.engine import Context, ContextOptions, Interrupted, Model
from localspec.engine.checkpoints import Checkpoints
from localspec.engine.forgetting import Forgetting, Way
from localspec.engine.shape import Rollback
from localspec.errors import OptionError
from tests.models import write_llama, write_mamba, write_window
from tests.models_caches import write_jamba, write_lfm2, write_moe, write_qwen35

Write = Callable[..., Path]
SNAPSHOTS = (Way.SNAPSHOTS, Way.CHECKPOINTS)
STATEFUL = [write_mamba, write_jamba, write_lfm2, write_qwen35]


def ids(count: int, *, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(5, 300, count).astype(np.int32)


def options(*, snapshots: int = 8, **changes: object) -> ContextOptions:
    return ContextOptions(
        n_ctx=128,
        threads=1,
        rollback=Rollback(snapshots=snapshots, **changes),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("write", "snapshots", "ways"),
    [
        (write_llama, 8, (Way.REMOVAL,)),
        (write_moe, 8, (Way.REMOVAL,)),
        (write_window, 8, (Way.REMOVAL,)),
        (write_mamba, 8, (Way.CHECKPOINTS,)),
        (write_jamba, 8, (Way.CHECKPOINTS,)),
        (write_lfm2, 8, SNAPSHOTS),
        (write_qwen35, 8, SNAPSHOTS),
        (write_qwen35, 0, (Way.CHECKPOINTS,)),
    ],
)
def test_the_fastest_way_that_works_is_found_by_trying(
    tmp_path: Path, write: Write, snapshots: int, ways: tuple[Way, ...]
) -> None:
    """H01 H03: before anyone relies on it."""
    with (
        Model.load(write(tmp_path / "m.gguf")) as model,
        Context(model, options(snapshots=snapshots)) as context,
    ):
        assert context.forgetting.ways == ways
        assert len(context.tokens) == 0
        assert (context.passes, context.engine_s) == (0, 0)


@pytest.mark.parametrize("capacity", [2, 3])
def test_the_smallest_contexts_are_tried_too(tiny_model: Model, capacity: int) -> None:
    with Context(tiny_model, ContextOptions(n_ctx=capacity)) as context:
        assert context.way is Way.REMOVAL


def test_ordinary_models_pay_three_short_passes(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    monkeypatch.setattr(Forgetting, "after_pass", lambda _self, count: passes.append(count))
    with Context(tiny_model, ContextOptions(n_ctx=64)):
        assert passes == [1, 2, 2]


def test_a_removal_that_is_only_claimed_is_not_believed(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H01: the engine says yes and does nothing."""

    def claims(self: Forgetting, _length: int) -> bool:
        return Way.REMOVAL in self.ways

    monkeypatch.setattr(Forgetting, "_exactly", claims)
    with Context(tiny_model, ContextOptions(n_ctx=128)) as context:
        assert context.forgetting.ways == (Way.CHECKPOINTS,)
        rejected_and_repeated(context)


@pytest.mark.parametrize("write", STATEFUL)
def test_a_state_whose_removal_is_only_claimed_is_not_believed(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H01: positions go back, the state does not."""
    monkeypatch.setattr(Forgetting, "_exactly", lambda _self, _length: True)
    monkeypatch.setattr(Checkpoints, "restore", lambda _self, length: length)
    with Model.load(write(tmp_path / "m.gguf")) as model, Context(model, options()) as context:
        assert context.forgetting.ways == (Way.READING_AGAIN,)


def test_copies_that_are_not_put_back_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoints, "restore", lambda _self, _length: 0)
    with (
        Model.load(write_mamba(tmp_path / "m.gguf")) as model,
        Context(model, options()) as context,
    ):
        assert context.way is Way.READING_AGAIN
        assert context.rewind(0) == 0
        history = ids(12)
        expected = context.extend(history, 1).copy()
        assert context.rewind(11) == 0
        np.testing.assert_allclose(sync(context, history, 1), expected, atol=1e-3)


def test_a_cache_that_does_not_even_empty_itself_has_no_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Forgetting, "rewind", lambda _self, length: length)
    with (
        Model.load(write_mamba(tmp_path / "m.gguf")) as model,
        Context(model, options()) as context,
    ):
        assert context.way is Way.NONE


def rejected_and_repeated(context: Context) -> None:
    """Guess, reject at every place, go on; each time the logits are those of a fresh cache."""
    history, draw = ids(20), np.random.default_rng(4)
    context.extend(history, 0)
    for _ in range(25):
        guesses = ids(int(draw.integers(1, 6)), seed=int(draw.integers(1000)))
        sync(context, np.concatenate([history, guesses]), len(guesses) + 1)
        accepted = int(draw.integers(0, len(guesses) + 1))
        history = np.concatenate([history, guesses[:accepted], draw.integers(5, 300, 1)])
        history = history.astype(np.int32)
    found = sync(context, history, 1).copy()
    context.rewind(0)
    np.testing.assert_allclose(found, context.extend(history, 1), atol=2e-2)


@pytest.mark.parametrize("write", STATEFUL)
@pytest.mark.parametrize("snapshots", [0, 2, 8])
@pytest.mark.parametrize("on_device", [False, True])
def test_after_any_rejections_the_logits_are_those_of_a_fresh_cache(
    tmp_path: Path, write: Write, snapshots: int, on_device: bool
) -> None:
    """H04: also deeper than the snapshots go, and with the copy left on the device."""
    with (
        Model.load(write(tmp_path / "m.gguf")) as model,
        Context(model, options(snapshots=snapshots, on_device=on_device)) as context,
    ):
        rejected_and_repeated(context)


@pytest.mark.parametrize("write", STATEFUL)
def test_a_draft_goes_back_to_any_of_its_own_guesses(tmp_path: Path, write: Write) -> None:
    with (
        Model.load(write(tmp_path / "m.gguf")) as model,
        Context(model, options(guessing=True)) as context,
    ):
        history = ids(20)
        context.extend(history, 0)
        for guess in ids(8, seed=3):
            context.extend(np.array([guess], np.int32), 1)
        for length in (27, 24, 21):
            assert context.rewind(length) == length
        expected = context.extend(ids(1), 1).copy()
        truth = np.concatenate([history, ids(8, seed=3)[:1], ids(1)])
        context.rewind(0)
        np.testing.assert_allclose(context.extend(truth, 1), expected, atol=2e-2)


def test_rejecting_again_and_again_does_not_read_ever_more(tmp_path: Path) -> None:
    """A copy moves along once enough tokens would be read again beside the guesses."""
    with (
        Model.load(write_mamba(tmp_path / "m.gguf")) as model,
        Context(model, options()) as context,
    ):
        history = ids(20)
        context.extend(history, 0)
        behind = []
        for step in range(40):
            sync(context, np.concatenate([history, ids(3, seed=step)]), 4)
            history = np.concatenate([history, ids(1, seed=900 + step)])
            behind.append(len(history) - 1 - context.rewind(len(history) - 1))
            sync(context, history, 1)
        assert max(behind) <= 6


def test_an_old_snapshot_is_never_taken_for_one_of_the_last_pass(tmp_path: Path) -> None:
    """The engine would agree and give a state of another pass."""
    with (
        Model.load(write_qwen35(tmp_path / "m.gguf")) as model,
        Context(model, options(snapshots=8)) as context,
    ):
        context.extend(ids(20), 0)
        for step in range(5):
            context.extend(ids(1, seed=step), 1)
        assert context.rewind(22) == 20  # the copy where the prompt ended
        assert context.tokens.tolist() == ids(20).tolist()


def test_an_edited_turn_goes_back_to_where_its_prompt_ended(tmp_path: Path) -> None:
    """H06: recurrent models keep a copy at the end of each prompt."""
    with (
        Model.load(write_mamba(tmp_path / "m.gguf")) as model,
        Context(model, options()) as context,
    ):
        for length in (10, 30, 50):
            context.extend(ids(60)[len(context.tokens) : length], 0)
            context.extend(ids(60)[length : length + 5], 1)
        assert context.rewind(48) == 30
        assert context.rewind(25) == 10
        assert context.rewind(9) == 0


def test_copies_stay_within_the_bytes_allowed(tmp_path: Path) -> None:
    """H10: and the last one stays even if it alone is larger."""
    with Model.load(write_mamba(tmp_path / "m.gguf")) as model:
        with Context(model, options(guessing=True)) as context:
            context.extend(ids(5), 0)
            copies = context.forgetting.checkpoints
            assert copies is not None
            one = copies.bytes
        for allowed, most in ((10, one), (3 * one, 3 * one)):
            with Context(model, options(guessing=True, checkpoint_bytes=allowed)) as context:
                copies = context.forgetting.checkpoints
                assert copies is not None
                for step in range(30):
                    context.extend(ids(2, seed=step), step % 2)
                    assert copies.bytes <= most
                assert copies.lengths


def test_a_stopped_pass_leaves_a_recurrent_cache_that_is_right(tmp_path: Path) -> None:
    """K02: what was read half-way is not believed."""

    class Now:
        def is_set(self) -> bool:
            return True

    with (
        Model.load(write_mamba(tmp_path / "m.gguf")) as model,
        Context(model, ContextOptions(n_ctx=512, threads=1)) as context,
    ):
        context.extend(ids(40), 0)
        context.cancel = Now()
        with pytest.raises(Interrupted):
            context.extend(ids(300), 1)
        context.cancel = None
        assert context.tokens.tolist() == ids(40).tolist()
        found = context.extend(ids(3, seed=2), 1).copy()
        context.rewind(0)
        context.extend(ids(40), 0)
        np.testing.assert_allclose(found, context.extend(ids(3, seed=2), 1), atol=1e-3)


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
