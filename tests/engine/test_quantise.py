"""New layouts: whole files or none, with the blocks and types asked for."""

import os
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from localspec.engine import Context, ContextOptions, Model, quantise_child
from localspec.engine import quantise as room
from localspec.engine.quantise import Recipe, file_types, quantise
from localspec.errors import LocalspecError, OptionError, PairRefused
from tests.models import write_llama

IDS = np.arange(5, 25, dtype=np.int32)


def test_a_layout_is_smaller_and_means_nearly_the_same(tiny: Path, tmp_path: Path) -> None:
    written = quantise(tiny, tmp_path / "q8.gguf", Recipe("q8_0", pure=True))
    assert written.stat().st_size < tiny.stat().st_size / 2
    with Model.load(tiny) as before, Model.load(written) as after:
        options = ContextOptions(n_ctx=64)
        with Context(before, options) as left, Context(after, options) as right:
            exact, rounded = left.extend(IDS, 20), right.extend(IDS, 20)
            assert np.abs(exact - rounded).max() < 1
            assert (exact.argmax(1) == rounded.argmax(1)).mean() > 0.8


def test_pruned_blocks_are_gone_and_the_rest_still_decodes(tiny: Path, tmp_path: Path) -> None:
    recipe = Recipe("q4_0", pure=True, prune_layers=(2, 1, 2))
    written = quantise(tiny, tmp_path / "pruned.gguf", recipe)
    with Model.load(written) as model, Context(model, ContextOptions(n_ctx=64)) as context:
        assert model.n_layer == 2
        assert model.n_vocab == 384
        assert np.isfinite(context.extend(IDS, 4)).all()


def test_a_layout_can_be_made_from_a_layout(tiny: Path, tmp_path: Path) -> None:
    first = quantise(tiny, tmp_path / "a.gguf", Recipe("q8_0", pure=True))
    second = quantise(first, tmp_path / "b.gguf", Recipe("q4_0", pure=True))
    assert second.stat().st_size < first.stat().st_size


def test_head_and_embedding_types_are_honoured(tiny: Path, tmp_path: Path) -> None:
    recipe = Recipe("q4_0", output_type="f16", embedding_type="q8_0", threads=1)
    mixed = quantise(tiny, tmp_path / "mixed.gguf", recipe)
    pure = quantise(tiny, tmp_path / "pure.gguf", Recipe("q4_0", pure=True))
    assert mixed.stat().st_size > pure.stat().st_size
    with Model.load(mixed) as model:
        assert model.n_layer == 4


def test_a_target_in_a_new_folder_with_any_name_is_written(tiny: Path, tmp_path: Path) -> None:
    """L04."""
    target = tmp_path / "yerleşim 布局" / "küçük.gguf"
    assert quantise(tiny, target, Recipe("q4_0")) == target
    assert os.listdir(target.parent) == [target.name]


def test_unknown_types_are_named_with_those_there_are(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no layout 'q9_9'") as caught:
        quantise(tiny, tmp_path / "x.gguf", Recipe("q9_9"))
    assert "q4_0" in caught.value.hint
    with pytest.raises(OptionError, match="no tensor type"):
        quantise(tiny, tmp_path / "x.gguf", Recipe("q4_0", output_type="q9"))
    assert {"q4_0", "q4_k_m", "f16", "f32", "bf16", "iq4_nl"} <= set(file_types())


def left_behind(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name not in {"cut.gguf", "old.gguf"}]


def test_a_damaged_source_leaves_no_file(tiny: Path, tmp_path: Path) -> None:
    source = tmp_path / "cut.gguf"
    source.write_bytes(tiny.read_bytes()[:100_000])
    with pytest.raises(PairRefused):
        quantise(source, tmp_path / "new.gguf", Recipe("q4_0"))
    assert left_behind(tmp_path) == []


def test_a_failure_midway_leaves_the_old_layout_and_no_half_file(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "old.gguf"
    target.write_bytes(b"old")

    def interrupted(_source: Path, temporary: Path, _params: object) -> None:
        temporary.write_bytes(tiny.read_bytes()[:5000])
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quantise(tiny, target, Recipe("q4_0"))
    assert target.read_bytes() == b"old"
    assert left_behind(tmp_path) == []


def test_an_incomplete_result_never_gets_the_name(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def halved(_source: Path, temporary: Path, _params: object) -> None:
        temporary.write_bytes(tiny.read_bytes()[: tiny.stat().st_size // 2])

    monkeypatch.setattr(room, "_write", halved)
    with pytest.raises(PairRefused, match="incomplete"):
        quantise(tiny, tmp_path / "new.gguf", Recipe("q4_0"))
    assert left_behind(tmp_path) == []


def test_a_disk_that_is_too_small_is_refused_before_writing(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")(10, 9, 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(PairRefused, match="MiB free"):
        quantise(tiny, tmp_path / "new.gguf", Recipe("q4_0"))
    assert left_behind(tmp_path) == []


def test_pruning_a_block_that_is_not_there_is_refused(tmp_path: Path) -> None:
    source = write_llama(tmp_path / "old.gguf")
    with pytest.raises(LocalspecError, match="no block 9"):
        quantise(source, tmp_path / "new.gguf", Recipe("q4_0", prune_layers=(9,)))


def test_a_large_file_is_written_by_a_process_that_can_be_stopped(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = quantise(tiny, tmp_path / "here.gguf", Recipe("q4_0", prune_layers=(1,)))
    monkeypatch.setattr(room, "_LARGE_BYTES", 0)
    apart = quantise(tiny, tmp_path / "apart.gguf", Recipe("q4_0", prune_layers=(1,)))
    assert apart.read_bytes() == here.read_bytes()


def test_an_interruption_ends_the_process_that_writes(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_LARGE_BYTES", 0)
    children: list[subprocess.Popen[str]] = []
    real = subprocess.Popen

    class Interrupted:
        def readline(self) -> str:
            raise KeyboardInterrupt

        def close(self) -> None:
            pass

    def popen(*given: object, **more: object) -> subprocess.Popen[str]:
        child = real(*given, **more)  # type: ignore[call-overload]
        child.stdout.close()
        child.stdout = Interrupted()
        children.append(child)
        return child

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(KeyboardInterrupt):
        quantise(tiny, tmp_path / "new.gguf", Recipe("q4_0"))
    assert children[0].returncode is not None
    assert left_behind(tmp_path) == []


def test_a_process_that_dies_while_it_writes_is_said(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_LARGE_BYTES", 0)
    monkeypatch.setattr(quantise_child, "_CODE", "raise SystemExit(9)")
    with pytest.raises(PairRefused, match="the engine stopped while it requantised"):
        quantise(tiny, tmp_path / "new.gguf", Recipe("q4_0"))
    assert left_behind(tmp_path) == []
