"""Turns over real engine sequences: caches reused, repaired, and never remembered by a drafter."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair
from tests.models import write_window

GREEDY = SamplingParams(temperature=0)


def settings(files: PairFiles, **changes: object) -> RunSettings:
    usual = RunSettings(
        files,
        drafters=("lookup", "model"),
        gamma=4,
        strict=True,
        sampling=GREEDY,
        max_tokens=40,
        target=Placement(context=512),
        threads=1,
    )
    return replace(usual, **changes)


def answer(runtime: Runtime, history: list[int], *, plain: bool = False) -> Tally:
    tally = Tally()
    for event in runtime.generate(np.array(history, np.int32), plain=plain):
        tally.add(event)
    return tally


def three_turns(runtime: Runtime, *, plain: bool) -> list[list[int]]:
    """Answer, go on, edit the second question, go on."""
    first = [0, *range(30, 60)]
    one = answer(runtime, first, plain=plain).tokens
    two = answer(runtime, [*first, *one, 70, 71, 72], plain=plain).tokens
    edited = answer(runtime, [*first, *one, 90, 91], plain=plain).tokens
    return [one, two, edited]


@pytest.mark.parametrize("windowed", [False, True])
def test_three_turns_with_an_edit_equal_plain_ones(
    tiny_pair: TinyPair, tmp_path: Path, windowed: bool
) -> None:
    """G10 G16 H07: logits are asked for every verified row, in every turn."""
    target = write_window(tmp_path / "window.gguf") if windowed else tiny_pair.target
    with open_runtime(settings(PairFiles(target, tiny_pair.draft)), lambda _n: None) as runtime:
        speculative = three_turns(runtime, plain=False)
    with open_runtime(settings(PairFiles(target, tiny_pair.draft)), lambda _n: None) as runtime:
        assert three_turns(runtime, plain=True) == speculative


def test_a_second_turn_reads_only_what_is_new(tiny_pair: TinyPair) -> None:
    files = PairFiles(tiny_pair.target, tiny_pair.draft)
    with open_runtime(settings(files), lambda _n: None) as runtime:
        first = [0, *range(30, 90)]
        one = answer(runtime, first)
        two = answer(runtime, [*first, *one.tokens, 70, 71])
    assert one.reused == 0
    assert two.reused >= len(first) + len(one.tokens) - 5


def test_the_same_prompt_three_times_costs_the_same_rounds(tiny_pair: TinyPair) -> None:
    """E04: no drafter replays an answer that it has only given before."""
    files = PairFiles(tiny_pair.target, tiny_pair.draft)
    with open_runtime(settings(files), lambda _n: None) as runtime:
        runs = [answer(runtime, [0, *range(30, 60)]) for _ in range(3)]
    assert len({run.passes for run in runs}) == 1
    assert len({run.accepted for run in runs}) == 1


@pytest.mark.parametrize("draft_context", [40, 64])
def test_a_draft_context_smaller_than_the_target_s_ends_guessing_not_the_answer(
    tiny_pair: TinyPair, draft_context: int
) -> None:
    """G03 G08 G09: beyond the draft's context the target goes on alone."""
    files = PairFiles(tiny_pair.target, tiny_pair.draft)
    chosen = settings(
        files, drafters=("model",), max_tokens=120, draft=Placement(context=draft_context)
    )
    with open_runtime(chosen, lambda _n: None) as runtime:
        assert runtime.loaded.draft is not None
        assert runtime.loaded.draft.capacity == draft_context
        tally = answer(runtime, [0, *range(30, 60)])
        assert 31 + tally.emitted > draft_context
        assert tally.tokens == answer(runtime, [0, *range(30, 60)], plain=True).tokens
    assert tally.drafted > 0
    assert all(step.drafted == 0 for step in tally.steps if step.position > draft_context)


IDLE = """
import sys, time, numpy as np
from pathlib import Path
from localspec.runtime.pair import open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
files = PairFiles(Path(sys.argv[1]), Path(sys.argv[2]))
with open_runtime(RunSettings(files, gamma=3, target=Placement(context=2048)), print) as runtime:
    try:
        for _ in range(1000):
            for event in runtime.generate(np.arange(5, 45, dtype=np.int32)):
                print("event", flush=True)
    except KeyboardInterrupt:
        print("stopped", flush=True)
        time.sleep(3)
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a child")
def test_after_ctrl_c_no_thread_of_the_engine_stays_busy(tiny_pair: TinyPair) -> None:
    """K02: the processor is idle once the answer has been stopped."""
    command = [sys.executable, "-c", IDLE, str(tiny_pair.target), str(tiny_pair.draft)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert next(line for line in child.stdout if line == "event\n")
        child.send_signal(signal.SIGINT)
        assert next(line for line in child.stdout if line == "stopped\n")
        process = psutil.Process(child.pid)
        time.sleep(0.5)
        before = process.cpu_times()
        time.sleep(2)
        after = process.cpu_times()
        child.kill()
    used = after.user + after.system - before.user - before.system
    assert used < 0.2
