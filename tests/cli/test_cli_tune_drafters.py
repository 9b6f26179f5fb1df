"""Which drafters a tune tries: the target without blocks when asked, the pair's heads always."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localspec.engine.quantise import Recipe
from localspec.measure.tune import candidates, search
from localspec.measure.verdict import Word
from localspec.runtime.choices import Choice, ChosenFile, save_choice
from localspec.runtime.layouts import kept_layouts
from localspec.runtime.settings import PairFiles
from tests.cli.conftest import Ran
from tests.cli.tuning import WORDS, shorten, tune_words
from tests.conftest import TinyPair
from tests.heads import knowing_heads
from tests.models import write_llama
from tests.models_heads import write_eagle3, write_glm4moe, write_target

Run = Callable[..., Ran]
PRUNED = Recipe("copy", prune_layers=(1,))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text(WORDS, encoding="utf-8")
    return path


def _of(document: dict[str, Any], drafter: str) -> list[dict[str, Any]]:
    return [each for each in document["candidates"] if each["drafter"] == drafter]


def _left_out(document: dict[str, Any]) -> dict[str, str]:
    return {each["drafter"]: each["reason"] for each in document["left_out"]}


def test_layer_skipping_is_off_and_said_unless_asked_for(
    run: Run, tiny_pair: TinyPair, text: Path
) -> None:
    """F21: default off; the report names every drafter that was not tried."""
    ran = run(*tune_words(tiny_pair, text, "--json"))
    assert ran.document["options"]["layerskip"] is False
    assert set(ran.document["drafters"]) == {"model", "lookup"}
    assert _left_out(ran.document) == {
        "ngram": "not searched",
        "layerskip": "only with --layerskip",
        "eagle3": "no such head",
        "mtp": "no prediction layers",
        "medusa": "no such head",
    }
    assert "without" not in json.dumps(ran.document["candidates"])


def test_layer_skipping_is_searched_replayed_and_judged_in_words(
    run: Run, tiny_pair: TinyPair, text: Path
) -> None:
    """F21: measured first, and a no is said with its numbers."""
    ran = run(*tune_words(tiny_pair, text, "--json", "--layerskip", "--max-kl", "9"))
    assert ran.code in (0, 3), ran.err
    document = ran.document
    assert document["options"]["layerskip"] is True
    assert "layerskip" in document["drafters"]
    mine = _of(document, "layerskip")
    assert {each["target_layout"]["name"] for each in mine} >= {"as given", "Q4_0"}
    for each in mine:
        assert each["draft_layout"]["made_from"] == tiny_pair.target.name
        assert each["gamma"] >= 1
        assert each["predicted"]["value"] > 0
    said = [note for note in document["notes"] if note.startswith("layer skipping: the target")]
    assert len(said) == 1
    assert "of a pass a token" in said[0]
    assert "of its guesses would stand" in said[0]


def test_a_pruned_draft_reaches_the_finals_and_only_such_files_stay(
    run: Run, tiny_pair: TinyPair, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B14 F21: what is measured is exact; a file that no finalist needs is deleted again."""
    _prefer(monkeypatch, "layerskip")
    ran = run(*tune_words(tiny_pair, text, "--json", "--layerskip", "--max-kl", "9"))
    assert ran.code in (0, 3), ran.err
    measured = [each for each in _of(ran.document, "layerskip") if each["measured"]]
    assert measured
    drafts = {each["draft_layout"]["file"] for each in measured}
    finals = [each for each in ran.document["candidates"] if each["measured"]]
    layouts = (each[which] for each in finals for which in ("target_layout", "draft_layout"))
    made = {each["file"] for each in layouts if each and each["made_from"]}
    assert drafts <= made == {str(kept.path) for kept in kept_layouts()}
    assert all(kept.recipe for kept in kept_layouts())
    assert any("measured: it" in note for note in ran.document["notes"])


def _prefer(monkeypatch: pytest.MonkeyPatch, drafter: str) -> None:
    """Put a drafter's arrangements first, whatever it is worth on models of no use."""
    real = search.ranked

    def ordered(found: list[candidates.Arrangement]) -> list[candidates.Arrangement]:
        return sorted(real(found), key=lambda each: each.drafter != drafter)

    monkeypatch.setattr(search, "ranked", ordered)
    monkeypatch.setattr(search, "HOPELESS", 0.0)


def test_a_choice_names_a_pruned_draft_and_chat_runs_it(run: Run, tiny_pair: TinyPair) -> None:
    """B14 F21: the file is made again from its recipe, and the text is the target's own."""
    given = PairFiles(tiny_pair.target)
    draft = ChosenFile(str(tiny_pair.target), PRUNED)
    save_choice(given, Choice(ChosenFile(str(tiny_pair.target)), draft, "layerskip", 2, 1.2))
    words = ["chat", "--target", str(tiny_pair.target), "-p", "Add two numbers.", "-n", "12"]
    words += ["--temp", "0", "--ctx", "512", "--json", "--strict", "--tuned"]
    tuned, plain = run(*words), run(*words, "--plain")
    assert tuned.code == 0, tuned.err
    assert tuned.document["drafter"] == "layerskip"
    assert tuned.document["options"]["gamma"] == 2
    assert tuned.document["counts"]["drafted"] > 0
    assert tuned.document["token_ids"] == plain.document["token_ids"]
    assert "as it is without 1 block" in tuned.err
    assert [kept.recipe for kept in kept_layouts()] == [PRUNED]
    assert "making" not in plain.err


