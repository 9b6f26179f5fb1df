"""`models list`, `show`, `path`, `add` and `rm`: the catalogue and the files that are here."""

from pathlib import Path

import pytest

from localspec.report.pair_documents import DraftsDocument, ModelsDocument, PairDocument
from tests.cli.hubs import hub_pair, in_cache, own_pairs
from tests.models import write_llama
from tests.pairs.pairs_gguf import Spec, texts, write


@pytest.fixture
def files(tiny_pair) -> dict[str, Path]:
    return {"target": tiny_pair.target, "draft": tiny_pair.draft}


@pytest.fixture
def mine(files, tmp_path: Path) -> dict[str, Path]:
    """A pair of the user's own, in the cache."""
    own_pairs(tmp_path / "config", hub_pair("mine", files))
    in_cache(tmp_path / "hub", "mine", files)
    return files


def test_the_list_names_every_pair_with_size_and_licence(run) -> None:
    ran = run("models", "list")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["pair", "size", "memory", "here", "kind", "licence", "drafter"]
    assert any("qwen2.5-coder-7b" in line and "apache-2.0" in line for line in lines)
    assert "\x1b" not in ran.out
    assert ran.err == ""


def test_the_list_as_a_document_says_what_is_here_and_what_fits(run, mine) -> None:
    document = ModelsDocument.model_validate_json(run("models", "list", "--json").out)
    by_name = {pair.name: pair for pair in document.pairs}
    assert by_name["mine"].here
    assert by_name["mine"].fits
    assert by_name["mine"].licence == "mit and apache-2.0"
    assert not by_name["qwen2.5-coder-32b"].here


def test_only_what_is_here_and_only_what_fits(run, mine, monkeypatch) -> None:
    here = run("models", "list", "--downloaded", "--json").document["pairs"]
    assert "mine" in {pair["name"] for pair in here}
    assert all(pair["here"] for pair in here)
    monkeypatch.setattr("localspec.cli.models_list.available_bytes", lambda: 3_000_000_000)
    fitting = run("models", "list", "--fits", "--json").document["pairs"]
    assert all(pair["memory_bytes"] <= 2_700_000_000 for pair in fitting)
    assert "qwen2.5-coder-7b" not in {pair["name"] for pair in fitting}
    monkeypatch.setattr("localspec.cli.models_list.available_bytes", lambda: 1)
    assert "nothing" in run("models", "list", "--fits").out


