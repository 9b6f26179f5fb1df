"""The search on a generated target: scored in memory, the best drafts made and measured."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from localspec.core.sampling import SamplingParams
from localspec.engine.skipping import Half, whole
from localspec.errors import PairRefused
from localspec.measure import check
from localspec.measure.arms import Kind, Prompt
from localspec.measure.check import Bench
from localspec.measure.costs import CostPoint, Costs, Survey
from localspec.measure.layerskip import Search, frontier, reading, search
from localspec.measure.live import LiveRunner
from localspec.measure.screen import plain_answers
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.models import write_llama, write_mamba

TEXT = np.arange(200, dtype=np.int32) % 300 + 20


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def bench_of(runtime: Runtime) -> Bench:
    prompts = tuple(Prompt("code", TEXT[at : at + 20], f"code {at}") for at in (0, 40))
    runner = LiveRunner(runtime, TEXT, 24)
    stored = plain_answers(runner, [Kind("code", prompts)], each=2, temperature=0.8, seed=1)
    points = tuple(
        CostPoint(rows, at, 0.01 * (1 + 0.1 * rows), 0.0, 7)
        for rows in range(1, 9)
        for at in (16, 64)
    )
    plan = Survey(TEXT, (1, 2), (16,), 2)
    return Bench(runtime, Costs(points), stored, plan, 0.8)


def settings(target: Path) -> RunSettings:
    return RunSettings(
        PairFiles(target),
        ("lookup",),
        gamma=7,
        sampling=SamplingParams(temperature=0.8),
        target=Placement(context=128),
        threads=1,
        seed=1,
    )


@pytest.fixture
def bench(tiny: Path, cache: Path) -> Iterator[Bench]:
    del cache
    with open_runtime(settings(tiny), lambda _note: None) as runtime:
        yield bench_of(runtime)


def test_nothing_left_out_keeps_the_whole_law_and_more_keeps_less(bench: Bench) -> None:
    with reading(bench, bench.stored.transcripts) as score:
        assert score(frozenset()) == pytest.approx(1.0, abs=1e-6)
        for left_out in (whole([1]), whole([1, 2]), frozenset({Half(1, "attn")})):
            assert 0 < score(left_out) < 0.99
        assert score(whole([1, 2, 3])) < score(frozenset({Half(3, "ffn")}))


def test_a_search_makes_and_measures_its_best_drafts(bench: Bench, cache: Path) -> None:
    notes: list[str] = []
    found = search(bench, Search(finalists=2, notify=notes.append))
    made = [point for point in found.points if point.measured]
    assert len(made) == 2
    assert found.best in made
    for point in made:
        assert point.measured is not None
        assert point.measured.path is not None
        assert point.measured.path.parent == cache / "layouts"
        assert point.measured.screened.acceptance is not None
    assert any("making" in note for note in notes)
    kept = frontier(found.points)
    assert all(0 < point.cost_ratio <= 1 for point in kept)
    assert len({point.label for point in kept}) == len(kept)


def test_an_overlap_found_in_memory_is_that_of_the_file(bench: Bench) -> None:
    """What a search believes of a draft, and what replay of the made file says, agree."""
    found = search(bench, Search(finalists=3))
    as_stored = [each for each in found.points if each.measured and not each.choice.type]
    for point in as_stored:
        assert point.measured is not None
        acceptance = point.measured.screened.acceptance
        assert acceptance == pytest.approx(point.beta, abs=0.2)
    assert len([each for each in found.points if each.measured]) == 3


def test_whole_blocks_only_when_asked(bench: Bench) -> None:
    found = search(bench, Search(halves=False, finalists=0))
    assert found.points
    for point in found.points:
        assert point.choice.halves == whole(point.choice.blocks)


def test_scores_are_remembered_from_one_search_to_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Search(halves=False, finalists=0)
    before = search(bench, first)
    monkeypatch.setattr(check, "plain_answers", lambda *_a, **_k: pytest.fail("asked again"))
    told: list[str] = []
    after = search(bench, Search(halves=False, finalists=0, memo=first.memo, notify=told.append))
    assert [point.beta for point in after.points] == [point.beta for point in before.points]
    assert not any("scored, " in line for line in told)


def test_a_search_without_time_finds_only_the_requantised_whole(bench: Bench) -> None:
    found = search(bench, Search(finalists=1, enough=lambda: True))
    assert [point.choice.halves for point in found.points] == [frozenset()]
    assert found.best is not None


@pytest.mark.parametrize("changes", [{"n_layer": 2}])
def test_a_target_that_cannot_be_pruned_says_why(
    tmp_path: Path, cache: Path, changes: dict[str, object]
) -> None:
    del cache
    target = write_llama(tmp_path / "short.gguf", **changes)
    with (
        open_runtime(settings(target), lambda _note: None) as runtime,
        pytest.raises(PairRefused, match="too few"),
    ):
        search(bench_of(runtime), Search())


def test_a_graph_without_names_is_noticed(tmp_path: Path, cache: Path) -> None:
    del cache
    target = write_mamba(tmp_path / "mamba.gguf")
    with (
        open_runtime(settings(target), lambda _note: None) as runtime,
        pytest.raises(PairRefused, match="does not name"),
    ):
        search(bench_of(runtime), Search())
