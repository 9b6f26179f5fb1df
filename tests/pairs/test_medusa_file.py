"""A file of Medusa heads comes back as it was written, and each way to be wrong has its line."""

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest

from localspec.errors import PairRefused
from localspec.pairs import medusa_file as layout
from localspec.pairs.header import read_header
from localspec.pairs.medusa_file import read_medusa
from tests.conftest import TinyPair
from tests.heads import random_heads, write_heads
from tests.models import write_llama
from tools.medusa_writer import Writing, write_medusa


def read(path: Path, target: Path):
    return read_medusa(path, read_header(target))


@pytest.mark.parametrize("shared", [True, False])
def test_heads_come_back_as_they_were_written(tiny: Path, tmp_path: Path, shared: bool) -> None:
    made = random_heads(tiny, heads=4, ids=50, shared=shared)
    found = read(write_heads(tmp_path / "heads.gguf", tiny, made), tiny)
    assert (len(found), found.width) == (4, made.width)
    assert found.ids.tolist() == made.ids.tolist()
    np.testing.assert_array_equal(found.projection, made.projection)
    np.testing.assert_array_equal(found.layers[0].weight, made.layers[0].weight)
    np.testing.assert_array_equal(found.layers[0].bias, made.layers[0].bias)


@pytest.mark.parametrize(("kind", "error"), [("f16", 2e-3), ("q8_0", 1e-2), ("q4_0", 0.2)])
def test_stored_types_are_read_within_their_rounding(
    tiny: Path, tmp_path: Path, kind: str, error: float
) -> None:
    made = random_heads(tiny)
    path = write_medusa(tmp_path / "heads.gguf", made, tiny, Writing(kind, kind))
    found = read(path, tiny)
    scale = np.abs(made.projection).max()
    assert 0 < np.abs(found.projection - made.projection).max() < error * scale
    assert 0 < np.abs(found.layers[0].weight - made.layers[0].weight).max() < error * scale


