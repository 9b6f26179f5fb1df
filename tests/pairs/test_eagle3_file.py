"""One clear line, and no crash, for each way an EAGLE-3 file can be wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.errors import PairRefused
from localspec.pairs.eagle3_file import check_eagle3
from localspec.pairs.header import Header, read_header
from tests.models import write_llama
from tests.models_heads import TARGET, write_eagle3, write_target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("eagle3")


@pytest.fixture(scope="module")
def target(folder: Path) -> Header:
    return read_header(write_target(folder / "target.gguf"))


def refusal(path: Path, target: Header) -> str:
    with pytest.raises(PairRefused) as caught:
        check_eagle3(path, target)
    assert caught.value.exit_code == 4
    assert "\n" not in caught.value.message
    assert path.name in caught.value.message
    return caught.value.message


def test_a_head_that_fits_tells_which_blocks_it_reads(folder: Path, target: Header) -> None:
    path = write_eagle3(folder / "good.gguf", layers=(1, 2, 3))
    assert check_eagle3(path, target) == (1, 2, 3)


def test_a_head_without_a_map_has_the_targets_ids(folder: Path, target: Header) -> None:
    path = write_eagle3(
        folder / "whole.gguf",
        drafted=tuple(range(TARGET.n_tokens)),
        without=frozenset({"d2t"}),
    )
    assert check_eagle3(path, target) == (0, 2, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layers": (0, 2, 4)}, "reads layer 4, the target has 4"),
        ({"layers": (0, 2)}, "reads 3 blocks"),
        ({"blocks": 2}, "has one of its own"),
        ({"target_width": 96}, "hidden size of 96, the target has 64"),
        ({"width": 128}, "borrows the target's 64"),
        ({"drafted": (*range(30, 60), 384)}, "does not name 31 tokens of the target"),
        ({"drafted": (*range(30, 60), -1)}, "does not name 31 tokens of the target"),
        ({"drafted": (*range(30, 60), 30)}, "does not name 31 tokens of the target"),
        ({"map_type": np.int32}, "holds no ids"),
        ({"renamed": {60: "other"}}, "token 60 is"),
        ({"extra": {"eagle3.attention.key_length": 16}}, "keys have 16 numbers"),
        ({"ids": 370}, "does not name the target's 384 tokens"),
        ({"without": frozenset({"fc.weight"})}, "fc.weight is missing, not 192"),
        ({"without": frozenset({"d2t"})}, "output.weight is 64 × 170, not 64 × 384"),
        ({"without": frozenset({"output.weight"})}, "no output of its own"),
    ],
)
def test_a_wrong_head_is_refused_in_one_line(
    folder: Path, target: Header, changes: dict[str, object], words: str
) -> None:
    """H03 H05: foreign and broken heads never reach the engine."""
    path = write_eagle3(folder / "wrong.gguf", **changes)
    assert words in refusal(path, target)


def test_the_head_of_another_target_is_refused(folder: Path) -> None:
    """H04: another vocabulary, though every width fits."""
    renamed = {token: f"other{token}" for token in range(200, 300)}
    other = read_header(write_llama(folder / "other.gguf", renamed=renamed))
    path = write_eagle3(folder / "foreign.gguf")
    assert "does not fit other.gguf: token 200 is" in refusal(path, other)


def test_a_file_of_another_kind_is_refused(folder: Path, target: Header) -> None:
    path = write_llama(folder / "model.gguf")
    assert "is no EAGLE-3 head: it is a llama file" in refusal(path, target)


def test_a_missing_file_is_refused(folder: Path, target: Header) -> None:
    assert "no EAGLE-3 head" in refusal(folder / "absent.gguf", target)


def test_a_head_that_is_no_gguf_is_refused(folder: Path, target: Header) -> None:
    path = folder / "noise.gguf"
    path.write_bytes(b"not a model at all" * 40)
    assert "is not a GGUF file" in refusal(path, target)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.99])
def test_a_head_that_is_cut_short_is_refused(folder: Path, target: Header, share: float) -> None:
    """E12: an interrupted download."""
    whole = write_eagle3(folder / "whole-head.gguf").read_bytes()
    path = folder / "short.gguf"
    path.write_bytes(whole[: int(len(whole) * share)])
    refusal(path, target)


def test_a_head_reads_no_more_blocks_than_a_smaller_target_has(folder: Path) -> None:
    smaller = replace(TARGET, n_layer=3)
    path = write_eagle3(folder / "deep.gguf", smaller)
    target = read_header(write_target(folder / "shallow.gguf", n_layer=3))
    assert "reads layer 3, the target has 3" in refusal(path, target)