def _six(folder: Path) -> Path:
    """One draft that fits and five that do not, each in its own way."""
    folder.mkdir()
    target = write(folder / "target.gguf", Spec(blocks=3))
    write(folder / "a-fits.gguf", Spec(blocks=1))
    write(folder / "b-other-tokens.gguf", Spec(blocks=1, tokens=("x", *texts(512)[1:])))
    write(folder / "c-other-kind.gguf", Spec(blocks=1, tokenizer="llama"))
    write(folder / "d-larger.gguf", Spec(blocks=5))
    whole = (folder / "a-fits.gguf").read_bytes()
    (folder / "e-cut.gguf").write_bytes(whole[: len(whole) // 2])
    (folder / "f-text.gguf").write_text("no model at all")
    return target


def test_files_that_could_draft_have_six_lines_and_five_reasons(run, tmp_path: Path) -> None:
    """A11: every file with a yes or a no, and the reason in one line."""
    target = _six(tmp_path / "six")
    ran = run("models", "list", "--for", target)
    lines = ran.out.splitlines()[1:]
    assert ran.code == 0
    assert len(lines) == 6
    assert [line.split()[0] for line in lines] == ["yes", "no", "no", "no", "no", "no"]
    drafts = DraftsDocument.model_validate_json(
        run("models", "list", "--for", target, "--json").out
    ).drafts
    assert len({draft.reason for draft in drafts if not draft.fits}) == 5


def test_what_is_listed_as_fitting_generates(run, tmp_path: Path) -> None:
    """A11."""
    target = _six(tmp_path / "six")
    drafts = run("models", "list", "--for", target, "--json").document["drafts"]
    for draft in (each for each in drafts if each["fits"]):
        words = ("--target", target, "--draft", draft["path"], "--drafter", "model")
        ran = run("chat", *words, "-p", "x", "-n", "8", "-g", "2", "--temp", "0", "--json")
        assert ran.code == 0
        assert ran.document["counts"]["drafted"] > 0


def test_other_tools_folders_are_looked_into(run, tiny_pair, tmp_path: Path) -> None:
    studio = tmp_path / "home" / ".lmstudio" / "models" / "someone"
    studio.mkdir(parents=True)
    write_llama(studio / "small.gguf", n_layer=1)
    drafts = run("models", "list", "--for", tiny_pair.target, "--json").document["drafts"]
    assert "LM Studio" in {draft["tool"] for draft in drafts}


def test_a_pairs_target_can_be_named_by_the_pair(run, mine) -> None:
    ran = run("models", "list", "--for", "mine", "--json")
    assert ran.code == 0
    assert Path(ran.document["target"]).name == mine["target"].name


@pytest.mark.parametrize("word", ["nowhere.gguf", "no-such-pair", "qwen2.5-coder-32b"])
def test_a_target_that_is_not_here_is_exit_code_5(word: str, run) -> None:
    ran = run("models", "list", "--for", word)
    assert ran.code == 5
    assert "hint: " in ran.err


def test_show_says_everything_and_what_to_type_for_what_is_missing(run) -> None:
    ran = run("models", "show", "qwen2.5-coder-7b")
    for words in ("apache-2.0", "temp 0.7", "@Q4_0", "localspec models pull qwen2.5-coder-7b"):
        assert words in ran.out
    document = PairDocument.model_validate_json(run("models", "show", "demo", "--json").out)
    assert document.pair.name == "demo"
    assert {model.role for model in document.models} == {"target", "draft"}


def test_an_unknown_pair_names_the_nearest(run) -> None:
    ran = run("models", "show", "qwen2.5-codr-7b")
    assert ran.code == 5
    assert "qwen2.5-coder-7b" in ran.err


def test_path_prints_target_and_draft(run, mine) -> None:
    ran = run("models", "path", "mine")
    names = [Path(line).name for line in ran.out.splitlines()]
    assert names == [mine["target"].name, mine["draft"].name]


def test_the_path_of_what_is_not_here_is_the_command_to_type(run) -> None:
    ran = run("models", "path", "qwen2.5-coder-7b")
    assert (ran.code, ran.out) == (5, "")
    assert "hint: localspec models pull qwen2.5-coder-7b" in ran.err


def test_a_pair_of_ones_own_is_added_and_talks_and_goes(run, tiny_pair) -> None:
    small = tiny_pair.draft.parent / "small.gguf"
    small = small if small.exists() else write_llama(small, n_layer=1)
    words = ("--target", tiny_pair.target, "--draft", small)
    assert run("models", "add", "my-pair", *words, "--licence", "mit").code == 0
    shown = run("models", "show", "my-pair", "--json").document
    assert shown["pair"]["here"]
    assert shown["pair"]["licence"] == "mit"
    ran = run("chat", "my-pair", "-p", "x", "-n", "4", "--json")
    assert (ran.code, ran.document["pair"]) == (0, "my-pair")
    again = run("models", "add", "my-pair", *words)
    assert again.code == 2
    assert "already has a pair" in again.err
    assert run("models", "rm", "my-pair").code == 0
    assert run("models", "show", "my-pair").code == 5
    assert small.is_file()


def test_a_draft_that_does_not_fit_is_not_added(run, tiny_pair, tmp_path: Path) -> None:
    other = write(tmp_path / "other.gguf", Spec(tokens=("x", *texts(512)[1:])))
    ran = run("models", "add", "bad", "--target", tiny_pair.target, "--draft", other)
    assert ran.code == 4
    assert run("models", "show", "bad").code == 5


@pytest.mark.parametrize("words", [[], ["--target", "x.gguf"], ["--draft", "x.gguf"]])
def test_a_pair_needs_both_files(words: list[str], run) -> None:
    ran = run("models", "add", "half", *words)
    assert ran.code == 2
    assert "is missing" in ran.err


def test_a_name_that_could_not_be_typed_is_refused(run, tiny_pair) -> None:
    words = ("--target", tiny_pair.target, "--draft", tiny_pair.draft)
    ran = run("models", "add", "My Pair", *words)
    assert ran.code == 2
    assert "is no name for a pair" in ran.err


def test_removing_deletes_what_no_other_pair_uses(run, mine, tmp_path: Path) -> None:
    ran = run("models", "rm", "mine")
    assert ran.code == 0
    assert ran.out.count("deleted") == 2
    assert not list((tmp_path / "hub").rglob("*.gguf"))
    assert not [path for path in (tmp_path / "hub").rglob("blobs/*") if path.is_file()]


def test_removing_keeps_a_draft_that_another_pair_needs(run, files, tmp_path: Path) -> None:
    other = hub_pair("mine", files).replace('name = "mine"', 'name = "other"')
    other = other.replace(f'file = "{files["target"].name}"', 'file = "another.gguf"')
    in_cache(tmp_path / "hub", "mine", files)
    another = write_llama(tmp_path / "another.gguf")
    in_cache(tmp_path / "hub", "mine", {"target": another})
    own_pairs(tmp_path / "config", hub_pair("mine", files), other)
    ran = run("models", "rm", "mine")
    assert "stays" in ran.out
    left = {path.name for path in (tmp_path / "hub").rglob("*.gguf")}
    assert left == {"another.gguf", files["draft"].name}


def test_a_pairs_damaged_draft_is_said_and_the_target_answers(run, files, tmp_path: Path) -> None:
    """A16: a draft that nobody named does not stop the run; one that was named does."""
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(files["draft"].read_bytes()[:2000])
    files = {"target": files["target"], "draft": bad}
    own_pairs(tmp_path / "config", hub_pair("mine", files))
    in_cache(tmp_path / "hub", "mine", files)
    ran = run("chat", "mine", "-p", "x", "-n", "4", "--json")
    assert ran.code == 0
    assert any("no draft model" in note for note in ran.document["notes"])
    assert run("chat", "mine", "--draft", bad, "-p", "x", "-n", "4").code == 4
