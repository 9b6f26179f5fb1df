"""A user's text files: read in pieces, bounded, and refused in one clear line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.core.tokens import Tokens
from localspec.drafters import textfile
from localspec.drafters.textfile import read_text_file
from localspec.errors import NotHere, OptionError


def points(text: str) -> Tokens:
    return np.array([ord(letter) for letter in text], np.int32)


def letters(tokens: Tokens) -> str:
    return "".join(map(chr, tokens))


@given(st.text(min_size=1).filter(lambda t: "\0" not in t and t[0] != "\ufeff"), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_every_character_arrives_whatever_the_chunk(
    tmp_path_factory: pytest.TempPathFactory, text: str, chunk: int
):
    path = tmp_path_factory.mktemp("text") / "f"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textfile, "_CHUNK_BYTES", chunk)
        read = read_text_file(path, points)
    assert letters(read.tokens) == text
    assert read.notice is None


def test_pieces_end_at_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(textfile, "_CHUNK_BYTES", 16)
    (tmp_path / "f").write_text("words that stay\nwhole in all\nthe pieces\n")
    pieces: list[str] = []
    read_text_file(tmp_path / "f", lambda piece: (pieces.append(piece), points(piece))[1])
    assert len(pieces) > 1
    assert all(piece.endswith("\n") for piece in pieces)


def test_a_byte_order_mark_is_no_text(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfabc")
    assert letters(read_text_file(tmp_path / "f", points).tokens) == "abc"


def test_a_huge_file_is_read_up_to_the_limit_and_said_so(tmp_path: Path):
    """J06: a file of 200 MB, here a sparse one behind a little text."""
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.write("ğ".encode() * 3_000_000)
        file.truncate(200 << 20)
    read = read_text_file(path, points, limit_bytes=(1 << 20) + 1)
    assert letters(read.tokens) == "ğ" * (1 << 19)
    assert read.notice == f"{path}: only the first 1 of 200 MiB are used"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"GGUF\x03\0\0\0", "is a binary file"),
        ("hı".encode("utf-16"), "is a binary file|not UTF-8"),
        ("çok güzel".encode("iso-8859-9"), "is not UTF-8"),
        ("ğ".encode()[:1], "is not UTF-8"),
    ],
)
def test_what_is_not_text_is_refused(tmp_path: Path, content: bytes, said: str):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(OptionError, match=said) as refused:
        read_text_file(tmp_path / "f", points)
    assert refused.value.hint


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path):
    with pytest.raises(NotHere, match="no file"):
        read_text_file(tmp_path / "nowhere", points)
    with pytest.raises(OptionError, match="is a folder"):
        read_text_file(tmp_path, points)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "f").write_text("text")

    def closed(*_args: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)
    with pytest.raises(OptionError, match="Permission denied"):
        read_text_file(tmp_path / "f", points)
