"""An EAGLE-3 head is trained as the engine runs it, on a generated target; needs `train`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.engine.features import layer_tap
from localspec.engine.heads import Eagle3Head
from localspec.engine.quantise import Recipe, quantise
from localspec.pairs.eagle3_file import check_eagle3
from localspec.pairs.header import read_header
from localspec.runtime.pair import open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.models_heads import write_target
from tools.eagle3_writer import Eagle3Weights, write_eagle3
from tools.train_head.__main__ import main
from tools.train_head.eagle3_start import shape_of, start
from tools.train_head.generate import Plan, open_and_write
from tools.train_head.states import gather
from tools.train_head.target import embedding_rows
from tools.train_head.windows import Chats

torch = pytest.importorskip("torch", reason="the extra `train` is not installed")

SHAPE = ContextOptions(128, threads=1)
IDS = np.random.default_rng(4).integers(30, 200, 60).astype(np.int32)


@dataclass(frozen=True)
class Trained:
    target: Path
    chats: Chats
    head: Eagle3Weights
    how: Any
    schedule: Any


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    from tools.train_head.eagle3 import Eagle3, Eagle3Training
    from tools.train_head.loop import Loop, Schedule

    folder = tmp_path_factory.mktemp("eagle3")
    target = write_target(folder / "target.gguf")
    plan = Plan(seed=1, chats=12, slots=6, room=256, answer_tokens=96)
    open_and_write(target, folder / "chats", plan)
    shape = shape_of(target)
    assert gather(target, folder / "chats", shape.layers, threads=1, end=float("inf"))
    chats = Chats(folder / "chats", shape.layers)
    how = Eagle3Training(ids=200, span=32, spans=4, rate=5e-3)
    schedule = Schedule(steps=40, seed=2)
    trainee = Eagle3(target, chats, shape, how=how, seed=schedule.seed)
    assert Loop(trainee, schedule, folder).run()
    return Trained(target, chats, trainee.taken(), how, schedule)


def _marked(head: Eagle3Weights) -> Eagle3Weights:
    """Change every tensor so much that none could stand for another, nor be left out."""
    rng = np.random.default_rng(7)
    tensors = {
        name: value * rng.uniform(0.4, 1.6, value.shape).astype(np.float32)
        if value.ndim == 1
        else value + rng.normal(0, 0.5 * value.std(), value.shape).astype(np.float32)
        for name, value in head.tensors.items()
    }
    for name in ("attn_q", "attn_k", "attn_v"):
        tensors[name] = rng.normal(0, 0.15, tensors[name].shape).astype(np.float32)
    return replace(head, tensors=tensors)


def _other_shape(trained: Trained) -> Eagle3Weights:
    """Make a head whose attention is wider than its states, as Qwen3's is."""
    shape = replace(trained.head.shape, heads=4, kv_heads=2, inner=96, rope_base=5e5, epsilon=1e-3)
    states = np.random.default_rng(6).standard_normal((64, 3 * shape.width)).astype(np.float32)
    return start(trained.target, shape, trained.head.ids, states, seed=1).head


@pytest.fixture(params=["trained", "other shape"])
def engine(
    trained: Trained, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Eagle3Weights, Any, np.ndarray]]:
    head = _marked(trained.head if request.param == "trained" else _other_shape(trained))
    path = write_eagle3(tmp_path / "marked.gguf", head, trained.target, kind="f32")
    with (
        Model.load(trained.target) as model,
        Model.load(path, ModelOptions(head=True)) as small,
        Context(model, SHAPE) as context,
    ):
        states = layer_tap(context, head.shape.layers)
        context.extend(IDS, 1)
        run = Eagle3Head(small, context, SHAPE)
        yield head, run, np.array(states.rows(0, 60))
        run.close()


def test_the_engine_s_logits_are_torch_s(
    trained: Trained, engine: tuple[Eagle3Weights, Any, np.ndarray]
) -> None:
    """Drafts of three tokens, begun at several places: RoPE, norms, residuals, cache and map."""
    from tools.train_head.eagle3_graph import Eagle3Graph

    head, run, states = engine
    graph = Eagle3Graph(head, np.ones(3 * head.shape.width, np.float32))
    embedded = torch.from_numpy(embedding_rows(trained.target, IDS[1:].astype(np.int64)))
    with torch.no_grad():
        unrolled = graph.unrolled(embedded[None], torch.from_numpy(states[None, :59]), 3)
        logits = [graph.logits(own)[0].numpy() for own in unrolled]
    assert np.abs(logits[0][40] - logits[1][40]).max() > 0.5  # a draft's own states matter
    assert logits[0].std() > 0.5
    for last in (0, 3, 30, 56):
        row = run.read(1, IDS[1 : last + 2], states[: last + 1], guess=True)
        for n, expected in enumerate(logits):
            np.testing.assert_allclose(row[head.ids], expected[last + n], atol=0.05)
            assert np.isneginf(np.delete(row, head.ids)).all()
            if n < 2:
                row = run.step(int(IDS[last + n + 2]))


