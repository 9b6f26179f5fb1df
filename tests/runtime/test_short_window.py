"""A window kept short: room for guesses in every round, far past the window."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tally import Tally
from localspec.drafters.lookup import LookupDrafter
from localspec.drafters.model import ModelDrafter
from localspec.engine import Context, ContextOptions, Model
from localspec.engine.shape import Rollback
from localspec.runtime.caches import quantised_agreement
from localspec.runtime.pair import open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair
from tests.models import write_window

GREEDY = SamplingParams(temperature=0)
PROMPT = np.array([0, *range(40, 140)], np.int32)
WINDOW, BATCH, LONG = 64, 64, 500
# Without strict width, passes of other widths and cells in another order move a logit by up to .01.
ROUNDING = 0.02
SHORT = ContextOptions(1024, BATCH, threads=1, kv_type_k="f32", kv_type_v="f32", swa_full=False)


class Watched(Context):
    """A short window that notes how far each rewind was asked to go, and went."""

    def __init__(self, model: Model, options: ContextOptions) -> None:
        self.rewinds: list[tuple[int, int]] = []
        super().__init__(model, options)
        self.rewinds.clear()

    def rewind(self, length: int) -> int:
        kept = super().rewind(length)
        self.rewinds.append((length, kept))
        return kept


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    path = write_window(tmp_path_factory.mktemp("window") / "target.gguf")
    with Model.load(path) as model, Watched(model, SHORT) as context:
        yield context


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    path = write_window(tmp_path_factory.mktemp("window") / "draft.gguf", noise=0.1)
    shape = replace(SHORT, max_rows=1, rollback=Rollback(guessing=True))
    with Model.load(path) as model, Watched(model, shape) as context:
        yield context


def written(target: Context, drafters: list[LookupDrafter | ModelDrafter], gamma: int) -> Tally:
    target.rewind(0)
    policy = FixedPolicy(gamma, tuple(each.name for each in drafters))
    options = GenerateOptions(max_tokens=LONG, sampling=GREEDY, usable=384)
    tally = Tally()
    for event in generate(target, PROMPT, options, speculation=Speculation(policy, drafters)):
        tally.add(event)
    return tally


@pytest.fixture(scope="module")
def plain(target: Watched) -> list[int]:
    return written(target, [], 0).tokens


def same_but_for_near_ties(target: Context, plain: list[int], found: list[int]) -> None:
    """Compare ids up to the first place where they may part: two logits nearer than rounding."""
    first = next((i for i, (a, b) in enumerate(zip(plain, found, strict=True)) if a != b), None)
    if first is None:
        return
    assert first > 2 * WINDOW
    history = np.concatenate([PROMPT, np.array(plain[:first], np.int32)])
    target.rewind(0)
    row = target.extend(history, 1)[-1]
    assert abs(float(row[plain[first]] - row[found[first]])) < ROUNDING
    assert row[plain[first]] > np.partition(row, -2)[-2] - ROUNDING


@pytest.mark.parametrize("gamma", [1, 4, 8])
def test_ids_equal_plain_ones_far_past_the_window_and_no_guess_costs_a_second_reading(
    target: Watched, draft: Watched, plain: list[int], gamma: int
) -> None:
    """B01 H07: each round's rewind goes exactly where it was asked to."""
    drafters = [ModelDrafter(draft, Sampler(GREEDY, 384))]
    for each in (target, draft):
        each.rewind(0)
        each.rewinds.clear()
    tally = written(target, drafters, gamma)
    same_but_for_near_ties(target, plain, tally.tokens)
    assert len(tally.tokens) == LONG > 4 * (WINDOW + BATCH) - 20
    assert len(target.rewinds) > LONG / 10
    assert all(asked == kept for each in (target, draft) for asked, kept in each.rewinds)


def test_lookup_in_a_short_window(target: Watched, plain: list[int]) -> None:
    same_but_for_near_ties(target, plain, written(target, [LookupDrafter(frozenset())], 6).tokens)


def test_strict_width_keeps_the_window_whole(tmp_path: Path) -> None:
    """The order of a ring's cells depends on what was rejected, and with it the last bits."""
    files = PairFiles(write_window(tmp_path / "w.gguf"))
    room = Placement(context=256)
    settings = RunSettings(files, gamma=3, strict=True, target=room, threads=1)
    with open_runtime(settings, lambda _note: None) as runtime:
        assert runtime.loaded.target.options.swa_full


def test_a_quantised_draft_cache_that_changes_its_guesses_is_said(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E14."""
    files = PairFiles(tiny_pair.target, tiny_pair.draft)
    monkeypatch.setattr("localspec.runtime.loading.quantised_agreement", lambda *_each: 0.25)
    for kind, count in (("q4_0", 1), ("f16", 0)):
        said: list[str] = []
        settings = RunSettings(
            files, gamma=3, target=Placement(context=128), draft=Placement(kv=kind), threads=1
        )
        with open_runtime(settings, said.append):
            pass
        assert sum("changes its guesses: 25% are those of an f16 cache" in s for s in said) == count


def test_the_agreement_of_a_quantised_cache_is_measured(tiny_pair: TinyPair) -> None:
    """E14."""
    with Model.load(tiny_pair.draft) as model:
        same = {
            kind: quantised_agreement(
                model, ContextOptions(256, threads=1, kv_type_k=kind, kv_type_v=kind)
            )
            for kind in ("f16", "q8_0", "q4_0")
        }
    assert same["f16"] == 1
    assert same["q4_0"] <= same["q8_0"] <= 1
