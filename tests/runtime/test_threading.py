"""Threads by measurement: another number only when it is clearly faster, never by noise."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from localspec.engine import Context, ContextOptions, Model
from localspec.engine.threads import allowed_cpus, candidates
from localspec.runtime import calibration, threading
from localspec.runtime.pair import open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from localspec.runtime.threading import Chosen, choose, fastest


def noisy(means: dict[int, float], spread: float, seed: int) -> Callable[[int], float]:
    rng = np.random.default_rng(seed)
    return lambda number: means[number] * float(np.exp(spread * rng.standard_normal()))


def test_equal_numbers_leave_the_default_whatever_the_noise() -> None:
    """Four hundred machines with seeds of their own: fixed, so it passes or fails for ever."""
    same = {2: 0.01, 4: 0.01, 1: 0.01}
    chosen = [fastest(noisy(same, 0.3, seed), (2, 4, 1), budget_s=9) for seed in range(400)]
    assert chosen.count(2) >= 398


def test_a_slower_number_is_never_taken() -> None:
    means = {2: 0.01, 4: 0.012, 1: 0.015}
    chosen = {fastest(noisy(means, 0.3, seed), (2, 4, 1), budget_s=9) for seed in range(400)}
    assert chosen == {2}


def test_a_number_that_is_clearly_faster_is_taken() -> None:
    means = {2: 0.01, 4: 0.006, 1: 0.02}
    chosen = [fastest(noisy(means, 0.05, seed), (2, 4, 1), budget_s=9) for seed in range(50)]
    assert chosen.count(4) == 50


def test_a_model_too_slow_to_measure_keeps_the_default() -> None:
    assert fastest(noisy({2: 5.0, 4: 0.1}, 0.0, 1), (2, 4), budget_s=3) == 2


@pytest.mark.parametrize(
    ("cpus", "expected"), [({0, 1}, (2, 1)), ({0}, (1,)), ({0, 1, 2, 3}, (4, 2))]
)
def test_candidates_begin_with_the_default(
    tmp_path: Path, cpus: set[int], expected: tuple[int, ...]
) -> None:
    assert candidates(tmp_path, frozenset(cpus)) == expected


def test_one_row_and_several_are_chosen_apart(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine takes one number for one row, another for two rows and more."""
    picks = iter((1, 2))
    monkeypatch.setattr(threading, "others_busy", lambda: False)
    monkeypatch.setattr(threading, "fastest", lambda *_a, **_k: next(picks))
    with Context(tiny_model, ContextOptions(64)) as context:
        assert choose(context, clock=perf_counter, numbers=(2, 1)) == Chosen(1, 2)
        assert context.threads == (1, 2)
        assert len(context.tokens) == 0


def test_a_busy_machine_keeps_the_default(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is fastest beside others would stay chosen when they are gone."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.6 * len(allowed_cpus()), 0, 0), raising=False)
    monkeypatch.setattr(threading, "fastest", lambda *_a, **_k: pytest.fail("measured"))
    with Context(tiny_model, ContextOptions(64)) as context:
        before = context.threads
        assert choose(context, clock=perf_counter, numbers=(2, 1)) == Chosen(*before)


def test_a_number_the_user_gave_is_kept(tiny_model: Model) -> None:
    with Context(tiny_model, ContextOptions(64, threads=1)) as context:
        assert choose(context, clock=perf_counter, numbers=(2, 1)) == Chosen(1, 1)


def test_the_choice_is_kept_with_the_costs_and_used_again(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path))
    settings = RunSettings(PairFiles(tiny), ("lookup",), target=Placement(context=64), seed=1)

    def pick(context: Context, **_rest: object) -> None:
        context.set_threads(1, 3)

    monkeypatch.setattr(calibration, "choose", pick)
    with open_runtime(settings, lambda _note: None) as opened:
        opened.set_gamma(None)
        costs = opened._workshop.costs
        assert costs is not None
        assert opened.loaded.target.threads == (1, 3)
        path = calibration.kept_path(opened.loaded)
    record = json.loads(path.read_text())
    assert record["threads"] == [[1, 3]]
    assert "waiting" in record
    monkeypatch.setattr(calibration, "choose", lambda *_a, **_k: pytest.fail("measured again"))
    with open_runtime(settings, lambda _note: None) as opened:
        assert opened.loaded.target.threads == (1, 3)


@pytest.mark.parametrize(
    "kept", ["[[0, 2]]", "[[1, 9999]]", "7", '[["a", "b"]]', "[[1, 2], [1, 2]]"]
)
def test_a_record_that_makes_no_sense_changes_nothing(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path))
    settings = RunSettings(PairFiles(tiny), ("lookup",), 2, target=Placement(context=64), seed=1)
    with open_runtime(settings, lambda _note: None) as opened:
        before = opened.loaded.target.threads
        path = calibration.kept_path(opened.loaded)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{{"threads": {kept}}}')
    with open_runtime(settings, lambda _note: None) as opened:
        assert opened.loaded.target.threads == before
