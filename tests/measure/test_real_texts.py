"""A real model's texts with every draft length, held against plain ones."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import pytest

from localspec.core.sampling import SamplingParams
from localspec.measure.arms import Arm, Design
from localspec.measure.bench import Tools, run_bench
from localspec.measure.findings import findings_of
from localspec.measure.live import LiveRunner, prompts_of
from localspec.measure.result import NEAR_TIE, BenchResult
from localspec.measure.survey import real_text
from localspec.measure.texts import builtin
from localspec.runtime.pair import open_runtime
from localspec.runtime.settings import LOOKUP, PairFiles, Placement, RunSettings
from tests.measure.scripted import Machine, ScriptedRunner, design, tools

ARMS = tuple(Arm((LOOKUP,), gamma) for gamma in (1, 3, 8))


def _quiet(text: str) -> None:
    del text


@pytest.fixture(scope="module")
def result(smollm: Path) -> Iterator[BenchResult]:
    settings = RunSettings(
        PairFiles(smollm, name="smol"),
        (LOOKUP,),
        gamma=8,
        sampling=SamplingParams(temperature=0.0),
        seed=1,
        target=Placement(context=1024),
    )
    with open_runtime(settings, _quiet) as runtime:
        runner = LiveRunner(runtime, real_text(runtime), max_tokens=24)
        kinds = [prompts_of(texts, runtime) for texts in builtin(("edit", "json"))]
        few = tuple(replace(kind, prompts=kind.prompts[:2]) for kind in kinds)
        yield run_bench(Design(few, ARMS, runs=1), runner, Tools(perf_counter, warmup=0))


@pytest.mark.slow
def test_a_text_differs_from_plain_only_at_a_near_tie(result: BenchResult) -> None:
    """B02, B04, B06, B08: what 'exact' means without strict width, on a real model."""
    for arm in ARMS:
        found = result.identical(arm)
        assert found is not None
        assert found.of == 4
        for difference in found.differences:
            assert difference.gap is not None
            assert difference.gap < NEAR_TIE
    assert not any("more than rounding" in text for text in findings_of(result).warnings)


@pytest.mark.slow
def test_copied_text_is_accepted_by_a_real_model(result: BenchResult) -> None:
    edits = [step for step in result.steps(ARMS[1], "edit") if step.drafted]
    assert edits
    assert sum(step.accepted for step in edits) > 0


def test_a_difference_that_rounding_cannot_explain_is_said() -> None:
    machine = Machine()
    runner = ScriptedRunner(machine, {"code": [0.8]}, wrong={("model γ3", 2): 17})
    runner.top_two_gap = lambda slot, tokens: 7.5  # type: ignore[method-assign]
    found = findings_of(run_bench(design(), runner, tools(machine)))
    assert any("7.50 apart: more than rounding explains" in text for text in found.warnings)
