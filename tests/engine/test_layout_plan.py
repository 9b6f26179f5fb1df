"""What a recipe would make of a file, and files of its shapes without weights."""

from pathlib import Path

import numpy as np
import pytest

from localspec.engine import Context, ContextOptions, Model
from localspec.engine.hollow import write_hollow
from localspec.engine.layout_plan import plan_of
from localspec.engine.quantise import Recipe, quantise
from localspec.errors import LocalspecError, OptionError, PairRefused
from localspec.pairs.ggml_types import GGML_TYPES
from localspec.pairs.header import read_header
from tests.models import write_llama, write_mamba, write_window

RECIPES = (
    Recipe("q4_0", pure=True),
    Recipe("q4_k_m"),
    Recipe("q8_0", output_type="q4_0", embedding_type="f16"),
    Recipe("bf16", pure=True),
    Recipe("q5_0", pure=True, prune_layers=(1,)),
)


def _types(path: Path) -> dict[str, str]:
    return {
        tensor.name: GGML_TYPES[tensor.type].name.lower() for tensor in read_header(path).tensors
    }


@pytest.mark.parametrize("recipe", RECIPES, ids=repr)
def test_the_plan_is_what_the_engine_writes(recipe: Recipe, tiny: Path, tmp_path: Path) -> None:
    plan = plan_of(tiny, recipe)
    written = _types(quantise(tiny, tmp_path / "new.gguf", recipe))
    assert {tensor.name: tensor.type for tensor in plan} == written
    assert sorted(tmp_path.iterdir()) == [tmp_path / "new.gguf"]


@pytest.mark.parametrize("write", [write_llama, write_window, write_mamba])
def test_a_hollow_file_has_the_layout_and_decodes(write, tmp_path: Path) -> None:
    source = write(tmp_path / "source.gguf")
    plan = [t for t in plan_of(source, Recipe("q4_0", pure=True)) if (t.block or 0) < 2]
    path = tmp_path / "hollow.gguf"
    size = write_hollow(source, path, plan, 2)
    assert path.stat().st_size == size
    assert _types(path) == {tensor.name: tensor.type for tensor in plan}
    with Model.load(path) as model, Context(model, ContextOptions(n_ctx=64)) as context:
        assert model.n_layer == 2
        assert model.n_vocab == 384
        assert np.isfinite(context.extend(np.arange(5, 13, dtype=np.int32), 8)).all()


def test_a_layout_the_engine_cannot_make_is_refused_with_its_reason(
    tiny: Path, tmp_path: Path
) -> None:
    wide = write_llama(tmp_path / "wide.gguf", n_embd=256, n_ff=256)
    with pytest.raises(PairRefused, match="importance matrix"):
        plan_of(wide, Recipe("iq2_xxs", pure=True))
    with pytest.raises(OptionError, match="no block 9"):
        plan_of(tiny, Recipe("q4_0", prune_layers=(9,)))


def test_an_architecture_that_the_engine_does_not_know_is_refused(tmp_path: Path) -> None:
    source = write_llama(tmp_path / "new.gguf", architecture="nosuchmodel")
    with pytest.raises(PairRefused, match=r"cannot requantise new\.gguf as q4_0: .*nosuchmodel"):
        plan_of(source, Recipe("q4_0"))


def test_a_folder_that_is_not_there_is_said(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(LocalspecError, match="cannot write"):
        write_hollow(tiny, tmp_path / "no" / "x.gguf", plan_of(tiny, Recipe("q4_0")), 4)
