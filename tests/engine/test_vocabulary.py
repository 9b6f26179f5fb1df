"""Ids and bytes, what may be emitted, what ends an answer, and how many BOS stand in front."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.engine import Model
from tests.models import BOS, EOS, IM_END, IM_START, write_llama


@pytest.mark.parametrize(
    "text", ["", "the people of", "ığüşöç İ", "模型 漢字", "👨‍👩‍👧‍👦 🏳️‍🌈", "\x00\x01", " a\n\n\tb "]
)
def test_text_comes_back_byte_for_byte(tiny_model: Model, text: str) -> None:
    vocabulary = tiny_model.vocabulary
    ids = vocabulary.tokenize(text, special=False, bos=False)
    assert vocabulary.detokenize(ids) == text.encode()


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_comes_back_byte_for_byte(tiny_model: Model, text: str) -> None:
    vocabulary = tiny_model.vocabulary
    ids = vocabulary.tokenize(text, special=False, bos=False)
    assert vocabulary.detokenize(ids, special=True) == text.encode()


def test_half_a_character_becomes_a_replacement_mark(tiny_model: Model) -> None:
    vocabulary = tiny_model.vocabulary
    ids = vocabulary.tokenize("a\ud83db", special=False, bos=False)
    assert vocabulary.detokenize(ids).decode() == "a\ufffdb"


def test_a_long_text_is_tokenised_whole(tiny_model: Model) -> None:
    vocabulary = tiny_model.vocabulary
    text = "the people of the water 模" * 4000
    assert (
        vocabulary.detokenize(vocabulary.tokenize(text, special=False, bos=False)) == text.encode()
    )


def test_the_buffer_grows_when_the_engine_asks_for_more(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary = tiny_model.vocabulary
    plain = vocabulary._encode_into
    rooms: list[int] = []

    def cramped(data: bytes, special: bool, room: int) -> tuple[int, object]:
        rooms.append(room)
        return plain(data, special, 3 if len(rooms) == 1 else room)

    monkeypatch.setattr(vocabulary, "_encode_into", cramped)
    ids = vocabulary.tokenize("zzzzzzzz", special=False, bos=False)
    assert vocabulary.detokenize(ids) == b"zzzzzzzz"
    assert len(rooms) == 2


def test_special_text_becomes_special_tokens_only_when_asked(tiny_model: Model) -> None:
    vocabulary = tiny_model.vocabulary
    assert vocabulary.tokenize("<|im_end|>", special=True, bos=False) == [IM_END]
    plain = vocabulary.tokenize("<|im_end|>", special=False, bos=False)
    assert IM_END not in plain
    assert vocabulary.detokenize(plain) == b"<|im_end|>"


def test_special_tokens_are_rendered_only_when_asked(tiny_model: Model) -> None:
    assert tiny_model.vocabulary.piece(IM_START) == b""
    assert tiny_model.vocabulary.piece(IM_START, special=True) == b"<|im_start|>"
    assert tiny_model.vocabulary.text(IM_START) == "<|im_start|>"


def test_a_piece_longer_than_the_buffer_comes_whole(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf", renamed={383: "x" * 500})
    with Model.load(path) as model:
        assert model.vocabulary.piece(383) == b"x" * 500


def test_an_id_outside_the_vocabulary_is_a_bug(tiny_model: Model) -> None:
    for token in (-1, 384):
        with pytest.raises(ValueError, match="no token"):
            tiny_model.vocabulary.piece(token)
        with pytest.raises(ValueError, match="no token"):
            tiny_model.vocabulary.text(token)


def test_every_end_of_an_answer_is_known(tiny_model: Model) -> None:
    """D07: end of text and end of turn."""
    assert tiny_model.vocabulary.eog == {EOS, IM_END}


def test_a_plain_token_declared_the_end_is_one(tmp_path: Path) -> None:
    """D02: a model whose end of text is an ordinary token."""
    with Model.load(write_llama(tmp_path / "m.gguf", eos=100)) as model:
        assert 100 in model.vocabulary.eog


@pytest.mark.parametrize("padding", [0, 1, 16])
def test_ids_beyond_the_last_text_are_not_usable(tmp_path: Path, padding: int) -> None:
    """A03, A04."""
    with Model.load(write_llama(tmp_path / "m.gguf", padding=padding)) as model:
        vocabulary = model.vocabulary
        assert (vocabulary.size, vocabulary.usable) == (384 + padding, 384)
        assert vocabulary.banned == frozenset()


def test_ids_without_text_among_the_others_are_banned(tmp_path: Path) -> None:
    """A04: unused by type, or with an empty text."""
    path = write_llama(tmp_path / "m.gguf", padding=4, types={300: 5}, renamed={301: "", 385: ""})
    with Model.load(path) as model:
        assert model.vocabulary.banned == {300, 301}
        assert model.vocabulary.usable == 384


def test_smollm_bans_nothing(smollm_model: Model) -> None:
    vocabulary = smollm_model.vocabulary
    assert (vocabulary.usable, vocabulary.banned) == (49152, frozenset())
    assert smollm_model.vocabulary.eos in vocabulary.eog


@pytest.mark.parametrize(
    ("add_bos", "text", "expected"),
    [
        (True, "<|bos|>A", [BOS, 37 + 33]),
        (True, "A", [BOS, 37 + 33]),
        (True, "<|bos|><|bos|>A", [BOS, 37 + 33]),
        (True, "", [BOS]),
        (False, "<|bos|>A", [BOS, 37 + 33]),
        (False, "A", [37 + 33]),
        (False, "<|bos|><|bos|>A", [BOS, 37 + 33]),
        (None, "A", [37 + 33]),
    ],
)
def test_the_header_decides_how_many_bos_stand_in_front(
    tmp_path: Path, add_bos: bool | None, text: str, expected: list[int]
) -> None:
    """A17: golden ids; byte A is id 5 + 65."""
    with Model.load(write_llama(tmp_path / "m.gguf", add_bos=add_bos, add_eos=True)) as model:
        assert model.vocabulary.tokenize(text, special=True, bos=True) == expected


def test_a_model_without_bos_gets_none(tmp_path: Path) -> None:
    with Model.load(write_llama(tmp_path / "m.gguf", bos=None, add_bos=False)) as model:
        assert model.vocabulary.tokenize("A", special=True, bos=True) == [70]