def test_a_head_learns_stops_and_goes_on_where_it_stopped(trained: Trained, tmp_path: Path) -> None:
    """The same seed gives the same head, in one call or in several."""
    from tools.train_head.eagle3 import Eagle3
    from tools.train_head.loop import Loop

    def new() -> Eagle3:
        shape, how = trained.head.shape, trained.how
        return Eagle3(trained.target, trained.chats, shape, how=how, seed=trained.schedule.seed)

    schedule, trainee = trained.schedule, new()
    before = [float(trainee.loss(np.random.default_rng(n)).detach()) for n in range(4)]
    stopped = Loop(trainee, schedule, tmp_path)
    for _ in range(17):
        stopped.advance()
    stopped.keep()
    assert not Loop(new(), replace(schedule, seconds=1e-9), tmp_path).run()
    again = new()
    assert Loop(again, schedule, tmp_path).run()
    tensors = again.taken().tensors
    for name, value in trained.head.tensors.items():
        np.testing.assert_array_equal(tensors[name], value)
    for _ in range(23):
        stopped.advance()
    after = [float(trainee.loss(np.random.default_rng(n)).detach()) for n in range(4)]
    assert np.mean(after) < 0.8 * np.mean(before)


def test_other_options_begin_a_training_anew_and_say_so(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tools.train_head.eagle3 import Eagle3
    from tools.train_head.loop import Loop

    shape = trained.head.shape
    for unroll, step in ((3, 2), (2, 0)):
        how = replace(trained.how, unroll=unroll)
        trainee = Eagle3(trained.target, trained.chats, shape, how=how, seed=2)
        loop = Loop(trainee, trained.schedule, tmp_path)
        loop.resume()
        if unroll == 3:
            loop.advance()
            loop.advance()
            loop.keep()
        assert loop.step == step
    assert "training begins anew" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["f32", "f16", "q8_0", "q4_0"])
def test_greedy_ids_with_a_trained_head_equal_plain_ones(
    trained: Trained, tmp_path: Path, kind: str
) -> None:
    """A14 B07: the file that training writes is accepted, drafts, and changes no text."""
    path = write_eagle3(tmp_path / "head.gguf", trained.head, trained.target, kind=kind)
    chosen = RunSettings(
        PairFiles(trained.target), drafters=("eagle3",), head=path, gamma=3, strict=True,
        sampling=SamplingParams(temperature=0), max_tokens=120, target=Placement(context=256),
        threads=1, seed=5,
    )  # fmt: skip
    found = {}
    with open_runtime(chosen, lambda _note: None) as runtime:
        for plain in (False, True):
            found[plain] = Tally()
            for event in runtime.generate(np.array([0, *range(30, 60)], np.int32), plain=plain):
                found[plain].add(event)
    assert found[False].tokens == found[True].tokens
    assert found[False].accepted > 5


def test_a_file_of_four_bits_is_rounded_as_the_engine_does(
    trained: Trained, tmp_path: Path
) -> None:
    """But for the matrix that takes the target's states in, which keeps eight."""
    whole = write_eagle3(tmp_path / "f32.gguf", trained.head, trained.target, kind="f32")
    ours = write_eagle3(tmp_path / "ours.gguf", trained.head, trained.target, kind="q4_0")
    engine = quantise(whole, tmp_path / "engine.gguf", Recipe("q4_0", pure=True))
    target = read_header(trained.target)
    assert check_eagle3(ours, target) == check_eagle3(engine, target) == trained.head.shape.layers
    theirs = {t.name: t for t in gguf.GGUFReader(engine).tensors}
    for tensor in gguf.GGUFReader(ours).tensors:
        if tensor.name == "fc.weight":
            assert tensor.tensor_type == gguf.GGMLQuantizationType.Q8_0
            continue
        assert tensor.tensor_type == theirs[tensor.name].tensor_type
        np.testing.assert_array_equal(tensor.data, theirs[tensor.name].data)


def test_one_command_makes_a_head_and_both_kinds_share_the_chats(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, work = tmp_path / "head.gguf", tmp_path / "work"
    words = ["--target", trained.target, "--out", out, "--work", work, "--chats", "4"]
    words = [str(word) for word in [*words, "--slots", "4", "--ids", "64", "--seed", "5"]]
    assert main([*words, "--kind", "eagle3", "--steps", "2", "--call-minutes", "1e-9"]) == 3
    assert not out.exists()
    assert main([*words, "--kind", "eagle3", "--steps", "2", "--unroll", "2"]) == 0
    header = read_header(out)
    assert check_eagle3(out, read_header(trained.target)) == (1, 2, 3)
    said = header.text("general.description")
    assert "seed 5, 2 steps, unrolled to 2, 64 ids" in said
    assert (work / "eagle3-log.jsonl").read_text(encoding="utf-8").count("held_out_greedy") == 1
    chats = [path.stat().st_mtime_ns for path in (work / "chats").glob("*.npz")]
    assert main([*words, "--steps", "2", "--heads", "1"]) == 0
    assert read_header(out).arch == "medusa"
    assert [path.stat().st_mtime_ns for path in (work / "chats").glob("*.npz")] == chats
    assert "bytes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "eagle3", "--heads", "2"], "--heads is not for --kind eagle3"),
        (["--unroll", "2"], "--unroll is not for --kind medusa"),
        (["--layers", "1,2,3"], "--layers is not for --kind medusa"),
        (["--kind", "eagle3", "--unroll", "0"], "--unroll is 0"),
        (["--kind", "eagle3", "--layers", "1,2,9"], "no block 9"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused_before_anything_is_written(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str], words, said: str
) -> None:
    line = ["--target", str(trained.target), "--out", str(tmp_path / "h" / "head.gguf"), *words]
    assert main(line) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "h").exists()
