"""Replay of heads is exact where nothing is drawn: it counts the passes that a run then takes."""

from dataclasses import replace

import numpy as np
import pytest

from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.measure.heads import ReadFirst, heads_at_hand
from localspec.measure.replay import Transcript, head_chances, point_rounds
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair
from tests.heads import knowing_heads

PROMPT = [0, *range(30, 60)]


@pytest.fixture(scope="module")
def settings(tiny_pair: TinyPair, tmp_path_factory: pytest.TempPathFactory) -> RunSettings:
    path = tmp_path_factory.mktemp("heads") / "medusa.gguf"
    return RunSettings(
        PairFiles(tiny_pair.target),
        drafters=("medusa",),
        head=knowing_heads(tiny_pair.target, path, PROMPT),
        gamma=3,
        strict=True,
        sampling=SamplingParams(temperature=0),
        max_tokens=120,
        target=Placement(context=512),
        threads=1,
    )


def answer(runtime: Runtime, *, plain: bool) -> Tally:
    tally = Tally()
    for event in runtime.generate(np.array(PROMPT, np.int32), plain=plain):
        tally.add(event)
    return tally


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_replay_of_a_greedy_answer_counts_the_passes_of_a_run(
    settings: RunSettings, gamma: int
) -> None:
    with open_runtime(replace(settings, gamma=gamma), lambda _note: None) as runtime:
        tokens = answer(runtime, plain=True).tokens
        ran = answer(runtime, plain=False)
        target = runtime.loaded.target
        target.rewind(0)
        told = Transcript(
            "own", np.array(PROMPT, np.int32), np.array(tokens, np.int32), np.ones(len(tokens))
        )
        drafter = heads_at_hand(runtime)["medusa"]
        chances = head_chances(drafter, target, told, chunk=8)
    assert ran.tokens == tokens
    assert point_rounds(chances, gamma).count == pytest.approx(ran.passes)
    assert ran.passes < 110


def test_a_head_timed_alone_finds_the_state_it_needs(settings: RunSettings) -> None:
    from localspec.core.draft import DraftRequest

    history = np.array([0, *range(40, 90)], np.int32)
    with open_runtime(settings, lambda _note: None) as runtime:
        alone = ReadFirst(runtime.drafter("medusa"), runtime.loaded.target)
        alone.prefill(history)
        for length in (1, 3, 2):
            request = DraftRequest(length, lambda law, _i: int(law.ids[0]))
            assert len(alone.propose(history, request)) == length
