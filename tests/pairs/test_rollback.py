"""What is kept so that guesses can be taken back, told from headers and checked against caches."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pairs_gguf import Spec, write

from localspec.engine import Context, ContextOptions, Model
from localspec.engine.checkpoints import MOST_BYTES, RECENT, TURNS
from localspec.engine.shape import Rollback
from localspec.pairs.header import Header, TensorInfo, read_header
from localspec.pairs.memory import Load, estimate, kv_bytes, partial_bytes, snapshot_bytes
from localspec.pairs.rollback import in_words, keeping
from tests.models import write_llama, write_mamba, write_window
from tests.models_caches import write_jamba, write_lfm2, write_qwen35

STATEFUL = [write_mamba, write_jamba, write_lfm2, write_qwen35]
WINDOW = {
    "{arch}.attention.sliding_window": 64,
    "{arch}.attention.sliding_window_pattern": [True, True, True, False],
}


def heavy(header: Header, gigabytes: float) -> Header:
    """The same header over more weights."""
    tensor = TensorInfo("blk.0.ffn.weight", (32, 8), 8, 0, int(gigabytes * 1e9))
    return replace(header, tensors=(*header.tensors, tensor))


def test_an_ordinary_cache_keeps_nothing_more(tmp_path: Path) -> None:
    header = read_header(write_llama(tmp_path / "m.gguf"))
    load = keeping(header, Load(4096), gamma=16)
    assert load == Load(4096)
    assert in_words(header, load) == ""
    assert estimate(header, load).rollback == 0


def test_a_window_is_kept_whole_where_that_is_cheap_or_asked_for(tmp_path: Path) -> None:
    """H07: the choice and its cost are said."""
    header = read_header(write(tmp_path / "w.gguf", Spec(blocks=4, extra=WINDOW)))
    cheap = keeping(header, Load(4096), gamma=4)
    assert cheap.swa_full
    assert in_words(header, cheap).startswith("sliding window kept whole, ")
    assert in_words(header, cheap).endswith(" MB more")
    long = keeping(header, Load(1_000_000), gamma=4)
    assert not long.swa_full
    assert " kept short, " in in_words(header, long)
    assert long.copies >= partial_bytes(header, long) > 0
    assert kv_bytes(header, long) < 0.3 * kv_bytes(header, replace(long, swa_full=True))
    assert keeping(header, Load(1_000_000), gamma=4, whole=True).swa_full


def test_a_whole_window_is_cheap_beside_many_weights(tmp_path: Path) -> None:
    header = read_header(write(tmp_path / "w.gguf", Spec(blocks=4, extra=WINDOW)))
    assert not keeping(header, Load(200_000), gamma=4).swa_full
    assert keeping(heavy(header, 8), Load(200_000), gamma=4).swa_full


@pytest.mark.parametrize("write_model", STATEFUL)
def test_the_state_told_from_the_header_is_the_state_a_cache_gives_out(
    tmp_path: Path, write_model: Callable[..., Path]
) -> None:
    """H10."""
    path = write_model(tmp_path / "m.gguf")
    with Model.load(path) as model, Context(model, ContextOptions(n_ctx=64)) as context:
        context.extend(np.arange(5, 25, dtype=np.int32), 0)
        copies = context.forgetting.checkpoints
        assert copies is not None
        told = partial_bytes(read_header(path), Load(64))
        assert told <= copies.bytes <= 1.02 * told + 200


def test_copies_of_a_short_window_are_counted_too(tmp_path: Path) -> None:
    path = write_window(tmp_path / "w.gguf")
    shape = ContextOptions(n_ctx=1024, batch=64, swa_full=False)
    with Model.load(path) as model, Context(model, shape) as context:
        context.extend(np.arange(600, dtype=np.int32) % 300, 0)
        copies = context.forgetting.checkpoints
        assert copies is not None
        told = partial_bytes(read_header(path), Load(1024, n_batch=64, swa_full=False))
        assert told <= copies.bytes <= 1.05 * told


@pytest.mark.parametrize("write_model", [write_lfm2, write_qwen35])
def test_snapshots_are_as_many_as_guesses_and_are_counted(
    tmp_path: Path, write_model: Callable[..., Path]
) -> None:
    path = write_model(tmp_path / "m.gguf")
    header = read_header(path)
    load = keeping(header, Load(512), gamma=5)
    assert load.snapshots == 5
    one = snapshot_bytes(header)
    assert estimate(header, load).rollback == 5 * one + (TURNS + 1) * one
    assert "5 snapshots of its state" in in_words(header, load)
    options = ContextOptions(n_ctx=512, rollback=Rollback(load.snapshots))
    with Model.load(path) as model, Context(model, options) as context:
        assert context.forgetting.snapshots == 5


def test_where_the_engine_keeps_no_snapshots_none_are_asked_for(tmp_path: Path) -> None:
    header = read_header(write_jamba(tmp_path / "m.gguf"))
    target, draft = Load(512), Load(512, rows=1)
    one = partial_bytes(header, target)
    assert keeping(header, target, gamma=5).snapshots == 0
    assert keeping(header, target, gamma=5).copies == (TURNS + 1) * one
    assert keeping(header, draft, gamma=0).copies == (TURNS + RECENT) * one


def test_a_large_state_is_kept_less_often(tmp_path: Path) -> None:
    """H10: never gigabytes for a state of megabytes."""
    header = read_header(write_qwen35(tmp_path / "m.gguf"))
    wide = {**header.metadata, "qwen35.ssm.inner_size": 64_000}
    large = replace(header, metadata=wide)
    one = snapshot_bytes(large)
    assert 10_000_000 < one < 64_000_000
    load = keeping(large, Load(512), gamma=16)
    assert 1 <= load.snapshots < 16
    assert load.snapshots * one <= 64_000_000
    assert load.copies <= MOST_BYTES
    assert keeping(heavy(large, 4), Load(512), gamma=16).snapshots == 16


@pytest.mark.parametrize(
    ("arch", "extra", "states"),
    [
        ("rwkv7", {"{arch}.wkv.head_size": 16, "{arch}.token_shift_count": 2}, [64 * 18] * 4),
        ("lfm2", {"{arch}.shortconv.l_cache": 3}, [64 * 2, 0, 64 * 2, 0]),
        ("kimi-linear", {"{arch}.kda.head_dim": 8, "{arch}.ssm.conv_kernel": 4}, [544, 0] * 2),
        (
            "nemotron_h",
            {
                "{arch}.ssm.state_size": 8,
                "{arch}.ssm.inner_size": 32,
                "{arch}.ssm.conv_kernel": 4,
                "{arch}.ssm.group_count": 1,
                "{arch}.feed_forward_length": [0, 0, 64, 0],
            },
            [3 * 48 + 256, 0, 0, 0],
        ),
    ],
)
def test_states_of_other_families_are_counted_block_by_block(
    tmp_path: Path, arch: str, extra: dict[str, object], states: list[int]
) -> None:
    heads = [0] * 4 if arch == "rwkv7" else [0, 1, 0, 1]
    spec = Spec(arch=arch, blocks=4, extra={"{arch}.attention.head_count_kv": heads, **extra})
    header = read_header(write(tmp_path / "m.gguf", spec))
    assert partial_bytes(header, Load(512)) == 4 * sum(states)
