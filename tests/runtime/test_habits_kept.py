"""Acceptance kept from one session to the next, beside the calibration of the pair."""

import json
from dataclasses import replace

import numpy as np
import pytest

from localspec.core.habits import Habit
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.runtime.calibration import kept_path
from localspec.runtime.habits import HALVED_S, keep_habits, kept_habits
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from localspec.runtime.speculation import law_name
from tests.conftest import TinyPair

PROMPT = np.array([0, *range(40, 60), *range(40, 60)], np.int32)
HABITS = {"greedy": {"model": Habit(0.7, 200.0)}}


@pytest.fixture
def cache(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path))


@pytest.fixture
def settings(tiny_pair: TinyPair, cache: None) -> RunSettings:
    files = PairFiles(tiny_pair.target, tiny_pair.draft, "tiny")
    return RunSettings(
        files,
        drafters=("lookup",),
        sampling=SamplingParams(temperature=0),
        max_tokens=60,
        target=Placement(context=256),
        threads=1,
    )


def answered(runtime: Runtime) -> Tally:
    tally = Tally()
    for event in runtime.generate(PROMPT):
        tally.add(event)
    return tally


def test_what_was_judged_in_one_session_is_known_in_the_next(settings: RunSettings) -> None:
    """Guesses that were not submitted count too: what was written judges them."""
    with open_runtime(settings, lambda _note: None) as runtime:
        judged = answered(runtime).judged
        assert kept_habits(runtime.loaded) == {}
    with open_runtime(settings, lambda _note: None) as runtime:
        found = kept_habits(runtime.loaded)
        assert found["greedy"]["lookup"].count >= max(judged, 1) - 0.01


def test_a_change_of_settings_forgets_nothing(settings: RunSettings) -> None:
    with open_runtime(settings, lambda _note: None) as runtime:
        answered(runtime)
        runtime.set_drafters(("none",))
        runtime.remember()
        before = kept_habits(runtime.loaded)["greedy"]["lookup"].count
        runtime.set_drafters(("lookup",))
        answered(runtime)
        runtime.remember()
        assert kept_habits(runtime.loaded)["greedy"]["lookup"].count > before > 0


def test_a_habit_halves_in_a_month(settings: RunSettings) -> None:
    with open_runtime(settings, lambda _note: None) as runtime:
        keep_habits(runtime.loaded, HABITS, clock=lambda: 1000.0)
        later = kept_habits(runtime.loaded, clock=lambda: 1000.0 + HALVED_S)
        assert later == {"greedy": {"model": Habit(0.7, 100.0)}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        json.dumps({"at": 0, "habits": {"greedy": {"model": {"mean": 7, "count": 1}}}}),
    ],
)
def test_a_file_that_makes_no_sense_is_as_good_as_none(settings: RunSettings, text: str) -> None:
    with open_runtime(settings, lambda _note: None) as runtime:
        path = kept_path(runtime.loaded).with_suffix(".acceptance.json")
        path.write_text(text, encoding="utf-8")
        assert kept_habits(runtime.loaded) == {}


def test_laws_are_kept_apart(settings: RunSettings) -> None:
    assert law_name(settings) == "greedy"
    assert law_name(replace(settings, sampling=SamplingParams())) == "sampled"
