"""Files that cannot take a guess back: the reason in one line, and plain text."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.engine import Model
from localspec.engine.checkpoints import Checkpoints
from localspec.engine.forgetting import Forgetting
from localspec.errors import PairRefused
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair
from tests.models import write_mamba
from tests.models_caches import write_qwen35


def settings(files: PairFiles, **changes: object) -> RunSettings:
    usual = RunSettings(
        files,
        sampling=SamplingParams(temperature=0),
        max_tokens=20,
        target=Placement(context=128),
        threads=1,
    )
    return replace(usual, **changes)


def answer(runtime: Runtime) -> Tally:
    tally = Tally()
    for event in runtime.generate(np.array([0, *range(40, 60)], np.int32)):
        tally.add(event)
    return tally


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose states cannot be put back."""
    monkeypatch.setattr(Checkpoints, "restore", lambda _self, _length: 0)


@pytest.mark.usefixtures("no_copies")
def test_auto_runs_plain_and_says_why_once(tiny_pair: TinyPair, tmp_path: Path) -> None:
    """H01 H08 H11 E10."""
    said: list[str] = []
    target = write_mamba(tmp_path / "m.gguf")
    with open_runtime(settings(PairFiles(target, tiny_pair.draft)), said.append) as runtime:
        tally = answer(runtime)
        assert runtime.describe().drafter == "none"
    assert tally.emitted == 20
    assert tally.drafted == 0
    (line,) = [each for each in said if "m.gguf" in each]
    assert line.startswith("no guessing: m.gguf cannot take a guess back: its cache forgets all")


@pytest.mark.usefixtures("no_copies")
@pytest.mark.parametrize("drafter", ["lookup", "model"])
def test_a_drafter_that_was_asked_for_is_refused(
    tiny_pair: TinyPair, tmp_path: Path, drafter: str
) -> None:
    """H01: no silent change of what was asked."""
    files = PairFiles(write_mamba(tmp_path / "m.gguf"), tiny_pair.draft)
    with (
        pytest.raises(PairRefused, match="cannot take a guess back") as caught,
        open_runtime(settings(files, drafters=(drafter,)), lambda _note: None),
    ):
        raise AssertionError("unreachable")
    assert "--plain" in caught.value.hint


def test_a_cache_that_lies_is_refused(tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    """H01: it says that it went back, and did not."""
    monkeypatch.setattr(Forgetting, "rewind", lambda _self, length: length)
    said: list[str] = []
    with open_runtime(settings(PairFiles(tiny_pair.target)), said.append) as runtime:
        assert runtime.describe().drafter == "none"
    assert any("gives other logits than before" in each for each in said)


@pytest.mark.usefixtures("no_copies")
@pytest.mark.parametrize("required", [False, True])
def test_a_draft_that_cannot_go_back_is_left_out_unless_it_was_named(
    tiny_pair: TinyPair, tmp_path: Path, required: bool
) -> None:
    files = PairFiles(tiny_pair.target, write_mamba(tmp_path / "draft.gguf"))
    chosen = settings(files, draft_required=required)
    said: list[str] = []
    if required:
        with pytest.raises(PairRefused, match=r"draft\.gguf cannot take a guess back"):
            open_runtime(chosen, said.append).__enter__()
        return
    with open_runtime(chosen, said.append) as runtime:
        assert answer(runtime).emitted == 20
    assert any(each.startswith("no draft model: draft.gguf cannot") for each in said)


def test_what_taking_back_costs_is_said_when_it_costs_anything(tmp_path: Path) -> None:
    """H06 H10."""
    said: list[str] = []
    target = write_qwen35(tmp_path / "m.gguf")
    with open_runtime(settings(PairFiles(target), gamma=3), said.append):
        pass
    (line,) = [each for each in said if "taken" in each or "takes" in each]
    assert line.startswith("m.gguf takes rejected guesses back by snapshots: 3 snapshots of its ")


def test_an_ordinary_pair_says_nothing_about_it(tiny_pair: TinyPair) -> None:
    said: list[str] = []
    with open_runtime(settings(PairFiles(tiny_pair.target, tiny_pair.draft)), said.append):
        pass
    assert not any("guess" in each for each in said)


def test_the_models_close_after_a_refusal(tmp_path: Path, no_copies: None) -> None:
    del no_copies
    target = write_mamba(tmp_path / "m.gguf")
    with (
        pytest.raises(PairRefused),
        open_runtime(settings(PairFiles(target), drafters=("lookup",)), lambda _note: None),
    ):
        raise AssertionError("unreachable")
    with Model.load(target) as model:
        assert model.n_vocab == 384
