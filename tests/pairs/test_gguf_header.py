import random
import struct
import tracemalloc
from pathlib import Path

import gguf
import pytest
from pairs_gguf import Spec, texts, write

from localspec.errors import LocalspecError, NotHere, PairRefused
from localspec.pairs.ggml_types import GGML_TYPES
from localspec.pairs.header import LazyArray, read_header


def oracle_values(reader: gguf.GGUFReader) -> dict[str, object]:
    return {
        key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")
    }


def our_value(value: object) -> object:
    if not isinstance(value, LazyArray):
        return value
    if value.kind == 8:
        return [text.decode("utf-8", errors="replace") for text in value.texts()]
    return value.numbers().tolist()


@pytest.mark.parametrize("name", ["tiny", "smol"])
def test_a_header_says_what_the_gguf_package_reads(
    name: str, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(name)
    header, oracle = read_header(path), gguf.GGUFReader(path)
    ours = {key: our_value(value) for key, value in header.metadata.items()}
    assert ours == oracle_values(oracle)
    assert [(t.name, list(t.shape), t.type, t.offset, t.bytes) for t in header.tensors] == [
        (t.name, t.shape.tolist(), int(t.tensor_type), t.data_offset, t.n_bytes)
        for t in oracle.tensors
    ]


def test_every_storage_type_has_the_size_that_gguf_gives_it() -> None:
    sizes = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    ours = {number: (kind.block, kind.size) for number, kind in GGML_TYPES.items()}
    assert {number: ours[number] for number in sizes if number in ours} == {
        number: size for number, size in sizes.items() if number in ours
    }
    assert set(sizes) <= set(ours)


def test_parts_of_a_split_file_are_read_as_one(tmp_path: Path) -> None:
    whole = read_header(write(tmp_path / "whole.gguf", Spec(blocks=1)))
    names = [tmp_path / f"big-0000{part}-of-00002.gguf" for part in (1, 2)]
    for number, path in enumerate(names):
        write(path, Spec(blocks=1, extra={"split.count": 2, "split.no": number}))
    header = read_header(names[0])
    assert header.parts == tuple(names)
    assert header.weights == 2 * whole.weights
    assert header.file_bytes == sum(path.stat().st_size for path in names)
    with pytest.raises(PairRefused, match="not the first of its 2 parts"):
        read_header(names[1])
    names[1].unlink()
    with pytest.raises(NotHere, match=r"big-00002-of-00002\.gguf"):
        read_header(names[0])


def test_a_draft_cut_in_half_or_in_its_header_is_refused_in_one_line(
    tiny: Path, tmp_path: Path
) -> None:
    """A16."""
    data = tiny.read_bytes()
    for length, words in ((len(data) // 2, "cut short"), (1000, "damaged"), (0, "empty")):
        path = tmp_path / f"cut{length}.gguf"
        path.write_bytes(data[:length])
        with pytest.raises(PairRefused, match=words) as caught:
            read_header(path)
        assert "\n" not in caught.value.message
        assert caught.value.hint


def test_what_is_no_gguf_is_refused_by_name(tmp_path: Path) -> None:
    """J01."""
    path = tmp_path / "notes.txt"
    path.write_text("hello, this is text")
    with pytest.raises(PairRefused, match=r"notes\.txt is not a GGUF file"):
        read_header(path)
    with pytest.raises(NotHere, match="no file"):
        read_header(tmp_path / "missing.gguf")
    with pytest.raises(PairRefused, match="is a folder"):
        read_header(tmp_path)
    broken = tmp_path / "link.gguf"
    broken.symlink_to(tmp_path / "gone")
    with pytest.raises(NotHere, match="no file"):
        read_header(broken)


def test_a_path_in_any_script_is_opened(tiny: Path, tmp_path: Path) -> None:
    """L04."""
    folder = tmp_path / "Modeller ığş 模型"
    folder.mkdir()
    path = folder / "дом.gguf"
    path.write_bytes(tiny.read_bytes())
    assert read_header(path).arch == "llama"


def mutate(data: bytes, rng: random.Random, reach: int) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(max(1, min(reach, len(out)) - 8))
        match rng.randrange(4):
            case 0:
                out[at] = rng.randrange(256)
            case 1:
                out[at : at + 8] = struct.pack("<Q", rng.choice([2**63, 2**40, 2**32 - 1, 10**6]))
            case 2:
                out[at : at + 4] = struct.pack("<I", rng.choice([2**32 - 1, 2**20, 0, 9]))
            case 3:
                del out[at:]
                out += bytes(8)
    return bytes(out)


def is_refused(path: Path) -> bool:
    try:
        header = read_header(path)
        for value in header.metadata.values():
            our_value(value)
    except LocalspecError as error:
        return bool(error.message)
    return False


def test_ten_thousand_damaged_headers_neither_crash_nor_fill_memory(tmp_path: Path) -> None:
    few = tuple(texts(259)[240:])
    whole = write(tmp_path / "model.gguf", Spec(tokens=few, width=32, blocks=1))
    data, start = whole.read_bytes(), min(t.offset for t in read_header(whole).tensors)
    rng, path, refused = random.Random(7), tmp_path / "damaged.gguf", 0
    tracemalloc.start()
    with path.open("w+b", buffering=0) as file:
        for number in range(10_000):
            # Half of the damage goes where it does most: the counts and lengths at the front.
            damaged = mutate(data, rng, start if number % 2 else 600)
            file.seek(0)
            file.write(damaged)
            file.truncate()
            refused += is_refused(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 5_000 < refused < 9_900  # the rest is damage that a header cannot show
    assert peak < 64e6


def test_a_count_beyond_any_model_is_refused_before_it_is_walked(
    tiny: Path, tmp_path: Path
) -> None:
    data = bytearray(tiny.read_bytes())
    data[16:24] = struct.pack("<Q", 2**40)
    path = tmp_path / "absurd.gguf"
    path.write_bytes(bytes(data))
    with pytest.raises(PairRefused, match="the number of entries is 1099511627776"):
        read_header(path)
