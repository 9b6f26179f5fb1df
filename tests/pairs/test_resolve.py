import socket
from pathlib import Path

import pytest

from localspec.errors import NotHere, OptionError
from localspec.pairs.catalogue import Catalogue, read_pairs, shipped_file
from localspec.pairs.hub_cache import RemoteFile
from localspec.pairs.resolve import Reference, Request, choose, resolve
from localspec.pairs.split import is_model, quant_of
from localspec.pairs.store import plan_removal, remove, states

COMMIT = "c" * 40
CODER = "Qwen/Qwen2.5-Coder-{}-Instruct-GGUF"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(read_pairs(shipped_file()))


def put(cache: Path, file: RemoteFile, data: bytes = b"x") -> Path:
    """Lay a file into a hub cache the way the hub's own library does."""
    folder = cache / ("models--" + file.repo.replace("/", "--"))
    commit = COMMIT if file.revision == "main" else file.revision
    blob = folder / "blobs" / f"{abs(hash(file)):064x}"
    link = folder / "snapshots" / commit / file.name
    for path in (blob, link, folder / "refs" / "main"):
        path.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    link.symlink_to(blob)
    (folder / "refs" / "main").write_text(COMMIT)
    return link


def test_a_pair_that_is_here_becomes_two_paths(catalogue: Catalogue, tmp_path: Path) -> None:
    pair = catalogue.get("qwen2.5-coder-7b")
    paths = [put(tmp_path, file) for file in pair.remote]
    found = resolve(Request("qwen2.5-coder-7b"), catalogue, tmp_path)
    assert found.draft is not None
    assert [found.target.path, found.draft.path] == paths
    assert found.pair == pair


