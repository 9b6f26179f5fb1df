"""A pair opened from files: what is checked, what is shared, what may change between answers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.engine import Model
from localspec.errors import LocalspecError, NotHere, OptionError, PairRefused
from localspec.runtime.calibration import known_costs
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair
from tests.models import write_llama, write_mamba, write_window

GREEDY = SamplingParams(temperature=0)
PROMPT = np.array([0, *range(40, 60)], np.int32)


def settings(files: PairFiles, **changes: object) -> RunSettings:
    usual = RunSettings(
        files,
        drafters=("model",),
        gamma=3,
        sampling=GREEDY,
        max_tokens=60,
        target=Placement(context=256),
        threads=1,
    )
    return replace(usual, **changes)


def answer(runtime: Runtime, *, plain: bool = False) -> Tally:
    tally = Tally()
    for event in runtime.generate(PROMPT, plain=plain):
        tally.add(event)
    assert tally.emitted == tally.accepted + tally.passes - tally.cut
    assert tally.origins.count("draft") <= tally.accepted
    return tally


@pytest.fixture(scope="module")
def files(tiny_pair: TinyPair) -> PairFiles:
    return PairFiles(tiny_pair.target, tiny_pair.draft, "tiny")


@pytest.fixture(scope="module")
def runtime(files: PairFiles) -> Iterator[Runtime]:
    with open_runtime(settings(files), lambda _note: None) as opened:
        yield opened


def test_a_file_without_a_template_is_named_once(tmp_path: Path) -> None:
    """B16"""
    said: list[str] = []
    bare = write_llama(tmp_path / "bare.gguf", template=None)
    with open_runtime(settings(PairFiles(bare), drafters=("lookup",)), said.append) as opened:
        assert opened.template is None
    assert [text for text in said if "no chat template" in text] == said


@pytest.mark.parametrize("drafted", [{}, {"template": None}])
def test_a_base_model_beside_a_draft_is_named_once(
    tmp_path: Path, drafted: dict[str, None]
) -> None:
    bare = write_llama(tmp_path / "bare.gguf", template=None)
    draft = write_llama(tmp_path / "draft.gguf", n_layer=1, **drafted)
    said: list[str] = []
    with open_runtime(settings(PairFiles(bare, draft), drafters=("model",)), said.append):
        pass
    about = [text for text in said if "template" in text or "trained to chat" in text]
    assert len(about) == 1
    assert ("trained to chat" in about[0]) == (not drafted)


PASS = '{"rows": 1, "context": 32, "seconds": %s}'


@pytest.mark.parametrize(
    "wrong",
    [
        "[" * 100_000,
        '{"passes": {"a": 1}, "drafts": {}}',
        '{"passes": [%s], "drafts": {}}' % (PASS % '"fast"'),
        '{"passes": [%s], "drafts": {}}' % (PASS % "NaN"),
        '{"passes": [%s], "drafts": {}}' % (PASS % ("1" + "0" * 400)),
        '{"passes": [], "drafts": {"model": -1}}',
    ],
    ids=["deep", "no list", "no number", "nan", "huge", "negative"],
)
def test_costs_that_cannot_be_read_are_measured_anew(
    runtime: Runtime, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path))
    known_costs(runtime.loaded)
    (path,) = (tmp_path / "calibration").iterdir()
    good = path.read_text(encoding="utf-8")
    path.write_text(wrong, encoding="utf-8")
    costs = known_costs(runtime.loaded)
    assert {point.rows for point in costs.passes} >= {1, 2, 4}
    assert json.loads(path.read_text(encoding="utf-8")).keys() == json.loads(good).keys()


@pytest.mark.parametrize("drafters", [("model",), ("lookup",), ("lookup", "model")])
@pytest.mark.parametrize("gamma", [1, 2, 7])
def test_strict_greedy_ids_equal_plain_ones_for_every_drafter(
    files: PairFiles, drafters: tuple[str, ...], gamma: int
) -> None:
    """B07 B08 B14: whatever guesses, the ids are the target's own."""
    chosen = settings(files, drafters=drafters, gamma=gamma, strict=True)
    with open_runtime(chosen, lambda _note: None) as opened:
        speculative, plain = answer(opened), answer(opened, plain=True)
    assert speculative.tokens == plain.tokens
    assert plain.passes == plain.emitted
    assert speculative.drafted > 0


@pytest.mark.parametrize("drafters", [("model",), ("lookup",)])
def test_strict_coupled_ids_equal_plain_ones_at_a_temperature(
    files: PairFiles, drafters: tuple[str, ...]
) -> None:
    chosen = settings(
        files,
        drafters=drafters,
        strict=True,
        rule=RuleName.COUPLED,
        sampling=SamplingParams(temperature=0.8),
        seed=7,
    )
    with open_runtime(chosen, lambda _note: None) as opened:
        assert answer(opened).tokens == answer(opened, plain=True).tokens


