"""Medusa heads on the command line: one answer, a bench, a check, and files that are wrong."""

from pathlib import Path

import pytest

from localspec.cli.build import build_settings
from localspec.cli.effective import settings_echo
from localspec.cli.options import ModelOptions
from localspec.errors import OptionError
from localspec.runtime.settings import PairFiles
from tests.conftest import TinyPair
from tests.heads import random_heads, write_heads
from tests.models import write_llama


@pytest.fixture
def head(tiny_pair: TinyPair, tmp_path: Path) -> Path:
    made = random_heads(tiny_pair.target, ids=10**6)
    return write_heads(tmp_path / "medusa.gguf", tiny_pair.target, made)


def words(target: Path, head: Path, *more: str) -> list[str]:
    given = ["--target", target, "--head", head, "--threads", "1", "--temp", "0", *more]
    return [str(word) for word in given]


def test_an_answer_says_who_guessed_and_which_file_it_used(
    tiny_pair: TinyPair, head: Path, run
) -> None:
    """F08: the option takes effect, and the document says so."""
    options = words(tiny_pair.target, head, "--drafter", "medusa", "-g", "2", "-n", "24")
    ran = run("chat", *options, "-p", "one two", "--json")
    assert ran.code == 0
    document = ran.document
    assert (document["drafter"], document["options"]["head"]) == ("medusa", str(head))
    assert document["counts"]["drafted"] > 0
    assert 1 <= len(document["acceptance_by_position"]) <= 2


def test_a_bench_compares_the_heads_and_knows_their_cost(
    tiny_pair: TinyPair, head: Path, run, tmp_path: Path
) -> None:
    text = tmp_path / "own.txt"
    text.write_text("the water and the other water\n\nfirst come first\n", encoding="utf-8")
    options = words(tiny_pair.target, head, "--ctx", "256", "-n", "12")
    more = ["--text", str(text), "--temps", "0", "-r", "1", "--drafters", "medusa,lookup,auto"]
    ran = run("bench", *options, *more, "--json")
    assert ran.code in (0, 3)
    document = ran.document
    arms = document["kinds"][0]["arms"]
    assert {arm["drafter"] for arm in arms} >= {"medusa", "lookup", "auto"}
    medusa = next(arm for arm in arms if arm["drafter"] == "medusa")
    assert medusa["identical"]["same"] == medusa["identical"]["of"]
    assert medusa["predicted_speedup"] is not None


def test_a_check_screens_the_heads_by_replay(
    tiny_pair: TinyPair, head: Path, run, tmp_path: Path
) -> None:
    text = tmp_path / "own.txt"
    text.write_text("the water and the other water\n\nfirst come first\n", encoding="utf-8")
    options = words(tiny_pair.target, head, "--ctx", "256", "-n", "12")
    ran = run("check", *options, "--text", str(text), "--json")
    assert ran.code in (0, 3)
    found = {each["drafter"]: each for each in ran.document["candidates"]}
    assert found["medusa"]["file"] == head.name
    assert found["medusa"]["cost_ratio"] > 0
    assert [point["gamma"] for point in found["medusa"]["predicted"]] == [1, 2, 3]


def _cut(path: Path, tiny: Path) -> None:
    whole = write_heads(path, tiny).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def _foreign(path: Path, tiny: Path) -> None:
    write_heads(path, write_llama(path.with_name("wide.gguf"), n_embd=96))


def _other_words(path: Path, tiny: Path) -> None:
    write_heads(path, write_llama(path.with_name("other.gguf"), renamed={300: "zebra"}))


def _model(path: Path, tiny: Path) -> None:
    write_llama(path)


WRONG = {
    "cut short": (_cut, "cut short"),
    "of another width": (_foreign, "has 64"),
    "of another vocabulary": (_other_words, "whose vocabulary is not that of"),
    "a language model": (_model, "it is a llama file"),
}


@pytest.mark.parametrize("drafter", ["medusa", "auto"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_of_heads_ends_with_4_and_one_line(
    tiny_pair: TinyPair, tmp_path: Path, run, name: str, drafter: str
) -> None:
    make, said = WRONG[name]
    path = tmp_path / "wrong.gguf"
    make(path, tiny_pair.target)
    options = words(tiny_pair.target, path, "--drafter", drafter)
    ran = run("chat", *options, "-p", "one two")
    assert (ran.code, ran.out) == (4, "")
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert said in errors[0]


def test_medusa_without_heads_says_how_to_name_them(tiny_pair: TinyPair, run) -> None:
    ran = run("chat", "--target", str(tiny_pair.target), "--drafter", "medusa", "-p", "one")
    assert ran.code == 2
    assert "--head FILE" in ran.err


def test_a_head_beside_a_drafter_that_has_none_is_a_contradiction() -> None:
    options = ModelOptions(head=Path("heads.gguf"), drafter="lookup")
    with pytest.raises(OptionError, match="--head is for eagle3 and medusa, not for"):
        build_settings(options, PairFiles(Path("t.gguf")))


def test_the_head_arrives_and_is_echoed() -> None:
    options = ModelOptions(head=Path("heads.gguf"), drafter="medusa")
    settings = build_settings(options, PairFiles(Path("t.gguf")))
    assert settings_echo(settings)["head"] == "heads.gguf"
