"""A tune's choice on the disk: kept whole, and no choice once the files changed."""

import json
import os
from pathlib import Path

import pytest

from localspec.engine.quantise import Recipe
from localspec.errors import LocalspecError, NotHere
from localspec.runtime.choices import (
    Choice,
    ChosenFile,
    chosen_files,
    drop_choice,
    folder,
    load_choice,
    save_choice,
)
from localspec.runtime.settings import PairFiles
from tests.conftest import TinyPair


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALSPEC_STATE", str(tmp_path / "state"))


def _choice(pair: TinyPair, **changes: object) -> Choice:
    recipe = Recipe("q4_0", pure=True, prune_layers=(1,))
    given: dict[str, object] = {
        "target": ChosenFile(str(pair.target), Recipe("q8_0", pure=True)),
        "draft": ChosenFile(str(pair.draft), recipe),
        "drafter": "model",
        "gamma": 3,
        "speedup": 1.4,
        "kl_mean": 0.01,
    }
    return Choice(**{**given, **changes})  # type: ignore[arg-type]


def test_a_choice_comes_back_as_it_was(tiny_pair: TinyPair) -> None:
    given = PairFiles(tiny_pair.target, tiny_pair.draft)
    assert load_choice(given) is None
    save_choice(given, _choice(tiny_pair, always=True))
    assert load_choice(given) == _choice(tiny_pair, always=True)
    assert load_choice(PairFiles(tiny_pair.target)) is None
    drop_choice(given)
    assert load_choice(given) is None


def test_a_draft_made_of_the_target_goes_to_its_own_drafter(tiny_pair: TinyPair) -> None:
    given = PairFiles(tiny_pair.target)
    draft = ChosenFile(str(tiny_pair.target), Recipe("copy", prune_layers=(1,)))
    save_choice(given, _choice(tiny_pair, drafter="layerskip", draft=draft))
    choice = load_choice(given)
    assert choice is not None
    files = chosen_files(given, choice, print)
    assert files.draft is None
    assert files.skipped is not None
    assert files.skipped.is_file()
    save_choice(given, _choice(tiny_pair, drafter="layerskip", draft=None))
    assert load_choice(given) is None


def test_heads_are_part_of_what_a_choice_was_made_for(tiny_pair: TinyPair, tmp_path: Path) -> None:
    head = tmp_path / "head.gguf"
    head.write_bytes(b"GGUF")
    given = PairFiles(tiny_pair.target, heads=(("medusa", head),))
    choice = _choice(tiny_pair, drafter="medusa", draft=None)
    save_choice(given, choice)
    assert load_choice(given) == choice
    assert chosen_files(given, choice, print).heads == given.heads
    assert load_choice(PairFiles(tiny_pair.target)) is None
    os.utime(head, ns=(1, 1))
    assert load_choice(given) is None


def test_a_choice_for_a_file_that_changed_is_none(tiny_pair: TinyPair, tmp_path: Path) -> None:
    target = tmp_path / "t.gguf"
    target.write_bytes(tiny_pair.target.read_bytes())
    given = PairFiles(target)
    save_choice(given, _choice(tiny_pair))
    assert load_choice(given) is not None
    os.utime(target, ns=(1, 1))
    assert load_choice(given) is None


def test_files_that_are_gone_are_made_again(tiny_pair: TinyPair) -> None:
    given = PairFiles(tiny_pair.target, tiny_pair.draft, "tiny")
    files = chosen_files(given, _choice(tiny_pair), print)
    assert files.name == "tiny"
    assert files.draft is not None
    files.target.unlink()
    assert chosen_files(given, _choice(tiny_pair), print) == files
    assert files.target.is_file()


def test_a_source_that_is_gone_is_said(tiny_pair: TinyPair, tmp_path: Path) -> None:
    lost = _choice(tiny_pair, target=ChosenFile(str(tmp_path / "gone.gguf")))
    with pytest.raises(LocalspecError, match=r"needs .*gone\.gguf"):
        chosen_files(PairFiles(tiny_pair.target), lost, print)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"version": 1}', '{"version": 9}'])
def test_a_damaged_choice_is_none(text: str, tiny_pair: TinyPair) -> None:
    given = PairFiles(tiny_pair.target)
    save_choice(given, _choice(tiny_pair)).write_text(text, encoding="utf-8")
    assert load_choice(given) is None


def test_a_place_that_cannot_be_written_is_said_and_keeps_the_old_choice(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = PairFiles(tiny_pair.target)
    save_choice(given, _choice(tiny_pair))

    def full(*_given: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(LocalspecError, match="No space left"):
        save_choice(given, _choice(tiny_pair, gamma=5))
    assert load_choice(given) == _choice(tiny_pair)
    assert len(list(folder().iterdir())) == 1


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("gamma",), "junk"),
        (("gamma",), -3),
        (("gamma",), 2.5),
        (("gamma",), True),
        (("gamma",), 10**12),
        (("drafter",), "bogus"),
        (("draft",), None),
        (("speedup",), "nan"),
        (("kl_mean",), "inf"),
        (("target", "recipe", "type"), 5),
        (("target", "recipe", "prune_layers"), ["x"]),
        (("target", "recipe", "prune_layers"), [-1]),
        (("target", "recipe", "pure"), "yes"),
        (("target", "recipe", "output_type"), 7),
    ],
)
def test_a_record_that_no_tune_wrote_is_no_choice(
    tiny_pair: TinyPair, place: tuple[str, ...], value: object
) -> None:
    given = PairFiles(tiny_pair.target, tiny_pair.draft)
    path = save_choice(given, _choice(tiny_pair))
    record = json.loads(path.read_text(encoding="utf-8"))
    inner = record
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path.write_text(json.dumps(record), encoding="utf-8")
    assert load_choice(given) is None


def test_a_choice_whose_file_is_gone_says_so_with_the_code_for_what_is_not_here(
    tiny_pair: TinyPair, tmp_path: Path
) -> None:
    gone = ChosenFile(str(tmp_path / "gone.gguf"), None)
    with pytest.raises(NotHere, match=r"gone\.gguf, which is not there") as caught:
        chosen_files(PairFiles(tiny_pair.target), _choice(tiny_pair, target=gone), pytest.fail)
    assert caught.value.exit_code == 5
