"""Bench and check on a generated pair: real caches, real passes, no timed assertion."""

from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from localspec.errors import OptionError, PairRefused
from localspec.measure import calibration
from localspec.measure import survey as surveying
from localspec.measure.arms import Arm
from localspec.measure.bench import Tools, run_bench
from localspec.measure.check import check_draft, check_lookup, ranked, ready
from localspec.measure.findings import findings_of
from localspec.measure.identity import identify, key_of, machine_identity
from localspec.measure.noise import SystemMeter, others_share
from localspec.measure.prepare import Asked, check_sizes, kinds_of, prepare
from localspec.measure.survey import survey
from localspec.measure.texts import Text, Texts
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair

GREEDY = SamplingParams(temperature=0.0)
TEXTS = (
    Texts("code", tuple(Text(f"Write a function number {n}.") for n in range(4))),
    Texts("novel", tuple(Text(f"The ship of {n} masts left.", continued=True) for n in range(4))),
)


POINT = '{"rows": 1, "context": 64, "median_s": %s, "iqr_s": 0, "samples": 7}'
CURVE = '{"version": 1, "at": %s, "points": [%s]}'
WRONG_CURVES = (
    "{broken",
    "[" * 100_000,
    '{"a":' * 100_000,
    "[]",
    '"text"',
    "null",
    '{"version": 1, "at": 1, "points": 3}',
    CURVE % (1, "3"),
    CURVE % (1, POINT % '"fast"'),
    CURVE % (1, POINT % "0"),
    CURVE % (1, POINT % "NaN"),
    CURVE % (1, POINT % "-1"),
    CURVE % ('"yesterday"', POINT % "1"),
    CURVE % ("1" + "0" * 400, POINT % "1"),
)


def _quiet(text: str) -> None:
    del text


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "cache"))


