"""Hidden states of the target: by position, of the tokens held, and never wrong ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from localspec.core.tokens import Tokens
from localspec.engine import Context, ContextOptions, Model, staging
from localspec.engine.features import hidden_tap, layer_tap, nextn_tap
from localspec.engine.window import Window
from localspec.errors import PairRefused
from tests.models import write_window


def ids(count: int, *, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(5, 300, count).astype(np.int32)


@pytest.fixture
def context(tiny_model: Model) -> Iterator[Context]:
    with Context(tiny_model, ContextOptions(n_ctx=128, batch=16)) as opened:
        yield opened


def embeddings(model: Model, tokens: Tokens) -> np.ndarray:
    """What goes into the first block is the token's own row."""
    import gguf

    reader = gguf.GGUFReader(model.path)
    table = next(t for t in reader.tensors if t.name == "token_embd.weight").data
    return np.asarray(table)[tokens]


def test_what_goes_into_the_first_block_is_each_tokens_embedding(
    context: Context, tiny_model: Model
) -> None:
    tap = layer_tap(context, (0, 2))
    tokens = ids(40)
    context.extend(tokens, 1)
    rows = tap.rows(0, 40)
    assert rows is not None
    assert rows.shape == (40, 2 * tiny_model.n_embd)
    np.testing.assert_allclose(rows[:, : tiny_model.n_embd], embeddings(tiny_model, tokens))


def test_states_do_not_depend_on_how_tokens_were_grouped(context: Context) -> None:
    tap = layer_tap(context, (1, 3))
    tokens = ids(40)
    context.extend(tokens, 1)
    whole = np.array(tap.rows(0, 40))
    context.rewind(0)
    for token in tokens:
        context.extend(np.array([token], np.int32), 1)
    np.testing.assert_allclose(tap.rows(0, 40), whole, atol=2e-2)


def test_states_of_tokens_taken_back_are_never_given_out(context: Context) -> None:
    tap = layer_tap(context, (1,))
    context.extend(ids(20), 1)
    context.rewind(12)
    assert tap.rows(0, 13) is None
    assert tap.rows(0, 12) is not None
    other = ids(5, seed=1)
    context.extend(other, 5)
    fresh = np.array(tap.rows(12, 17))
    context.rewind(0)
    context.extend(np.concatenate([ids(20)[:12], other]), 1)
    np.testing.assert_allclose(tap.rows(12, 17), fresh, atol=2e-2)


def test_taps_change_no_logits(tiny_model: Model, context: Context) -> None:
    tokens = ids(30)
    plain = np.array(context.extend(tokens, 4))
    with Context(tiny_model, ContextOptions(n_ctx=128, batch=16)) as tapped:
        layer_tap(tapped, (0, 1, 3))
        hidden_tap(tapped)
        np.testing.assert_array_equal(tapped.extend(tokens, 4), plain)


def test_the_last_hidden_state_gives_the_logits(context: Context, tiny_model: Model) -> None:
    import gguf

    tap = hidden_tap(context)
    context.extend(ids(30), 1)
    assert tap.rows(29, 30) is None  # a prompt is read without logits, so nothing is left
    logits = np.array(context.extend(ids(5, seed=2), 5))
    rows = tap.rows(30, 35)
    assert rows is not None
    reader = gguf.GGUFReader(tiny_model.path)
    output = next(t for t in reader.tensors if t.name == "output.weight").data
    np.testing.assert_allclose(rows @ np.asarray(output).T, logits, rtol=1e-2, atol=1e-2)


def test_the_last_hidden_state_of_an_older_pass_is_not_taken_for_a_newer_one(
    context: Context,
) -> None:
    tap = hidden_tap(context)
    context.extend(ids(8), 8)
    context.rewind(2)
    context.extend(ids(4, seed=3), 1)
    assert tap.rows(3, 5) is None
    context.extend(ids(2, seed=4), 2)
    assert tap.rows(6, 8) is not None
    assert tap.rows(5, 8) is None


def test_a_reader_is_called_before_unread_states_are_lost(context: Context) -> None:
    tap = layer_tap(context, (1,))
    tap._window.room = 32
    calls: list[int] = []

    def reader(end: int) -> None:
        calls.append(end)
        assert tap.rows(end - 32, end) is not None
        tap.read(end)

    tap.reader = reader
    context.extend(ids(96), 1)
    assert calls == [32, 64]
    assert tap.rows(64, 96) is not None


def test_a_token_whose_state_is_lost_is_read_again(context: Context) -> None:
    tap = layer_tap(context, (1,))
    tap._window.room = 32
    context.extend(ids(64), 1)
    assert context.rewind(50) == 50
    assert context.rewind(20) == 19
    context.extend(ids(20)[19:], 1)
    assert tap.rows(19, 20) is not None


def test_a_model_whose_graph_shows_no_states_is_refused(tmp_path: Path) -> None:
    with (
        Model.load(write_window(tmp_path / "window.gguf")) as model,
        Context(model, ContextOptions(n_ctx=64)) as context,
        pytest.raises(PairRefused, match="not available in your engine"),
    ):
        layer_tap(context, (1,))


def test_a_layer_that_the_target_lacks_is_refused(context: Context) -> None:
    with pytest.raises(PairRefused, match="block 4, the target has 4"):
        layer_tap(context, (1, 4))


def test_an_engine_without_the_functions_is_told_so_in_one_line(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localspec.engine.library.symbol", lambda _name: None)
    staging.lookup.cache_clear()
    try:
        with pytest.raises(PairRefused, match="not available in your engine: llama-cpp-python"):
            layer_tap(context, (1,))
        with pytest.raises(PairRefused, match="llama_get_embeddings_nextn"):
            nextn_tap(context)
    finally:
        staging.lookup.cache_clear()


def test_a_window_keeps_the_newest_stretch_without_a_gap() -> None:
    window = Window(2, 10)
    for start in range(0, 30, 3):
        window.place(start, 3)[:] = np.arange(start, start + 3)[:, None]
    assert (window.first, window.end) == (20, 30)
    rows = window.rows(22, 28)
    assert rows is not None
    assert rows[:, 0].tolist() == [22, 23, 24, 25, 26, 27]
    window.place(40, 2)
    assert window.rows(29, 31) is None
    assert (window.first, window.end) == (40, 42)


def test_a_window_grows_and_moves_without_mixing_rows() -> None:
    rng = np.random.default_rng(5)
    window, held, position = Window(3, 200), {}, 0
    for _ in range(2000):
        start = max(window.first, position - int(rng.integers(0, 4)))
        if rng.random() < 0.02:
            start = position + 5
        count = int(rng.integers(0, 12))
        values = rng.random((count, 3), np.float32)
        window.place(start, count)[:] = values
        held = {p: row for p, row in held.items() if p < start <= position}
        held |= {start + i: row for i, row in enumerate(values)}
        position = start + count
        found = window.rows(window.first, window.end)
        assert found is not None
        expected = np.array([held[p] for p in range(window.first, window.end)]).reshape(-1, 3)
        np.testing.assert_array_equal(found, expected)
