"""Texts of the user's for the drafters that copy or count."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.errors import NotHere, OptionError
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair

PROMPT = np.array([0, *range(40, 60)], np.int32)


@pytest.fixture
def usual(tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSettings:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "cache"))
    return RunSettings(
        PairFiles(tiny_pair.target),
        gamma=4,
        sampling=SamplingParams(temperature=0),
        max_tokens=40,
        target=Placement(context=256),
        threads=1,
        strict=True,
    )


def answer(runtime: Runtime) -> Tally:
    tally = Tally()
    for event in runtime.generate(PROMPT):
        tally.add(event)
    return tally


def plain_text(settings: RunSettings, path: Path) -> list[int]:
    """Write the plain answer's own text into a file: the best guess there can be."""
    with open_runtime(replace(settings, drafters=("none",), gamma=None), print) as runtime:
        tokens = answer(runtime).tokens
        path.write_bytes(runtime.vocabulary.detokenize(tokens).decode("utf-8", "ignore").encode())
    return tokens


@pytest.mark.parametrize("drafter", ["lookup", "ngram"])
def test_a_text_the_answer_resembles_is_guessed_from_and_changes_no_word(
    usual: RunSettings, tmp_path: Path, drafter: str
) -> None:
    """J06 G09: more tokens a pass, the same ids."""
    known = tmp_path / "known.txt"
    plain = plain_text(usual, known)
    with open_runtime(replace(usual, drafters=("lookup",)), lambda _n: None) as runtime:
        alone = answer(runtime)
    texts = {"expect": known} if drafter == "lookup" else {"ngram_from": (known,)}
    with open_runtime(replace(usual, drafters=(drafter,), **texts), lambda _n: None) as runtime:
        helped = answer(runtime)
    assert helped.tokens == alone.tokens == plain
    assert helped.accepted > alone.accepted


def test_a_table_is_learnt_once_and_said_aloud(usual: RunSettings, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("one two three four five six. " * 50, encoding="utf-8")
    chosen = replace(usual, drafters=("ngram",), ngram_from=(text,))
    notes: list[str] = []
    for _ in range(2):
        with open_runtime(chosen, notes.append) as runtime:
            answer(runtime)
    first, second = (note for note in notes if "n-gram" in note)
    assert "learnt" in first
    assert "read" in second


@pytest.mark.parametrize("option", ["expect", "ngram_from"])
@pytest.mark.parametrize(
    ("content", "error"),
    [(None, NotHere), (b"", OptionError), (b"\0\1\2\xff" * 99, OptionError)],
    ids=["missing", "empty", "binary"],
)
def test_a_file_that_is_no_text_is_refused_before_any_answer(
    usual: RunSettings, tmp_path: Path, option: str, content: bytes | None, error: type[Exception]
) -> None:
    path = tmp_path / "text"
    if content is not None:
        path.write_bytes(content)
    value: object = path if option == "expect" else (path,)
    drafter = "lookup" if option == "expect" else "ngram"
    chosen = replace(usual, drafters=(drafter,), **{option: value})
    with pytest.raises(error), open_runtime(chosen, lambda _n: None):
        pass


def test_ngram_without_texts_says_what_to_give(usual: RunSettings) -> None:
    with (
        pytest.raises(OptionError, match="texts"),
        open_runtime(replace(usual, drafters=("ngram",)), lambda _n: None),
    ):
        pass
