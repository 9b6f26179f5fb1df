"""The engine runs an EAGLE-3 head as the paper's graph does: computed again in numpy."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import pytest

from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.engine.features import Tap, layer_tap, nextn_tap
from localspec.engine.heads import Eagle3Head, MtpHead, prediction_layers
from localspec.errors import PairRefused
from tests.models_heads import Eagle3, write_eagle3, write_step35, write_target

LAYERS = (0, 2, 3)
SHAPE = ContextOptions(128, threads=1)
IDS = np.random.default_rng(4).integers(30, 200, 60).astype(np.int32)


@dataclass(frozen=True)
class Bench:
    context: Context
    head: Eagle3Head
    states: Tap
    weights: dict[str, np.ndarray]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("graph")
    target, path = write_target(folder / "target.gguf"), write_eagle3(folder / "head.gguf")
    weights = {t.name: np.asarray(t.data) for t in gguf.GGUFReader(path).tensors}
    embedding = next(
        t for t in gguf.GGUFReader(target).tensors if t.name == "token_embd.weight"
    ).data
    with (
        Model.load(target) as model,
        Model.load(path, ModelOptions(head=True)) as small,
        Context(model, SHAPE) as context,
    ):
        states = layer_tap(context, LAYERS)
        context.extend(IDS, 1)
        head = Eagle3Head(small, context, SHAPE)
        yield Bench(context, head, states, weights | {"embedding": np.asarray(embedding)})
        head.close()


def _normed(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


def _turned(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Rotate neighbouring numbers of each head by the position (RoPE, interleaved)."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    even, odd = x[..., ::2], x[..., 1::2]
    turned = np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    return turned.reshape(x.shape)


def _forward(
    w: dict[str, np.ndarray], tokens: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Give the logits over the head's own ids, and the states, of a whole text of pairs."""
    count, positions = len(tokens), np.arange(len(tokens))
    joined = np.concatenate([_normed(w["embedding"][tokens]), _normed(g)], axis=1)
    q, k, v = (joined @ w[f"blk.0.attn_{name}.weight"].T for name in "qkv")
    q, k = (
        _turned(q.reshape(count, -1, 32), positions),
        _turned(k.reshape(count, -1, 32), positions),
    )
    scores = np.einsum("ihd,jd->hij", q, k[:, 0]) / np.sqrt(32)
    scores = np.where(np.tri(count, dtype=bool), scores, -np.inf)
    chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
    chances /= chances.sum(axis=-1, keepdims=True)
    mixed = np.einsum("hij,jd->ihd", chances, v).reshape(count, -1)
    x = mixed @ w["blk.0.attn_output.weight"].T + g
    y = _normed(x)
    gate = y @ w["blk.0.ffn_gate.weight"].T
    inner = gate / (1 + np.exp(-gate)) * (y @ w["blk.0.ffn_up.weight"].T)
    state = inner @ w["blk.0.ffn_down.weight"].T + x
    return _normed(state) @ w["output.weight"].T, state


def test_a_guess_is_what_the_graph_computed_in_numpy_gives(bench: Bench) -> None:
    """Pairs, positions, map and states as the paper has them, for three tokens of a draft."""
    w, ids = bench.weights, [*Eagle3().drafted]
    states = np.array(bench.states.rows(0, 59))
    tokens, g = IDS[1:60], states @ w["fc.weight"].T
    row = bench.head.read(1, IDS[1:60], states, guess=True)
    for step in range(3):
        expected, own = _forward(w, tokens, g)
        assert row is not None
        np.testing.assert_allclose(row[ids], expected[-1], atol=0.03)
        others = np.delete(row, ids)
        assert np.isneginf(others).all()
        token = ids[int(expected[-1].argmax()) - step]
        tokens, g = np.append(tokens, token), np.concatenate([g, own[-1:]])
        row = bench.head.step(token)


def test_reading_in_parts_gives_the_same_guess(bench: Bench) -> None:
    states = np.array(bench.states.rows(0, 59))
    whole = np.array(bench.head.read(1, IDS[1:60], states, guess=True))
    bench.head.step(77)
    parts = ((1, 20), (20, 45), (45, 50))
    for begin, end in parts:
        bench.head.read(begin, IDS[begin:end], states[begin - 1 : end - 1], guess=False)
    bench.head.read(20, IDS[20:59], states[19:58], guess=True)
    bench.head.step(50)
    row = bench.head.read(59, IDS[59:60], states[58:59], guess=True)
    np.testing.assert_allclose(row, whole, atol=0.03)


def test_heads_of_a_chain_read_the_draft_each_for_itself(tmp_path: Path) -> None:
    """A second layer's guess changes with the first layer's state, and not with a stale one."""
    path = write_step35(tmp_path / "chain.gguf")
    with (
        Model.load(path, ModelOptions(prediction_layers=True)) as model,
        Context(model, SHAPE) as context,
    ):
        states, head = nextn_tap(context), MtpHead(model, context, SHAPE)
        context.extend(IDS, 1)
        rows = np.array(states.rows(0, 59))
        first = np.array(head.read(0, IDS[:60], rows, guess=True))
        second = np.array(head.step(60))
        head.read(30, IDS[30:40], rows[29:39], guess=True)
        head.step(61)
        again = head.read(30, IDS[30:60], rows[29:59], guess=True)
        np.testing.assert_allclose(again, first, atol=0.03)
        np.testing.assert_allclose(head.step(60), second, atol=0.03)
        assert (head.held, head.longest) == (59, 2)
        head.close()


def test_a_model_without_prediction_layers_has_none_to_run(tmp_path: Path) -> None:
    with (
        Model.load(write_target(tmp_path / "plain.gguf")) as model,
        pytest.raises(PairRefused, match="carries no prediction layer"),
    ):
        prediction_layers(model)


def test_weights_that_are_no_numbers_leave_the_text_alone(tmp_path: Path) -> None:
    from localspec.core.tally import Tally
    from localspec.runtime.pair import open_runtime
    from localspec.runtime.settings import PairFiles, Placement, RunSettings

    files = PairFiles(write_target(tmp_path / "target.gguf"))
    head = write_eagle3(tmp_path / "nan.gguf", spoilt=True)
    chosen = RunSettings(
        files, drafters=("eagle3",), head=head, gamma=2, max_tokens=12, threads=1, seed=1,
        target=Placement(context=128),
    )  # fmt: skip
    tally = Tally()
    with open_runtime(chosen, lambda _text: None) as runtime:
        events = [*runtime.generate(IDS)]
        for event in events:
            tally.add(event)
    notices = [event.text for event in events if type(event).__name__ == "Notice"]
    assert any("no numbers" in text for text in notices)
    assert tally.emitted == 12