def test_bf16_is_read(tiny: Path, tmp_path: Path) -> None:
    made = random_heads(tiny)
    whole = (made.projection.view(np.uint32) >> 16).astype(np.uint16)
    path = write_raw(tmp_path / "heads.gguf", tiny, projection=(whole, "BF16"))
    expected = (whole.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(read(path, tiny).projection, expected)


def test_a_full_vocabulary_needs_no_map(tiny: Path, tmp_path: Path) -> None:
    made = random_heads(tiny, ids=10**6)
    path = write_heads(tmp_path / "heads.gguf", tiny, made)
    assert read_header(path).tensor(layout.IDS) is None
    assert read(path, tiny).ids.tolist() == list(range(len(made.ids)))


def write_raw(path: Path, target: Path, **changes: object) -> Path:
    """Write heads with one thing wrong: a count, a tensor left out, other ids."""
    made = random_heads(target)
    values = {"heads": len(made), "layers": 1, "ids": made.ids, "without": "", "texts": None}
    values |= {"projection": (made.projection, "F32"), "bias": made.layers[0].bias, **changes}
    writer = gguf.GGUFWriter(path, layout.ARCHITECTURE)
    writer.add_uint32(layout.HEADS, values["heads"])
    writer.add_uint32(layout.LAYERS, values["layers"])
    header = read_header(target)
    tokens = tuple(header.array("tokenizer.ggml.tokens").texts())
    writer.add_string(layout.TARGET_TEXTS, values["texts"] or layout.digest(tokens))
    tensors = {layout.IDS: np.asarray(values["ids"], np.int32)}
    for head in range(len(made)):
        tensors[f"medusa.{head}.0.weight"] = made.layers[0].weight[head]
        tensors[f"medusa.{head}.0.bias"] = np.asarray(values["bias"], np.float32)[head]
    for name, value in tensors.items():
        if name != values["without"]:
            writer.add_tensor(name, value)
    projection, kind = values["projection"]
    if values["without"] != layout.PROJECTION:
        raw = None if kind == "F32" else gguf.GGMLQuantizationType[kind]
        stored = projection if raw is None else projection.view(np.uint8)
        writer.add_tensor(layout.PROJECTION, stored, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


DAMAGE = {
    "no heads": ({"heads": 0}, "medusa.heads is 0"),
    "more heads than tensors": ({"heads": 4}, "no medusa.3.0.weight"),
    "absurd heads": ({"heads": 10**6}, "medusa.heads is 1000000"),
    "more layers than tensors": ({"layers": 2}, "no medusa.0.1.weight"),
    "no projection": ({"without": layout.PROJECTION}, "no medusa.0.projection.weight"),
    "no bias": ({"without": "medusa.1.0.bias"}, "no medusa.1.0.bias"),
    "ids of another count": ({"ids": np.arange(7)}, "7 ids do not name 200 tokens"),
    "an id twice": ({"ids": np.zeros(200)}, "do not name"),
    "an id that the target lacks": ({"ids": np.arange(10_000, 10_200)}, "do not name"),
    "a negative id": ({"ids": np.arange(-1, 199)}, "do not name"),
    "no numbers": ({"bias": np.full((3, 64), np.nan)}, "no numbers"),
    "a short bias": ({"bias": np.zeros((3, 32))}, "bias"),
    "a narrow projection": (
        {"projection": (np.zeros((200, 32), np.float32), "F32")},
        "reads 32 numbers of 64",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_refused_in_one_line(tiny: Path, tmp_path: Path, name: str) -> None:
    changes, words = DAMAGE[name]
    with pytest.raises(PairRefused, match=words) as refused:
        read(write_raw(tmp_path / "heads.gguf", tiny, **changes), tiny)
    assert "\n" not in refused.value.message


def _cut(path: Path, tiny: Path) -> Path:
    whole = write_heads(path, tiny).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def _other_width(path: Path, tiny: Path) -> Path:
    return write_heads(path, write_llama(path.with_name("wide.gguf"), n_embd=96))


def _other_texts(path: Path, tiny: Path) -> Path:
    return write_heads(path, write_llama(path.with_name("other.gguf"), renamed={300: "zebra"}))


def _other_size(path: Path, tiny: Path) -> Path:
    return write_heads(path, write_llama(path.with_name("small.gguf"), n_tokens=320))


def _a_model(path: Path, tiny: Path) -> Path:
    return write_llama(path)


def _text(path: Path, tiny: Path) -> Path:
    path.write_text("no heads at all", encoding="utf-8")
    return path


def _empty(path: Path, tiny: Path) -> Path:
    path.touch()
    return path


def _absent(path: Path, tiny: Path) -> Path:
    return path


WRONG: dict[str, tuple[Callable[[Path, Path], Path], str]] = {
    "missing": (_absent, "no Medusa heads: no file"),
    "cut short": (_cut, "cut short"),
    "of a wider target": (_other_width, "states of 96 numbers, target.gguf has 64"),
    "of other texts": (_other_texts, "was made for tiny, whose vocabulary is not that of"),
    "of a smaller vocabulary": (_other_size, "whose vocabulary is not that of"),
    "a language model": (_a_model, "holds no Medusa heads: it is a llama file"),
    "a text": (_text, "not a GGUF file"),
    "empty": (_empty, "is empty"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_one_line(
    tiny_pair: TinyPair, tmp_path: Path, name: str
) -> None:
    make, words = WRONG[name]
    path = make(tmp_path / "heads.gguf", tiny_pair.target)
    with pytest.raises(PairRefused, match=words) as refused:
        read(path, tiny_pair.target)
    assert "\n" not in refused.value.message
    assert refused.value.exit_code == 4


def test_heads_of_different_shapes_are_damaged(tiny: Path, tmp_path: Path) -> None:
    made = random_heads(tiny, heads=2, shared=False)
    path = write_heads(tmp_path / "heads.gguf", tiny, made)
    data = path.read_bytes()
    name = b"medusa.1.0.bias"
    at = data.index(name) + len(name) + 4  # the length of its one dimension
    width = int.from_bytes(data[at : at + 8], "little")
    path.write_bytes(data[:at] + (width - 1).to_bytes(8, "little") + data[at + 8 :])
    with pytest.raises(PairRefused, match=r"medusa\.1\.0\.bias has another shape"):
        read(path, tiny)