def _settings(pair: TinyPair, **changes: object) -> RunSettings:
    files = PairFiles(pair.target, pair.draft, "tiny")
    base = RunSettings(
        files,
        drafters=("model",),
        gamma=8,
        sampling=GREEDY,
        seed=3,
        max_tokens=24,
        target=Placement(context=1024),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def _tools() -> Tools:
    return Tools(perf_counter, meter=SystemMeter(perf_counter), early_stop=False)


def _asked(**changes: object) -> Asked:
    return replace(Asked(TEXTS, runs=1, repeats=3), **changes)  # type: ignore[arg-type]


def test_every_arm_writes_the_plain_text_at_temperature_0_with_strict(
    tiny_pair: TinyPair,
) -> None:
    """B02, B07, B08: model, lookup and auto, compared token by token."""
    with open_runtime(_settings(tiny_pair, strict=True, strict_rows=12), _quiet) as runtime:
        ready = prepare(runtime, _asked(drafters=("model", "lookup", "auto"), gammas=(4,)))
        result = run_bench(ready.design, ready.runner, _tools())
        assert result.complete
        for arm in ready.design.arms:
            found = result.identical(arm)
            assert found is not None
            assert (found.same, found.of) == (4, 4)


def test_coupled_texts_are_equal_at_any_temperature(tiny_pair: TinyPair) -> None:
    settings = _settings(tiny_pair, rule=RuleName.COUPLED, strict=True, strict_rows=12)
    with open_runtime(settings, _quiet) as runtime:
        asked = _asked(drafters=("model",), gammas=(3,), temperatures=(0.8,))
        ready = prepare(runtime, asked)
        result = run_bench(ready.design, ready.runner, _tools())
    found = result.identical(Arm(("model",), 3, 0.8))
    assert found is not None
    assert found.same == found.of == 4


def test_arms_are_chosen_by_replay_and_predicted_beside_measured(tiny_pair: TinyPair) -> None:
    with open_runtime(_settings(tiny_pair), _quiet) as runtime:
        ready = prepare(runtime, _asked(drafters=("model", "lookup")))
        result = run_bench(ready.design, ready.runner, replace(_tools(), costs=ready.costs))
        gammas = {screen.drafter: screen.best.gamma for screen in ready.screens}
        chosen = {arm.name: arm.gamma for arm in ready.design.arms}
        assert chosen == gammas
        assert {screen.drafter for screen in ready.screens} == {"model", "lookup"}
        found = findings_of(result).overall[0]
    assert all(arm.predicted is not None for arm in found.arms)
    assert all(arm.speedup is not None for arm in found.arms)


def test_one_prompt_answered_again_is_drafted_as_the_first_time(tiny_pair: TinyPair) -> None:
    """E04: nothing is remembered from an earlier answer."""
    with open_runtime(_settings(tiny_pair), _quiet) as runtime:
        ready = prepare(runtime, _asked(drafters=("lookup",), gammas=(4,)))
        slot = next(slot for slot in next(ready.design.run(0)) if not slot.arm.plain)
        rounds = [
            [getattr(event, "accepted", None) for event in ready.runner.answer(slot)]
            for _ in range(3)
        ]
    assert rounds[0] == rounds[1] == rounds[2]


def test_raw_and_templated_are_two_rows_and_continued_text_has_no_template(
    tiny_pair: TinyPair,
) -> None:
    """O01: the template may lower the acceptance."""
    with open_runtime(_settings(tiny_pair), _quiet) as runtime:
        kinds = kinds_of(runtime, _asked(raw=True))
        names = [kind.name for kind in kinds]
        assert names == ["code", "code (raw)", "novel"]
        templated, raw = (bytes(_text(runtime, kind.prompts[0].ids)) for kind in kinds[:2])
        assert b"<|im_start|>user" in templated
        assert raw == b"Write a function number 0."


def _text(runtime: Runtime, ids: np.ndarray) -> bytes:  # type: ignore[type-arg]
    return runtime.vocabulary.detokenize(ids.tolist(), special=True)


def test_a_text_that_fits_no_context_is_refused(tiny_pair: TinyPair) -> None:
    long = (Texts("code", (Text("x" * 600),)),)
    settings = _settings(tiny_pair, target=Placement(context=64))
    with open_runtime(settings, _quiet) as runtime, pytest.raises(OptionError, match="fits"):
        kinds_of(runtime, _asked(texts=long))


def test_a_draft_larger_than_its_target_is_refused(tiny_pair: TinyPair, tmp_path: Path) -> None:
    """A15: the two were swapped."""
    from tests.models import write_llama

    small = write_llama(tmp_path / "small.gguf", n_layer=1)
    files = PairFiles(small, tiny_pair.target, "swapped")
    with (
        open_runtime(_settings(tiny_pair, files=files), _quiet) as runtime,
        pytest.raises(PairRefused, match="draft is larger than target"),
    ):
        check_sizes(runtime)


def test_a_curve_is_kept_and_read_back_with_its_age(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(surveying, "plausible", lambda points: len(said) < 1 < len(points))
    with open_runtime(_settings(tiny_pair), _quiet) as runtime:
        first = survey(runtime, repeats=2)
        again = survey(runtime, repeats=2, reuse_s=3600.0, notify=said.append)
        assert survey(runtime, repeats=1, reuse_s=3600.0, notify=said.append).age_s == 0.0
    assert first.age_s == 0.0
    assert again.age_s > 0.0
    assert "its shape was measured" in said[0]
    rows = {point.rows for point in again.costs.target}
    assert rows == {point.rows for point in first.costs.target} == set(range(1, 17))
    ratios = [(costs.pass_s(4, 64) / costs.pass_s(1, 64)) for costs in (first.costs, again.costs)]
    assert ratios[0] == pytest.approx(ratios[1])


def test_a_curve_of_another_file_option_or_machine_is_not_read(tiny_pair: TinyPair) -> None:
    machine, file = machine_identity(), identify(tiny_pair.target)
    key = key_of(machine, file, {"threads": 1}, "target")
    assert key == key_of(machine, identify(tiny_pair.target), {"threads": 1}, "target")
    others = [
        key_of(replace(machine, processor="another"), file, {"threads": 1}, "target"),
        key_of(replace(machine, engine="another"), file, {"threads": 1}, "target"),
        key_of(machine, identify(tiny_pair.draft), {"threads": 1}, "target"),
        key_of(machine, file, {"threads": 2}, "target"),
    ]
    assert len({key, *others}) == 5
    calibration.folder().mkdir(parents=True)
    for wrong in WRONG_CURVES:
        (calibration.folder() / f"{key}.json").write_text(wrong, encoding="utf-8")
        assert calibration.load(key) is None


def test_check_ranks_drafts_without_decoding_with_them(tiny_pair: TinyPair) -> None:
    settings = _settings(tiny_pair, drafters=("lookup",))
    with open_runtime(settings, _quiet) as runtime:
        bench = ready(runtime, kinds_of(runtime, _asked()), temperature=0.0, notify=_quiet)
        itself = check_draft(bench, tiny_pair.target)
        other = check_draft(bench, tiny_pair.draft)
        found = ranked(bench, [check_lookup(bench), other, itself])
    assert itself.screened.acceptance == pytest.approx(1.0, abs=0.05)
    assert (other.screened.acceptance or 0) <= (itself.screened.acceptance or 0)
    assert {each.drafter for each in found.candidates} == {"model", "lookup"}
    assert len(itself.screened.points) == 16
    assert set(itself.screened.by_kind) == {"code", "novel"}


def test_the_systems_meter_sees_our_own_work_as_ours() -> None:
    meter = SystemMeter(perf_counter)
    before = meter.read()
    end = perf_counter() + 0.3
    while perf_counter() < end:
        np.ones(10_000).sum()
    after = meter.read()
    assert after.own_s > before.own_s
    share = others_share(before, after, meter.processors)
    assert share is None or 0.0 <= share <= 1.0