def test_a_tune_that_keeps_a_pruned_draft_is_used_by_chat(
    run: Run, tiny_pair: TinyPair, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prefer(monkeypatch, "layerskip")
    monkeypatch.setattr(
        "localspec.measure.tune.result.judge", lambda *_a, **_k: Word.PAYS
    )  # what a generated model gains is noise
    monkeypatch.setattr("localspec.measure.tune.making.FINALISTS", 1)
    ran = run(*tune_words(tiny_pair, text, "--json", "--layerskip", "--max-kl", "0"))
    assert ran.code == 0, ran.err
    assert ran.document["best"]["drafter"] == "layerskip"
    files = ["--target", str(tiny_pair.target), "--draft", str(tiny_pair.draft)]
    chat = ["chat", *files, "-p", "Add.", "-n", "8", "--temp", "0", "--ctx", "512", "--json"]
    used = run(*chat, "--tuned")
    assert used.code == 0, used.err
    assert used.document["drafter"] == "layerskip"
    assert run(*chat, "--tuned", "--drafter", "lookup").document["drafter"] == "lookup"


def test_a_target_that_cannot_be_pruned_says_why_and_is_tuned_all_the_same(
    run: Run, text: Path, tmp_path: Path
) -> None:
    """F21: a checkpoint that does not suit it is named as such."""
    target = write_llama(tmp_path / "short.gguf", n_layer=2)
    words = ["tune", "--target", str(target), "--text", str(text), "--ctx", "1024"]
    ran = run(*words, "--max-time", "60s", "--json", "--layerskip")
    assert ran.code in (0, 3), ran.err
    assert any("too few to leave any out" in note for note in ran.document["notes"])
    assert _left_out(ran.document)["layerskip"].endswith("see the notes")


def test_the_screen_names_what_was_tried_and_what_was_not(
    run: Run, tiny_pair: TinyPair, text: Path
) -> None:
    ran = run(*tune_words(tiny_pair, text))
    said = " ".join(ran.out.split())
    assert "drafters tried lookup, model; left out ngram (not searched)" in said
    assert "layerskip (only with --layerskip)" in said


@pytest.mark.parametrize("kind", ["eagle3", "medusa", "mtp"])
def test_the_heads_of_a_pair_are_tried_and_measured(
    kind: str,
    run: Run,
    tiny_pair: TinyPair,
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """I07: a head is known by its header, and is a drafter like any other."""
    if kind == "medusa":
        prompt = [0, *range(30, 60)]
        target, head = tiny_pair.target, tmp_path / "medusa.gguf"
        files = ["--draft", str(knowing_heads(tiny_pair.target, head, prompt, 60))]
    elif kind == "eagle3":
        target = write_target(tmp_path / "target.gguf")
        files = ["--draft", str(write_eagle3(tmp_path / "eagle3.gguf"))]
    else:
        target, files = write_glm4moe(tmp_path / "glm4moe.gguf"), []
    _prefer(monkeypatch, kind)
    words = ["tune", "--target", str(target), *files, "--text", str(text), "--ctx", "1024"]
    ran = run(*words, "--max-time", "60s", "--json", "--max-kl", "9")
    assert ran.code in (0, 3), ran.err
    assert kind in ran.document["drafters"], ran.err
    assert kind not in _left_out(ran.document)
    assert any(each["measured"] for each in _of(ran.document, kind)), ran.document["notes"]


def test_a_head_can_be_the_only_drafter(
    run: Run, tiny_pair: TinyPair, text: Path, tmp_path: Path
) -> None:
    head = knowing_heads(tiny_pair.target, tmp_path / "medusa.gguf", [0, *range(30, 60)], 40)
    words = ["tune", "--target", str(tiny_pair.target), "--draft", str(head), "--text", str(text)]
    ran = run(*words, "--max-time", "60s", "--ctx", "1024", "--json", "--drafter", "medusa")
    assert ran.code in (0, 3), ran.err
    assert ran.document["drafters"] == ["medusa"]
    assert _left_out(ran.document)["lookup"] == "not asked for"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--layerskip", "--plain"), "--plain wants none"),
        (("--drafter", "layerskip"), "tune --layerskip searches it"),
        (("--drafter", "ngram"), "bench --drafters ngram measures it"),
        (("--head", "h.gguf"), "tune tries the heads of the pair"),
    ],
)
def test_what_a_tune_cannot_try_is_refused_with_what_can_be_done(
    more: tuple[str, ...], said: str, run: Run, tmp_path: Path
) -> None:
    ran = run("tune", "--target", str(tmp_path / "none.gguf"), *more)
    assert ran.code == 2
    assert said in ran.err