def test_a_file_drafting_for_itself_is_loaded_once_and_always_accepted(files: PairFiles) -> None:
    """B07 B11 I05: weights shared, every guess right at temperature 0."""
    chosen = settings(PairFiles(files.target, files.target), strict=True)
    with open_runtime(chosen, lambda _note: None) as opened:
        assert opened.loaded.draft_model is opened.loaded.model
        tally = answer(opened)
    assert tally.acceptance_rate is not None
    assert tally.acceptance_rate > 0.95


def test_settings_change_between_answers_without_loading_anything(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F08 I06 J05: drafter and gamma change, the loaded files stay."""
    monkeypatch.setattr(Model, "load", lambda *_a, **_k: pytest.fail("loaded again"))
    before = answer(runtime)
    runtime.set_drafters(("none",))
    assert answer(runtime).drafted == 0
    runtime.set_drafters(("lookup", "model"))
    runtime.set_gamma(5)
    assert answer(runtime).drafted > 0
    runtime.set_drafters(("model",))
    runtime.set_gamma(3)
    assert answer(runtime).tokens[:5] == before.tokens[:5]


def test_a_gamma_beyond_the_rows_of_the_context_is_refused(runtime: Runtime) -> None:
    with pytest.raises(OptionError, match="at most"):
        runtime.set_gamma(60)
    assert runtime.settings.gamma == 3


def test_a_draft_of_another_vocabulary_is_refused_before_any_weight_is_loaded(
    files: PairFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A01: the first differing id is named with both texts."""
    monkeypatch.setattr(Model, "load", lambda *_a, **_k: pytest.fail("weights were loaded"))
    other = write_llama(tmp_path / "other.gguf", renamed={300: "elsewhere"})
    with (
        pytest.raises(PairRefused, match=r"300.*elsewhere"),
        open_runtime(settings(PairFiles(files.target, other)), lambda _note: None),
    ):
        pass


def test_extra_ids_of_the_target_are_mentioned_and_the_pair_runs(
    files: PairFiles, tmp_path: Path
) -> None:
    """A02 A03: a longer untexted tail fits, and no such id is ever written."""
    padded = write_llama(tmp_path / "padded.gguf", padding=16, boosted={390: 25.0})
    with open_runtime(settings(PairFiles(padded, files.draft)), lambda _note: None) as opened:
        assert opened.vocabulary.usable <= 384
        assert max(answer(opened).tokens) < 384
        assert max(answer(opened, plain=True).tokens) < 384


def test_a_broken_draft_stops_the_run_only_if_it_was_asked_for(
    files: PairFiles, tmp_path: Path
) -> None:
    """A16 E10: explicit: refused in one line; automatic: plain, with one reason."""
    broken = tmp_path / "broken.gguf"
    data = files.draft.read_bytes() if files.draft else b""
    broken.write_bytes(data[: len(data) // 2])
    pair = PairFiles(files.target, broken)
    with pytest.raises(LocalspecError), open_runtime(settings(pair), lambda _note: None):
        pass
    notes: list[str] = []
    with open_runtime(settings(pair, drafters=("auto",)), notes.append) as opened:
        assert answer(opened).emitted == 60
    assert len([note for note in notes if "draft" in note]) == 1


def test_a_missing_file_is_not_here(tmp_path: Path) -> None:
    with (
        pytest.raises(NotHere),
        open_runtime(settings(PairFiles(tmp_path / "none.gguf")), lambda _note: None),
    ):
        pass


def test_a_model_drafter_without_a_draft_model_is_an_option_error(files: PairFiles) -> None:
    with (
        pytest.raises(OptionError, match="draft model"),
        open_runtime(settings(PairFiles(files.target)), lambda _note: None),
    ):
        pass


@pytest.mark.parametrize("write", [write_mamba, write_window])
def test_models_that_cannot_simply_forget_write_the_plain_text_all_the_same(
    tmp_path: Path, write: object
) -> None:
    """B01 H01: a recurrent state or a sliding window costs time, never words."""
    target = write(tmp_path / "odd.gguf")  # type: ignore[operator]
    chosen = settings(PairFiles(target), drafters=("lookup",), lookup_min=1)
    with open_runtime(chosen, lambda _note: None) as opened:
        speculative, plain = answer(opened), answer(opened, plain=True)
    assert speculative.tokens == plain.tokens


def test_the_same_seed_gives_the_same_ids_and_another_seed_others(files: PairFiles) -> None:
    """C04: one seed rules drafting, accepting and replacing."""
    texts = []
    for seed in (1, 1, 2):
        chosen = settings(files, sampling=SamplingParams(temperature=0.8), seed=seed)
        with open_runtime(chosen, lambda _note: None) as opened:
            texts.append(answer(opened).tokens)
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_an_interrupted_answer_leaves_caches_that_the_next_one_repairs(runtime: Runtime) -> None:
    """K01: close after any round; the next answer equals a fresh one."""
    fresh = answer(runtime, plain=True).tokens
    for rounds in (1, 3, 8):
        events = runtime.generate(PROMPT)
        for _ in range(rounds):
            next(events)
        events.close()
        assert answer(runtime, plain=True).tokens == fresh
