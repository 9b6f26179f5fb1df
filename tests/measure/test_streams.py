"""Several answers at the same time on a generated pair: the texts of one, counters that hold."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import active_count
from time import perf_counter

import numpy as np
import pytest

from localspec.core.statistics import Estimate
from localspec.measure.arms import Arm, Design, Kind, Prompt
from localspec.measure.findings import ArmFound
from localspec.measure.lanes import Lane
from localspec.measure.live import LiveRunner
from localspec.measure.noise import SystemMeter
from localspec.measure.result import NEAR_TIE, BenchResult
from localspec.measure.sample import take
from localspec.measure.streams import (
    StreamsFound,
    StreamsTools,
    arms_for_streams,
    measure_streams,
    slots_of,
    streams_sentence,
)
from localspec.measure.verdict import Quiet, Word
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair
from tests.measure.test_live_bench import GREEDY

ARMS = (Arm(("model",), 3), Arm(("lookup",), 4), Arm(("lookup", "model"), 2))
TOOLS = StreamsTools(perf_counter)


def ids(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(5, 300, count).astype(np.int32)


def kind(name: str, seed: int, count: int = 4) -> Kind:
    prompts = (Prompt(name, ids(12 + 7 * n, seed + n), f"{name} {n}") for n in range(count))
    return Kind(name, tuple(prompts))


DESIGN = Design((kind("code", 1), kind("story", 50)), ARMS, runs=2, seed=5)


@pytest.fixture(scope="module")
def runtime(tiny_pair: TinyPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALSPEC_CACHE", str(tmp_path_factory.mktemp("cache")))
        files = PairFiles(tiny_pair.target, tiny_pair.draft, "tiny")
        settings = RunSettings(
            files,
            ("model",),
            8,
            sampling=GREEDY,
            seed=3,
            threads=1,
            target=Placement(context=512),
        )
        with open_runtime(settings, lambda _text: None) as opened:
            yield opened


@pytest.fixture
def runner(runtime: Runtime) -> LiveRunner:
    return LiveRunner(runtime, ids(200, 9), 20)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_text_is_the_one_written_alone_but_for_near_ties(
    runner: LiveRunner, count: int
) -> None:
    """B02, B07, B08: model, lookup and a chain, with as many sequences in a pass."""
    for arm in (Arm(), *ARMS):
        with Lane(runner, arm, slots_of(DESIGN, count), count) as lane:
            while not lane.drained:
                lane.advance(50)
        assert len(lane.samples) >= len(slots_of(DESIGN, count)) - count + 1
        for sample in lane.samples:
            alone = take(sample.slot, runner.answer(replace(sample.slot, arm=Arm()))).tokens
            same = sum(a == b for a, b in zip(sample.tokens, alone, strict=False))
            if sample.tokens[:same] != alone[:same] or same < min(len(sample.tokens), len(alone)):
                place = next(i for i, t in enumerate(sample.tokens) if t != alone[i])
                gap = runner.top_two_gap(sample.slot, sample.tokens[:place])
                assert gap is not None
                assert gap <= 0.05 < NEAR_TIE


def test_counters_hold_in_every_sequence(runner: LiveRunner) -> None:
    with Lane(runner, ARMS[0], slots_of(DESIGN, 3), 3) as lane:
        while not lane.drained:
            lane.advance(50)
    for sample in lane.samples:
        assert sample.emitted + sample.total("cut") == len(sample.steps) + sample.total("accepted")
        assert all(step.judged <= step.drafted <= 3 for step in sample.steps)
    assert lane.written >= sum(sample.emitted for sample in lane.samples)
    assert lane.lockstep.draft_passes > lane.lockstep.passes  # draft passes are shared, too


def test_draft_passes_hold_a_row_of_each_sequence(runner: LiveRunner) -> None:
    with Lane(runner, ARMS[0], slots_of(DESIGN, 4), 4) as lane:
        assert lane.lockstep.round()
        assert (lane.lockstep.passes, lane.lockstep.draft_passes) == (1, 3)


def test_every_number_of_sequences_is_measured_with_every_arm(runner: LiveRunner) -> None:
    tools = replace(TOOLS, meter=SystemMeter(perf_counter))
    found = list(measure_streams(runner, DESIGN, (1, 3), tools))
    assert [each.streams for each in found] == [1, 3]
    for each in found:
        assert not each.result.stopped
        assert (each.plain_tps or 0) > 0
        assert [arm.arm for arm in each.arms] == list(ARMS)
        for arm in each.arms:
            assert arm.identical is not None
            assert arm.identical.of >= 4
            assert all((d.gap or 0) <= 0.05 for d in arm.identical.differences)
            assert (arm.tokens_per_s or 0) > 0
            assert arm.tokens_per_pass is not None
            assert 1 <= arm.tokens_per_pass <= (arm.arm.gamma or 0) + 1


def test_only_arms_with_a_fixed_gamma_on_ids_alone_share_passes(runner: LiveRunner) -> None:
    warm = Arm(("model",), 2, 0.7)
    arms = (Arm(("auto",)), ARMS[1], Arm(("eagle3",), 3), Arm(("lookup", "mtp"), 3), warm)
    assert arms_for_streams(arms) == (ARMS[1],)
    assert arms_for_streams(()) == ()
    said: list[str] = []
    tools = replace(TOOLS, notify=said.append)
    assert list(measure_streams(runner, replace(DESIGN, arms=arms[:1]), (1,), tools)) == []
    assert "no drafter here has a fixed γ" in said[0]


def test_prompts_come_from_every_kind_and_two_for_each_sequence() -> None:
    slots = slots_of(DESIGN, 8)
    assert len(slots) == 16
    assert [slot.kind for slot in slots[:4]] == ["code", "story", "code", "story"]
    assert len({slot.prompt.ids.tobytes() for slot in slots}) == 8
    again = [slot for slot in slots if slot.prompt is slots[0].prompt]
    assert len({slot.seed for slot in again}) == len(again) == 2
    assert len(slots_of(replace(DESIGN, runs=6), 1)) == 8


@pytest.mark.parametrize("turn", [0, 1, 5])
def test_ctrl_c_keeps_what_there_is_and_frees_everything(
    runner: LiveRunner, monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    advance, turns, threads = Lane.advance, [0], active_count()

    def pressed(self: Lane, tokens: int) -> None:
        turns[0] += 1
        if turns[0] > turn:
            raise KeyboardInterrupt
        advance(self, tokens)

    monkeypatch.setattr(Lane, "advance", pressed)
    found = list(measure_streams(runner, DESIGN, (2, 4), TOOLS))
    assert [each.streams for each in found] == [2]
    assert found[0].result.stopped == "interrupted"
    assert bool(found[0].result.samples) == (turn > 0)
    assert active_count() == threads


def test_the_time_limit_gives_what_there_is(runner: LiveRunner) -> None:
    now, said = [0.0], list[str]()

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    tools = StreamsTools(clock, end=6.0, notify=said.append)
    found = list(measure_streams(runner, DESIGN, (1, 2), tools))
    assert [each.result.stopped for each in found] == ["time"]
    assert list(measure_streams(runner, DESIGN, (2,), tools)) == []
    assert said == ["--streams: no time was left for 2 at once"]


def test_sequences_without_room_are_said_and_the_others_kept(
    runner: LiveRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    from localspec.errors import PairRefused
    from localspec.measure import lanes

    def limited(model: object, options: object) -> object:
        if options.sequences > 1:  # type: ignore[attr-defined]
            raise PairRefused("no context of 999 tokens")
        return opened(model, options)  # type: ignore[arg-type]

    opened, said = lanes.SharedContext, list[str]()
    monkeypatch.setattr(lanes, "SharedContext", limited)
    tools = replace(TOOLS, notify=said.append)
    assert [f.streams for f in measure_streams(runner, DESIGN, (1, 2, 4), tools)] == [1]
    assert said == ["--streams: 2 at once: no context of 999 tokens"]


def _found(monkeypatch: pytest.MonkeyPatch, *points: tuple[int, float, Word]) -> list[StreamsFound]:
    arms = {
        count: ArmFound(
            ARMS[0], word, value, Estimate(value, value, value), 9.0, None, None, (), None, None
        )
        for count, value, word in points
    }
    monkeypatch.setattr(StreamsFound, "best", property(lambda self: arms[self.streams]))
    return [StreamsFound(count, BenchResult(DESIGN, ()), Quiet()) for count, _, _ in points]


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (
            ((1, 1.4, Word.PAYS), (4, 0.9, Word.SLOWER)),
            "A draft pays with 1 sequence (model γ3: 1.40 times as fast); the gain is gone with "
            "4 sequences at once (model γ3: 0.90 times as fast).",
        ),
        (
            ((1, 0.9, Word.SLOWER),),
            "The gain is gone with 1 sequence (model γ3: 0.90 times as fast).",
        ),
        (
            ((2, 1.2, Word.PAYS),),
            "A draft still pays with 2 sequences at once (model γ3: 1.20 times as fast).",
        ),
        (((2, 1.2, Word.NOISY),), "Too noisy to say."),
        ((), ""),
    ],
)
def test_a_sentence_says_where_the_gain_is_gone(
    points: tuple[tuple[int, float, Word], ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert streams_sentence(_found(monkeypatch, *points)) == said


def test_a_lane_frees_its_caches_when_its_target_has_no_room(
    runner: LiveRunner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from localspec.engine import SharedContext
    from localspec.errors import PairRefused
    from localspec.measure import lanes

    opened: list[SharedContext] = []

    def second_fails(model: object, options: object) -> SharedContext:
        if opened:
            raise PairRefused("no room")
        opened.append(SharedContext(model, options))  # type: ignore[arg-type]
        return opened[0]

    monkeypatch.setattr(lanes, "SharedContext", second_fails)
    with pytest.raises(PairRefused, match="no room"):
        Lane(runner, ARMS[0], slots_of(DESIGN, 2), 2)
    with pytest.raises(ValueError, match="closed"):
        opened[0].extend([])
