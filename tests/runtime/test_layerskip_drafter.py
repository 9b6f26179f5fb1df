"""The drafter `layerskip`: made of the target, exact, refused with a reason, whole or not there."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.engine import Model
from localspec.engine.skipping import Half, whole
from localspec.errors import LocalspecError, OptionError, PairRefused
from localspec.runtime import layerskip
from localspec.runtime.layerskip import Choice, chosen, default, ensure_skipped, keep, refusal
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.models import write_llama, write_mamba, write_window

PROMPT = np.array([0, *range(40, 60)], np.int32)
SINGLE = Choice(frozenset({Half(1, "attn"), Half(2, "ffn")}), None, "searched")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def settings(target: Path, **changes: object) -> RunSettings:
    usual = RunSettings(
        PairFiles(target),
        drafters=("layerskip",),
        gamma=3,
        sampling=SamplingParams(temperature=0),
        max_tokens=60,
        target=Placement(context=256),
        threads=1,
        strict=True,
        seed=7,
    )
    return replace(usual, **changes)


def answer(runtime: Runtime, *, plain: bool = False) -> Tally:
    tally = Tally()
    for event in runtime.generate(PROMPT, plain=plain):
        tally.add(event)
    assert tally.emitted == tally.accepted + tally.passes - tally.cut
    return tally


@pytest.mark.parametrize("choice", [None, SINGLE, Choice(whole([2]), "q4_0", "searched")])
@pytest.mark.parametrize("drafters", [("layerskip",), ("lookup", "layerskip")])
def test_strict_greedy_ids_equal_plain_ones(
    tiny: Path, choice: Choice | None, drafters: tuple[str, ...]
) -> None:
    """B14: blamed on rounding elsewhere; here the ids are equal, and drafts were accepted."""
    if choice:
        keep(tiny, choice)
    with open_runtime(settings(tiny, drafters=drafters), lambda _note: None) as opened:
        speculative, plain = answer(opened), answer(opened, plain=True)
    assert speculative.tokens == plain.tokens
    assert plain.passes == plain.emitted
    assert 0 < speculative.accepted < speculative.drafted


def test_strict_coupled_ids_equal_plain_ones_at_a_temperature(tiny: Path) -> None:
    warm = settings(tiny, rule=RuleName.COUPLED, sampling=SamplingParams(temperature=0.8))
    with open_runtime(warm, lambda _note: None) as opened:
        assert answer(opened).tokens == answer(opened, plain=True).tokens


def test_a_draft_model_and_a_skipping_draft_go_together(tiny: Path, tmp_path: Path) -> None:
    draft = write_llama(tmp_path / "draft.gguf", noise=0.1)
    both = settings(tiny, files=PairFiles(tiny, draft), drafters=("model",))
    both = replace(both, drafters=("model", "layerskip"))
    with open_runtime(both, lambda _note: None) as opened:
        assert set(opened.loaded.drafts) == {"model", "layerskip"}
        for names in (("model",), ("layerskip",), ("layerskip", "model")):
            opened.set_drafters(names)
            assert answer(opened).tokens == answer(opened, plain=True).tokens


def test_it_is_off_unless_asked_for(tiny: Path, cache: Path) -> None:
    """F21: the default is off; nothing is made or loaded."""
    for drafters in (("auto",), ("lookup",), ("none",)):
        with open_runtime(settings(tiny, drafters=drafters), lambda _note: None) as opened:
            assert opened.loaded.skipped is None
            with pytest.raises(OptionError, match="start"):
                opened.set_drafters(("layerskip",))
    assert not (cache / "layouts").exists()


def test_without_a_search_the_default_is_said_aloud_once_made(tiny: Path, cache: Path) -> None:
    """F21: what is left out, that nobody searched, and that it seldom pays."""
    notes: list[str] = []
    with open_runtime(settings(tiny), notes.append):
        pass
    said = " ".join(notes)
    assert "no search" in said
    assert "without blocks 2; q4_0" in said
    assert "does not pay" in said
    assert "making" in said
    again: list[str] = []
    with open_runtime(settings(tiny), again.append):
        pass
    assert "making" not in " ".join(again)
    made = [name for name in os.listdir(cache / "layouts") if name.endswith(".gguf")]
    assert len(made) == 1


def test_a_found_choice_is_used_and_nothing_is_said_of_a_default(tiny: Path) -> None:
    keep(tiny, SINGLE)
    notes: list[str] = []
    with open_runtime(settings(tiny), notes.append) as opened:
        assert opened.loaded.skipped is not None
        assert opened.loaded.skipped.model.architecture == "deci"
    assert "no search" not in " ".join(notes)


def test_choices_are_kept_for_a_file_and_survive_damage(tiny: Path, tmp_path: Path) -> None:
    assert chosen(tiny) is None
    keep(tiny, SINGLE)
    assert chosen(tiny) == SINGLE
    other = write_llama(tmp_path / "other.gguf", n_layer=8)
    assert chosen(other) is None
    for text in ("", "{", "[]", '{"halves": [[99, "attn"]], "type": null}',
                 '{"halves": [[1, "tail"]], "type": null}',
                 '{"halves": [[1, "attn"]], "type": "q9"}'):  # fmt: skip
        layerskip._kept_at(tiny).write_text(text)
        assert chosen(tiny) is None


def test_a_cache_that_cannot_be_written_is_an_error_in_words(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("LOCALSPEC_CACHE", str(blocked))
    with pytest.raises(LocalspecError, match="cannot write"):
        keep(tiny, SINGLE)


@pytest.mark.parametrize(
    ("write", "changes", "reason"),
    [
        (write_window, {}, "several kinds"),
        (write_llama, {"n_layer": 2}, "too few"),
    ],
)
def test_a_target_that_cannot_be_pruned_says_why(
    tmp_path: Path, cache: Path, write: object, changes: dict[str, object], reason: str
) -> None:
    """F21 H07: windows lie by place; leaving a block out would change the others."""
    target = write(tmp_path / "odd.gguf", **changes)  # type: ignore[operator]
    assert reason in refusal(target)
    with pytest.raises(PairRefused, match=reason) as caught:
        default(target)
    assert "lookup" in caught.value.hint
    with (
        pytest.raises(PairRefused, match=reason),
        open_runtime(settings(target), lambda _note: None),
    ):
        pass
    assert not (cache / "layouts").exists()


def test_a_recurrent_target_drafts_for_itself_all_the_same(tmp_path: Path) -> None:
    target = write_mamba(tmp_path / "mamba.gguf")
    with open_runtime(settings(target, strict=False), lambda _note: None) as opened:
        assert answer(opened).tokens == answer(opened, plain=True).tokens


@pytest.mark.parametrize("choice", [SINGLE, replace(SINGLE, type="q4_0")])
def test_an_interrupted_making_leaves_nothing_behind(
    tiny: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, choice: Choice
) -> None:
    def pressed(*_all: object, **_more: object) -> None:
        raise KeyboardInterrupt

    where = layerskip.files if choice.type is None else layerskip
    name = "whole_file" if choice.type is None else "quantise"
    monkeypatch.setattr(where, name, pressed)
    with pytest.raises(KeyboardInterrupt):
        ensure_skipped(tiny, choice, lambda _note: None)
    assert [name for name in os.listdir(cache / "layouts") if not name.endswith(".lock")] == []


def test_only_the_target_is_loaded_besides_its_smaller_copy(tiny: Path) -> None:
    """I05: the draft's weights are those of the blocks it keeps, in fewer bits."""
    with open_runtime(settings(tiny), lambda _note: None) as opened:
        skipped = opened.loaded.skipped
        assert skipped is not None
        assert isinstance(skipped.model, Model)
        assert skipped.model.size_bytes < opened.loaded.model.size_bytes / 4
        assert opened.loaded.draft_model is None


def test_labels_say_what_is_left_out() -> None:
    halves = whole([3, 4, 5, 9]) | {Half(7, "attn"), Half(11, "ffn")}
    assert Choice(halves, "q4_0").label == (
        "without blocks 3-5 9, attention 7, feed-forward 11; q4_0"
    )
    assert Choice(frozenset(), "q4_0").label == "without nothing; q4_0"
