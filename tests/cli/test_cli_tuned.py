"""A tune's choice in later runs: used when asked for, named, and exact; and the layouts it made."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from localspec.engine.quantise import Recipe
from localspec.runtime.choices import Choice, ChosenFile, save_choice
from localspec.runtime.layouts import ensure_layout
from localspec.runtime.settings import PairFiles
from tests.cli.conftest import Ran
from tests.conftest import TinyPair

Run = Callable[..., Ran]
Q4 = Recipe("q4_0", pure=True)


def _silent(text: str) -> None:
    del text


def _saved(pair: TinyPair, **changes: object) -> Choice:
    choice = Choice(
        ChosenFile(str(pair.target), Q4), ChosenFile(str(pair.draft), Q4), "model", 3, 1.4, 0.02
    )
    choice = replace(choice, **changes)  # type: ignore[arg-type]
    save_choice(PairFiles(pair.target, pair.draft), choice)
    return choice


def _chat(pair: TinyPair, *more: str) -> list[str]:
    files = ["--target", str(pair.target), "--draft", str(pair.draft)]
    return ["chat", *files, "-p", "Add two numbers.", "-n", "12", "--temp", "0", "--ctx", "512",
            "--json", *more]  # fmt: skip


def test_chat_uses_the_choice_when_asked_and_names_what_runs(run: Run, tiny_pair: TinyPair) -> None:
    _saved(tiny_pair)
    plain, tuned = run(*_chat(tiny_pair)), run(*_chat(tiny_pair, "--tuned"))
    assert plain.document["options"]["target"] == str(tiny_pair.target)
    made = ensure_layout(tiny_pair.target, Q4, pytest.fail)
    assert tuned.document["options"]["target"] == str(made)
    assert tuned.document["options"]["gamma"] == 3
    assert tuned.document["drafter"] == "model"
    assert f"target {tiny_pair.target.name} as Q4_0" in tuned.err
    assert "KL 0.0200" in tuned.err


def test_a_saved_choice_is_used_by_chat_alone_unless_told_not_to(
    run: Run, tiny_pair: TinyPair
) -> None:
    _saved(tiny_pair, always=True)
    made = ensure_layout(tiny_pair.target, Q4, _silent)
    assert run(*_chat(tiny_pair)).document["options"]["target"] == str(made)
    left = run(*_chat(tiny_pair, "--no-tuned"))
    assert left.document["options"]["target"] == str(tiny_pair.target)
    bench = run("bench", *_chat(tiny_pair)[1:5], "--suite", "qa", "-n", "8", "--runs", "1",
                "--warmup", "0", "--ctx", "1024", "--gammas", "2", "--json")  # fmt: skip
    assert bench.document["options"]["target"] == str(tiny_pair.target)


def test_drafter_and_gamma_of_the_user_win_over_the_choice(run: Run, tiny_pair: TinyPair) -> None:
    _saved(tiny_pair)
    options = run(*_chat(tiny_pair, "--tuned", "--drafter", "lookup")).document["options"]
    assert (options["drafter"], options["gamma"]) == ("lookup", "auto")
    assert run(*_chat(tiny_pair, "--tuned", "-g", "2")).document["options"]["gamma"] == 2
    assert run(*_chat(tiny_pair, "--tuned", "--plain")).document["options"]["drafter"] == "none"


def test_the_text_of_a_choice_is_its_targets_to_the_last_bit(run: Run, tiny_pair: TinyPair) -> None:
    """B14: with blocks left out of the draft, too."""
    pruned = ChosenFile(str(tiny_pair.target), replace(Q4, prune_layers=(1, 2)))
    _saved(tiny_pair, draft=pruned)
    strict = ("--tuned", "--strict", "--strict-rows", "8")
    drafted = run(*_chat(tiny_pair, *strict)).document
    plain = run(*_chat(tiny_pair, *strict, "--plain")).document
    assert drafted["counts"]["drafted"] > 0
    assert drafted["token_ids"] == plain["token_ids"]


def test_without_a_choice_asking_for_it_says_how_to_get_one(run: Run, tiny_pair: TinyPair) -> None:
    ran = run(*_chat(tiny_pair, "--tuned"))
    assert ran.code == 5
    assert "nothing is tuned for" in ran.err
    assert f"localspec tune --target {tiny_pair.target}" in ran.err


def test_models_list_shows_layouts_and_rm_deletes_them(run: Run, tiny_pair: TinyPair) -> None:
    path = ensure_layout(tiny_pair.target, Q4, _silent)
    assert run("models", "rm", "--layouts", "-y").code == 0
    path = ensure_layout(tiny_pair.target, Q4, _silent)
    listed = run("models", "list", "--json").document["layouts"]
    assert [(each["file"], each["recipe"]) for each in listed] == [(str(path), "Q4_0")]
    assert listed[0]["made_from"] == str(tiny_pair.target)
    assert path.name in run("models", "list").out
    gone = run("models", "rm", path.name, "-y")
    assert gone.code == 0
    assert "gone" in gone.out
    assert not path.exists()
    assert run("models", "rm", "--layouts", "-y").code == 5
    assert run("models", "rm").code == 2
