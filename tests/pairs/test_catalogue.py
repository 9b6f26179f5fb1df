import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from localspec.errors import NotHere, OptionError
from localspec.pairs import catalogue as module
from localspec.pairs.catalogue import Catalogue, Pair, load_catalogue, read_pairs, shipped_file
from localspec.pairs.own import add_pair, drop_pair, to_toml

ROOT = Path(module.__file__).parents[2]

ONE = """
[[pair]]
name = "mine"
kind = "code"
context = 4096
[pair.target]
repo = "me/big"
file = "big-Q4_K_M.gguf"
quant = "Q4_K_M"
bytes = 4_000_000_000
licence = "mit"
[pair.draft]
repo = "me/small"
file = "small-Q4_0.gguf"
quant = "Q4_0"
bytes = 400_000_000
licence = "mit"
[pair.variants.Q4_0.target]
repo = "me/big"
file = "big-Q4_0.gguf"
quant = "Q4_0"
bytes = 3_900_000_000
licence = "mit"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def shipped() -> Catalogue:
    return Catalogue(read_pairs(shipped_file()))


def test_the_shipped_pairs_cover_the_families_and_the_sizes() -> None:
    pairs = shipped().pairs
    families = ["qwen3.5", "qwen3.6", "qwen3.8", "gemma-4", "gemma-3", "gpt-oss", "qwen3-"]
    families += ["qwen2.5-coder", "llama-3", "ministral", "deepseek-r1-distill", "smollm2", "demo"]
    assert all(any(name.startswith(family) for name in pairs) for family in families)
    sizes = sorted(pair.memory_bytes for pair in pairs.values() if pair.kind != "demo")
    assert len(sizes) >= 14
    assert sizes[0] < 2.5e9
    assert 20e9 < sizes[-1] < 26e9
    assert {pair.kind for pair in pairs.values()} == {
        "code",
        "general",
        "reasoning",
        "multilingual",
        "demo",
    }


def test_every_shipped_file_is_named_exactly_and_smaller_than_its_target() -> None:
    for pair in shipped().pairs.values():
        for layout in (pair, *(pair.at(quant) for quant in pair.variants)):
            for model in layout.models:
                assert model.file.endswith(".gguf")
                assert not set("*?[") & set(model.file + model.repo)
                assert model.licence
            if layout.draft and pair.kind != "demo":
                assert layout.draft.bytes < 0.6 * layout.target.bytes


def test_the_demo_pair_is_made_on_this_machine() -> None:
    demo = shipped().get("demo")
    assert demo.draft is not None
    assert demo.target.recipe is not None
    assert demo.draft.recipe is not None
    assert demo.remote == ()
    assert demo.target.recipe.prune_layers == ()
    assert len(demo.draft.recipe.prune_layers) == 3


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotHere, match=r"no pair 'qwen2\.5-codr-7b'") as caught:
        shipped().get("qwen2.5-codr-7b")
    assert "did you mean qwen2.5-coder-7b" in caught.value.hint


def test_a_layout_is_chosen_after_the_at_sign() -> None:
    pair = shipped().get("qwen2.5-coder-7b@q4_0")
    assert pair.target.file == "qwen2.5-coder-7b-instruct-q4_0.gguf"
    assert shipped().get("qwen2.5-coder-7b@Q4_K_M").target.quant == "Q4_K_M"
    with pytest.raises(NotHere, match="has no layout Q9") as caught:
        shipped().get("qwen2.5-coder-7b@Q9")
    assert caught.value.hint == "there are Q4_K_M, Q4_0"


def test_a_layout_without_a_draft_of_its_own_keeps_the_pairs(tmp_path: Path) -> None:
    pair = read_pairs(written(tmp_path, ONE))[0]
    assert pair.at("Q4_0").draft == pair.draft


def test_the_first_proposal_fits_and_asks_for_no_licence() -> None:
    catalogue = shipped()
    for free in (4e9, 16e9, 64e9):
        pair = catalogue.propose(int(free))
        assert pair is not None
        assert pair.memory_bytes <= 0.6 * free
        assert not pair.unverified
    assert catalogue.propose(1_000_000_000) is None
    names = [pair.name for pair in catalogue.fitting(6_000_000_000)]
    assert names[-1] == "demo"
    assert "qwen2.5-coder-1.5b" in names
    assert "gemma-4-31b" not in names


BROKEN = [
    (ONE.replace("licence", "license", 1), "unknown key mine.target.license", "'licence'"),
    (ONE.replace('kind = "code"', 'kind = "cod"'), "mine.kind", "mend"),
    (ONE.replace("bytes = 4_000_000_000\n", ""), "mine.target.bytes: Field required", "mend"),
    (ONE.replace('"me/big"', '"big"', 1), "repo must be owner/name", "mend"),
    (ONE.replace('"mine"', '"Not Good"'), "name", "mend"),
    (ONE.split("[pair.draft]", maxsplit=1)[0], "drafter 'model' needs a", "mend"),
    (ONE.replace("[[pair]]", "[[pairs]]"), "unknown key pairs", "'pair'"),
    (ONE.replace("= 4096", "= "), "models.toml", "mend"),
]


@pytest.mark.parametrize(("text", "message", "hint"), BROKEN)
def test_a_mistake_is_answered_with_its_place_and_the_nearest_word(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    with pytest.raises(OptionError) as caught:
        read_pairs(written(tmp_path, text))
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_the_users_own_pairs_come_on_top(tmp_path: Path) -> None:
    own = written(tmp_path, ONE.replace('"mine"', '"qwen3-8b"'))
    pairs = load_catalogue(own)
    assert pairs.get("qwen3-8b").target.repo == "me/big"
    assert pairs.get("qwen3-14b").target.repo == "Qwen/Qwen3-14B-GGUF"


def test_a_pair_that_is_added_reads_back_the_same_and_can_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "config" / "models.toml"
    pair = read_pairs(written(tmp_path, ONE))[0]
    add_pair(pair, path)
    path.write_text("# mine\n" + path.read_text())
    other = pair.model_copy(update={"name": "other"})
    add_pair(other, path)
    assert read_pairs(path) == (pair, other)
    with pytest.raises(OptionError, match="already has a pair 'mine'"):
        add_pair(pair, path)
    drop_pair("mine", path)
    assert read_pairs(path) == (other,)
    assert path.read_text().startswith("# mine\n")
    with pytest.raises(NotHere, match="has no pair 'mine'"):
        drop_pair("mine", path)


def test_every_shipped_pair_can_be_written_back(tmp_path: Path) -> None:
    pairs: tuple[Pair, ...] = read_pairs(shipped_file())
    text = "\n\n".join(to_toml(pair) for pair in pairs)
    assert read_pairs(written(tmp_path, text)) == pairs


def test_a_split_file_stands_for_all_its_parts(tmp_path: Path) -> None:
    text = ONE.replace("big-Q4_K_M.gguf", "big-Q4_K_M-00001-of-00003.gguf")
    pair = read_pairs(written(tmp_path, text))[0]
    assert [file.name[-11:-5] for file in pair.target.remote] == ["-00003"] * 3
    assert len(pair.remote) == 4


def checkout(folder: Path) -> Path:
    """Copy what a wheel is built from, so that nothing is written into the real tree."""
    shutil.copytree(ROOT / "localspec", folder / "localspec")
    for name in ("pyproject.toml", "models.toml"):
        shutil.copy(ROOT / name, folder)
    for name in ("README.md", "LICENSE"):
        (folder / name).write_text("stand-in")
    return folder


def test_the_wheel_carries_the_catalogue_and_finds_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    tree = checkout(tmp_path / "tree")
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    code = "from localspec.pairs.catalogue import shipped_file; print(shipped_file())"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()) == unpacked / "localspec" / "models.toml"
    assert (unpacked / "localspec" / "models.toml").read_bytes() == shipped_file().read_bytes()
    heads = load_catalogue().get("demo").heads
    assert heads
    for head in heads:
        assert (unpacked / "localspec" / "demo" / head.file).stat().st_size == head.bytes
