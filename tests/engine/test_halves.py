"""Halves left out: in memory and in files the same model, whole or not at all."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.engine import Context, ContextOptions, Model, halves
from localspec.engine.halves import half_bytes, refusal, write_without
from localspec.engine.quantise import COPY, Recipe, quantise
from localspec.engine.skipping import Half, Skips, whole
from localspec.errors import LocalspecError, OptionError, PairRefused
from tests.models import write_llama, write_mamba, write_window

IDS = np.arange(5, 45, dtype=np.int32)
ROWS = 20
MIXED = whole([2]) | {Half(1, "attn"), Half(3, "ffn")}


@contextmanager
def skipping(path: Path) -> Iterator[tuple[Context, Skips]]:
    skips = Skips()
    with Model.load(path) as model:
        options = ContextOptions(64, max_rows=ROWS, threads=1)
        with Context(model, options, skips=skips) as context:
            yield context, skips


def logits(path: Path, left_out: Iterable[Half] = ()) -> NDArray[np.float32]:
    with skipping(path) as (context, skips):
        skips.leave_out(left_out)
        context.extend(IDS[:-ROWS], 0)
        return context.extend(IDS[-ROWS:], ROWS).copy()


def test_a_file_without_halves_says_what_the_whole_file_says_without_them(
    tiny: Path, tmp_path: Path
) -> None:
    made = write_without(tiny, tmp_path / "made.gguf", MIXED)
    assert np.array_equal(logits(made), logits(tiny, MIXED))
    assert not np.array_equal(logits(made), logits(tiny))
    assert made.stat().st_size < tiny.stat().st_size


def test_rotary_pairs_that_lie_apart_are_put_side_by_side(tmp_path: Path) -> None:
    """Qwen2 rotates the first half of a head with the second, `deci` neighbours."""
    source = write_llama(tmp_path / "qwen2.gguf", architecture="qwen2", n_head=4, n_head_kv=2)
    made = write_without(source, tmp_path / "made.gguf", MIXED)
    assert np.allclose(logits(made), logits(source, MIXED), atol=1e-4)
    assert not np.allclose(logits(made), logits(source), atol=0.1)


def test_a_file_without_whole_blocks_says_the_same_whoever_writes_it(
    tiny: Path, tmp_path: Path
) -> None:
    left_out = whole([1, 2])
    ours = write_without(tiny, tmp_path / "ours.gguf", left_out)
    theirs = quantise(tiny, tmp_path / "theirs.gguf", Recipe(COPY, prune_layers=(1, 2)))
    assert np.array_equal(logits(ours), logits(theirs))
    assert np.array_equal(logits(theirs), logits(tiny, left_out))


def test_a_file_without_halves_can_be_requantised(tiny: Path, tmp_path: Path) -> None:
    made = write_without(tiny, tmp_path / "made.gguf", MIXED)
    small = quantise(made, tmp_path / "small.gguf", Recipe("q8_0", pure=True))
    assert small.stat().st_size < made.stat().st_size / 2
    assert np.abs(logits(small) - logits(made)).max() < 1


def test_its_cache_can_be_rewound(tiny: Path, tmp_path: Path) -> None:
    made = write_without(tiny, tmp_path / "made.gguf", MIXED)
    with Model.load(made) as model, Context(model, ContextOptions(64, threads=1)) as context:
        once = context.extend(IDS, 1).copy()
        assert context.rewind(10) == 10
        assert np.array_equal(context.extend(IDS[10:], 1), once)


def test_leaving_out_changes_between_passes_and_is_counted(tiny: Path) -> None:
    with skipping(tiny) as (context, skips):
        plain = context.extend(IDS, 1).copy()
        assert skips.found == 0
        for left_out, count in ((whole([1]), 2), ([Half(2, "attn")], 1), ((), 0)):
            skips.leave_out(left_out)
            context.rewind(0)
            row = context.extend(IDS, 1)
            assert skips.found == count
            assert np.array_equal(row, plain) == (count == 0)


def test_a_recurrent_graph_names_no_halves(tmp_path: Path) -> None:
    with skipping(write_mamba(tmp_path / "mamba.gguf")) as (context, skips):
        skips.leave_out(whole([0, 1]))
        context.extend(IDS, 1)
        assert skips.found == 0


def test_the_bytes_of_the_halves_are_those_of_the_blocks(tiny: Path) -> None:
    found = half_bytes(tiny)
    assert len(found) == 8
    assert found[Half(0, "attn")] == 4 * 64 * (1 + 64 + 32 + 32 + 64)
    assert found[Half(3, "ffn")] == 4 * (64 + 3 * 64 * 128)


@pytest.mark.parametrize(
    ("write", "changes", "reason"),
    [
        (write_mamba, {}, "its family, mamba"),
        (write_window, {}, "its family, cohere2"),
        (write_llama, {"extra": {"llama.expert_count": 8}}, "expert_count"),
        (write_llama, {"extra": {"llama.rope.dimension_count": 16}}, "part of each head"),
    ],
)
def test_a_family_that_cannot_be_written_so_says_why(
    tmp_path: Path, write: object, changes: dict[str, object], reason: str
) -> None:
    """F21."""
    source = write(tmp_path / "odd.gguf", **changes)  # type: ignore[operator]
    assert reason in refusal(source)
    with pytest.raises(PairRefused, match=reason):
        write_without(source, tmp_path / "made.gguf", MIXED)
    assert os.listdir(tmp_path) == ["odd.gguf"]


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        ([Half(0, "attn")], "first block"),
        (whole(range(4)), "first block"),
        (whole([0]) | {Half(1, "attn")}, "first block"),
        ([Half(9, "ffn")], "no block 9"),
    ],
)
def test_halves_that_leave_no_model_are_refused(
    tiny: Path, tmp_path: Path, left_out: Iterable[Half], reason: str
) -> None:
    with pytest.raises(OptionError, match=reason):
        write_without(tiny, tmp_path / "made.gguf", left_out)
    assert os.listdir(tmp_path) == []


def test_an_interrupted_writing_leaves_nothing(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_all: object) -> None:
        assert len(os.listdir(tmp_path)) == 1  # something was begun
        raise KeyboardInterrupt

    monkeypatch.setattr(halves, "_write_weights", pressed)
    with pytest.raises(KeyboardInterrupt):
        write_without(tiny, tmp_path / "made.gguf", MIXED)
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_too_small_is_refused_before_writing(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_all: object) -> None:
        raise PairRefused("no room")

    monkeypatch.setattr(halves, "check_disk", full)
    with pytest.raises(LocalspecError, match="no room"):
        write_without(tiny, tmp_path / "made.gguf", MIXED)
    assert os.listdir(tmp_path) == []
