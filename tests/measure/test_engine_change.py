"""Two builds of the engine: what was measured or chosen with one is not used by the other."""

import os
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from localspec.core.cost_curve import CostPoint, CostSeed
from localspec.core.habits import Habit
from localspec.core.sampling import SamplingParams
from localspec.engine import library
from localspec.engine.quantise import Recipe
from localspec.engine.skipping import whole
from localspec.measure import survey as surveying
from localspec.measure.survey import survey
from localspec.runtime import calibration, layerskip
from localspec.runtime.choices import Choice, ChosenFile, load_choice, save_choice
from localspec.runtime.habits import keep_habits, kept_habits
from localspec.runtime.layouts import ensure_layout, kept_layouts
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair

Change = Callable[[], None]
SEED = CostSeed((CostPoint(1, 32, 0.5), CostPoint(4, 32, 0.7)), {"model": 0.1})
HABITS = {"greedy": {"model": Habit(0.7, 200.0)}}


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "STATE"):
        monkeypatch.setenv(f"LOCALSPEC_{name}", str(tmp_path / name))


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay an engine's libraries in a folder, as a build leaves them."""
    library.load()  # the real one, before another folder is named
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libllama.so").write_bytes(b"one")
    os.utime(folder / "libllama.so", ns=(1, 1))
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(folder))
    return folder


def _newer(_libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _name: "99.0.1")


def _other_features(libraries: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    (libraries / "libllama.so").write_bytes(b"with more of the processor's features")


def _built_again(libraries: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(libraries / "libllama.so", ns=(2, 2))


def _another_backend(libraries: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    (libraries / "libggml-vulkan.so").write_bytes(b"x")


@pytest.fixture(params=[_newer, _other_features, _built_again, _another_backend])
def change(
    request: pytest.FixtureRequest, libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> Change:
    """Put another build of the engine in place of the first."""
    return lambda: request.param(libraries, monkeypatch)


def _settings(pair: TinyPair) -> RunSettings:
    return RunSettings(
        PairFiles(pair.target, pair.draft, "tiny"),
        drafters=("model",),
        gamma=4,
        sampling=SamplingParams(temperature=0),
        target=Placement(context=512),
        threads=1,
    )


@pytest.fixture
def runtime(tiny_pair: TinyPair, libraries: Path):
    del libraries
    with open_runtime(_settings(tiny_pair), lambda _note: None) as runtime:
        yield runtime


def test_a_build_is_named_without_loading_it_and_stays_the_same(libraries: Path) -> None:
    first = library.engine_build()
    assert first == library.engine_build()
    assert first.startswith(f"{library.engine_version()}-")
    (libraries / "folder").mkdir()
    assert library.engine_build() == first


def test_the_installed_engine_has_libraries_that_name_its_build(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LLAMA_CPP_LIB_PATH", raising=False)
    installed = library.engine_build()
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path))
    assert library.engine_build() != installed


def test_a_switch_of_the_kernels_makes_another_build(
    libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del libraries
    plain = library.engine_build()
    monkeypatch.setenv("GGML_NO_BACKTRACE", "1")
    assert library.engine_build() == plain
    monkeypatch.setenv("GGML_CPU_TILED_MM", "0")
    assert library.engine_build() != plain


def test_costs_of_another_build_are_measured_anew(
    runtime: Runtime, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I11 E13: the policy of a new build never begins with the costs of the old one."""
    calibration.keep_costs(runtime.loaded, SEED)
    monkeypatch.setattr(calibration, "calibrate", lambda _loaded: CostSeed((), {"model": 9.0}))
    assert calibration.known_costs(runtime.loaded) == SEED
    change()
    assert calibration.known_costs(runtime.loaded).drafts == {"model": 9.0}


def test_acceptance_seen_with_another_build_is_forgotten(runtime: Runtime, change: Change) -> None:
    """I11 E13: the same files gave 92 % with one build and 41 % with another."""
    keep_habits(runtime.loaded, HABITS)
    assert kept_habits(runtime.loaded)["greedy"]["model"].count == pytest.approx(200, rel=0.01)
    change()
    assert kept_habits(runtime.loaded) == {}


def test_a_cost_curve_of_another_build_is_not_reused(
    runtime: Runtime, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I11: neither by `check`, which takes a young curve."""
    monkeypatch.setattr(surveying, "plausible", lambda _points: True)  # whatever else runs here
    first = survey(runtime, repeats=1)
    assert first.age_s == 0
    said: list[str] = []
    survey(runtime, repeats=1, reuse_s=3600.0, notify=said.append)
    assert any("its shape was measured" in line for line in said)
    said.clear()
    change()
    assert survey(runtime, repeats=1, reuse_s=3600.0, notify=said.append).age_s == 0
    assert said == []


def test_what_was_tuned_with_another_build_is_no_choice(
    tiny_pair: TinyPair, change: Change
) -> None:
    """I11: a pair that was fastest before an update may not even load after it."""
    given = PairFiles(tiny_pair.target, tiny_pair.draft)
    draft = ChosenFile(str(tiny_pair.draft), Recipe("q4_0", pure=True))
    choice = Choice(ChosenFile(str(tiny_pair.target)), draft, "model", 3, 1.4)
    save_choice(given, choice)
    assert load_choice(given) == choice
    change()
    assert load_choice(given) is None
    save_choice(given, replace(choice, gamma=2))
    assert load_choice(given) == replace(choice, gamma=2)


def test_a_layout_and_a_search_belong_to_the_version_that_made_them(
    tiny_pair: TinyPair, libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I11: another version writes its own file, and the record says which one wrote the first."""
    recipe, cut = Recipe("q4_0", pure=True), layerskip.Choice(whole([1]), "q4_0", "searched")
    first = ensure_layout(tiny_pair.target, recipe, lambda _text: None)
    layerskip.keep(tiny_pair.target, cut)
    version = library.engine_version()
    assert layerskip.chosen(tiny_pair.target) == cut
    _newer(libraries, monkeypatch)
    second = ensure_layout(tiny_pair.target, recipe, lambda _text: None)
    assert second != first
    assert {kept.path: kept.engine for kept in kept_layouts()} == {first: version, second: "99.0.1"}
    assert layerskip.chosen(tiny_pair.target) is None