def test_finding_files_here_touches_no_network(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    for file in catalogue.get("qwen2.5-coder-7b").remote:
        put(tmp_path, file)
    assert resolve(Request("qwen2.5-coder-7b"), catalogue, tmp_path).draft
    with pytest.raises(NotHere):
        resolve(Request("gemma-4-31b"), catalogue, tmp_path)


def test_what_is_missing_comes_with_the_command_that_fetches_it(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    with pytest.raises(NotHere, match=r"qwen2\.5-coder-7b-instruct-q4_0\.gguf") as caught:
        resolve(Request("qwen2.5-coder-7b@q4_0"), catalogue, tmp_path)
    assert caught.value.hint == "localspec models pull qwen2.5-coder-7b@q4_0"
    with pytest.raises(NotHere) as caught:
        resolve(Request(target="me/repo:Q4_K_M"), catalogue, tmp_path)
    assert caught.value.hint == "localspec models pull me/repo:Q4_K_M"
    with pytest.raises(OptionError, match="no pair and no target"):
        resolve(Request(), catalogue, tmp_path)


def test_the_demo_pair_is_one_file_and_two_recipes(
    catalogue: Catalogue, smol: Path, tmp_path: Path
) -> None:
    found = resolve(Request("demo"), catalogue, tmp_path)
    assert found.draft is not None
    assert found.target.path == found.draft.path == smol
    assert found.target.recipe is not None
    assert found.draft.recipe is not None
    assert found.draft.recipe.prune_layers


def test_files_given_by_hand_replace_those_of_a_pair(
    catalogue: Catalogue, tiny: Path, tmp_path: Path
) -> None:
    for file in catalogue.get("qwen2.5-coder-7b").remote:
        put(tmp_path, file)
    found = resolve(Request("qwen2.5-coder-7b", draft=str(tiny)), catalogue, tmp_path)
    assert found.draft is not None
    assert found.draft.path == tiny
    assert resolve(Request(target=str(tiny)), catalogue, tmp_path).draft is None
    with pytest.raises(NotHere, match="no file"):
        resolve(Request(target=str(tmp_path / "none.gguf")), catalogue, tmp_path)
    with pytest.raises(OptionError, match="neither a file nor owner/name"):
        resolve(Request(target="just-a-word"), catalogue, tmp_path)


FILES = [
    "model-Q4_K_M.gguf",
    "model-UD-Q4_K_M.gguf",
    "I-Q4_K_M.gguf",
    "model-Q8_0-00001-of-00002.gguf",
    "model-Q8_0-00002-of-00002.gguf",
    "mmproj-model-Q8_0.gguf",
    "eagle3-model-Q8_0.gguf",
    "MTP/mtp-model-Q8_0.gguf",
    "README.md",
]


@pytest.mark.parametrize(
    ("quant", "name"),
    [
        ("Q4_K_M", "model-Q4_K_M.gguf"),
        ("ud-q4_k_m", "model-UD-Q4_K_M.gguf"),
        ("Q8_0", "model-Q8_0-00001-of-00002.gguf"),
        ("mmproj-model-Q8_0.gguf", "mmproj-model-Q8_0.gguf"),
    ],
)
def test_a_layout_names_exactly_one_of_many_files(quant: str, name: str) -> None:
    """J04, M10."""
    assert choose(FILES, Reference("me/repo", quant)) == name


def test_between_several_files_it_asks_and_never_guesses() -> None:
    """J04."""
    with pytest.raises(OptionError, match="me/repo could be 4 files") as caught:
        choose(FILES, Reference("me/repo"))
    assert "me/repo:UD-Q4_K_M" in caught.value.hint
    assert "mmproj" not in caught.value.hint
    with pytest.raises(NotHere, match="me/repo:Q2_K is not among"):
        choose(FILES, Reference("me/repo", "Q2_K"))
    assert choose(["only.gguf"], Reference("me/repo")) == "only.gguf"


def test_names_tell_layouts_and_companions_apart() -> None:
    assert quant_of("gemma-3-12b-it-q4_0.gguf") == "Q4_0"
    assert quant_of("SmolLM2-135M-Instruct.Q4_1.gguf") == "Q4_1"
    assert quant_of("gpt-oss-20b-MXFP4.gguf") == "MXFP4"
    assert quant_of("x-IQ4_XS.gguf") == "IQ4_XS"
    assert quant_of("model.gguf") == ""
    assert is_model("promptpilot-Q4_0.gguf")
    assert not is_model("imatrix.gguf")


def test_a_reference_to_a_repository_finds_its_one_file_here(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    path = put(tmp_path, RemoteFile("me/repo", "model-Q4_0.gguf"))
    put(tmp_path, RemoteFile("me/repo", "mmproj-model.gguf"))
    found = resolve(Request(target="me/repo"), catalogue, tmp_path)
    assert found.target.path == path


def test_removing_a_pair_keeps_what_another_pair_uses(catalogue: Catalogue, tmp_path: Path) -> None:
    seven, fourteen = (catalogue.get(f"qwen2.5-coder-{size}b") for size in (7, 14))
    links = {file: put(tmp_path, file, b"12345") for file in {*seven.remote, *fourteen.remote}}
    here = {state.pair.name for state in states(catalogue, tmp_path) if state.here}
    assert here >= {"qwen2.5-coder-7b", "qwen2.5-coder-14b"}
    plan = plan_removal(seven, catalogue, tmp_path)
    shared = fourteen.remote[1]
    assert [file for file, _ in plan.kept] == [shared]
    assert plan.files == (seven.remote[0],)
    assert plan.bytes == 5
    blob = links[seven.remote[0]].resolve()
    remove(plan, tmp_path)
    assert not blob.exists()
    assert links[shared].is_file()
    last = plan_removal(fourteen, catalogue, tmp_path)
    assert set(last.files) == set(fourteen.remote)


def test_a_blob_that_two_revisions_share_stays(catalogue: Catalogue, tmp_path: Path) -> None:
    pair = catalogue.get("qwen3-8b")
    file = pair.remote[0]
    link = put(tmp_path, file)
    other = link.parents[1] / ("d" * 40) / file.name
    other.parent.mkdir()
    other.symlink_to(link.resolve())
    remove(plan_removal(pair, catalogue, tmp_path), tmp_path)
    assert not link.exists()
    assert other.is_file()
