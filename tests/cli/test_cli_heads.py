"""EAGLE-3 heads and prediction layers on the command line: answers, measuring, wrong files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.models import write_llama
from tests.models_heads import write_eagle3, write_glm4moe, write_target

OWN_TEXT = "the water and the other water\n\nfirst come first\n"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_target(tmp_path_factory.mktemp("cli") / "target.gguf")


@pytest.fixture(scope="module")
def layered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "layered.gguf"
    return write_glm4moe(path)


@pytest.fixture
def head(tmp_path: Path) -> Path:
    return write_eagle3(tmp_path / "eagle3.gguf")


def words(target: Path, *more: object) -> list[str]:
    return [str(word) for word in ("--target", target, "--threads", "1", "--temp", "0", *more)]


@pytest.mark.parametrize("option", ["--head", "--draft"])
def test_a_head_is_taken_for_what_it_is_under_either_option(
    target: Path, head: Path, run, option: str
) -> None:
    """H01: a head named as the draft is no draft model."""
    options = words(target, option, head, "--drafter", "eagle3", "-g", "2", "-n", "24")
    ran = run("chat", *options, "-p", "one two", "--json")
    assert ran.code == 0
    assert ran.document["drafter"] == "eagle3"
    assert ran.document["counts"]["drafted"] > 0
    assert 1 <= len(ran.document["acceptance_by_position"]) <= 2


def test_a_head_named_as_the_draft_is_used_by_auto(target: Path, head: Path, run) -> None:
    options = words(target, "--draft", head, "-n", "24")
    ran = run(
        "bench", *options, "--suite", "qa", "-r", "1", "--gammas", "1", "--json", "--ctx", "256"
    )
    drafters = {arm["drafter"] for kind in ran.document["kinds"] for arm in kind["arms"]}
    assert "eagle3" in drafters
    assert "model" not in drafters


@pytest.mark.parametrize("drafter", ["eagle3", "mtp"])
def test_a_bench_compares_a_head_and_knows_its_cost(
    target: Path, head: Path, layered: Path, run, tmp_path: Path, drafter: str
) -> None:
    text = tmp_path / "own.txt"
    text.write_text(OWN_TEXT, encoding="utf-8")
    files = (target, "--head", head) if drafter == "eagle3" else (layered,)
    options = words(*files, "--ctx", "256", "-n", "12", "--drafter", drafter)
    more = ["--text", str(text), "--temps", "0", "-r", "1", "--drafters", f"{drafter},lookup"]
    ran = run("bench", *options, *more, "--json")
    assert ran.code in (0, 3)
    arms = {arm["drafter"]: arm for arm in ran.document["kinds"][0]["arms"]}
    assert arms[drafter]["identical"]["same"] == arms[drafter]["identical"]["of"]
    assert arms[drafter]["predicted_speedup"] is not None
    assert arms[drafter]["acceptance_by_position"]


@pytest.mark.parametrize("drafter", ["eagle3", "mtp"])
def test_a_check_screens_a_head_by_replay(
    target: Path, head: Path, layered: Path, run, tmp_path: Path, drafter: str
) -> None:
    text = tmp_path / "own.txt"
    text.write_text(OWN_TEXT, encoding="utf-8")
    files = (target, "--head", head) if drafter == "eagle3" else (layered,)
    ran = run("check", *words(*files, "--ctx", "256"), "-n", "12", "--text", str(text), "--json")
    assert ran.code in (0, 3)
    found = {each["drafter"]: each for each in ran.document["candidates"]}
    assert found[drafter]["cost_ratio"] > 0
    assert len(found[drafter]["predicted"]) == 8


@pytest.mark.parametrize("option", ["--head", "--draft"])
def test_a_quick_check_compares_the_header_of_a_head(
    target: Path, head: Path, run, option: str
) -> None:
    ran = run("check", "--target", str(target), option, str(head), "--quick")
    assert ran.code == 0
    assert "runs as `--drafter eagle3`" in ran.out
    write_eagle3(head, target_width=96)
    ran = run("check", "--target", str(target), option, str(head), "--quick")
    assert ran.code == 3
    assert "hidden size of 96" in ran.out


def _cut(path: Path) -> None:
    path.write_bytes(write_eagle3(path).read_bytes()[:30_000])


def _noise(path: Path) -> None:
    path.write_bytes(b"\x00\x01" * 5000)


def _foreign(path: Path) -> None:
    write_eagle3(path, renamed={77: "other"})


def _wide(path: Path) -> None:
    write_eagle3(path, target_width=96)


def _deep(path: Path) -> None:
    write_eagle3(path, layers=(1, 2, 40))


def _model(path: Path) -> None:
    write_llama(path)


def _mapped_away(path: Path) -> None:
    write_eagle3(path, drafted=(*range(30, 60), 5000))


WRONG = (_cut, _noise, _foreign, _wide, _deep, _model, _mapped_away)


@pytest.mark.parametrize("make", WRONG, ids=[make.__name__ for make in WRONG])
@pytest.mark.parametrize("drafter", ["eagle3", "auto"])
def test_a_wrong_head_ends_in_one_line(
    target: Path, tmp_path: Path, run, make: Callable[[Path], None], drafter: str
) -> None:
    """H03 H04 H05 E12: exit 4, one line and a hint, no traceback and no crash."""
    path = tmp_path / "wrong.gguf"
    make(path)
    options = words(target, "--head", path, "--drafter", drafter, "-n", "8")
    ran = run("chat", *options, "-p", "one two")
    assert ran.code == 4
    errors = [line for line in ran.err.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert "Traceback" not in ran.err


def test_mtp_on_a_model_without_layers_ends_in_one_line(target: Path, run) -> None:
    ran = run("chat", *words(target, "--drafter", "mtp", "-n", "8"), "-p", "one two")
    assert ran.code == 4
    assert "no prediction layer" in ran.err


def test_the_targets_own_layers_are_used_without_being_named(layered: Path, run) -> None:
    ran = run("chat", *words(layered, "-n", "40"), "-p", "one two", "--json")
    assert ran.code == 0
    named = run("chat", *words(layered, "-n", "40", "--drafter", "mtp", "-g", "2"), "-p", "one two",
                "--json")  # fmt: skip
    assert named.document["counts"]["drafted"] > 0
    assert named.document["text"] == ran.document["text"]


def test_the_demo_pair_names_its_head_and_the_file_is_there() -> None:
    from localspec.pairs.catalogue import load_catalogue
    from localspec.pairs.eagle3_file import check_eagle3
    from localspec.pairs.header import read_header
    from localspec.pairs.resolve import find_model

    pair = load_catalogue().get("demo")
    found = {head.drafter: find_model(head) for head in pair.heads}
    made_for = find_model(pair.target)
    assert made_for is not None
    assert found["eagle3"] is not None
    assert check_eagle3(found["eagle3"], read_header(made_for)) == (2, 15, 29)
