"""The file an n-gram table is kept in: whole, or refused."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_texts import ids, text

from localspec.core.tokens import Tokens
from localspec.drafters import ngram_file
from localspec.drafters.ngram_file import KeptTable, learn, load, open_or_learn, save
from localspec.errors import OptionError, PairRefused


def kept() -> KeptTable:
    return learn([text(), text(500, 7)], "tokenizer-1")


def test_a_kept_table_comes_back_as_it_was(tmp_path: Path):
    path, before = tmp_path / "deep" / "table", kept()
    save(path, before)
    after = load(path, "tokenizer-1")
    pairs = zip(before.table.arrays(), after.table.arrays(), strict=True)
    assert all(np.array_equal(left, right) and left.dtype == right.dtype for left, right in pairs)
    assert (after.report, after.fingerprint) == (before.report, before.fingerprint)
    assert [found.name for found in path.parent.iterdir()] == ["table"]


def test_the_report_tells_how_held_out_text_was_guessed():
    report = kept().report
    assert report.tokens == 3_502
    assert report.top1 is not None
    assert report.mean_prob is not None
    assert 0.45 < report.top1 < 0.7
    assert report.mean_prob < report.top1
    assert report.bits_per_token == pytest.approx(1.5, abs=0.5)


def test_too_little_text_gives_no_expected_acceptance():
    assert learn([ids(1, 2)], "t").report.top1 is None
    with pytest.raises(OptionError, match="no text"):
        learn([ids()], "t")


def test_a_table_for_another_tokenizer_is_refused(tmp_path: Path):
    save(tmp_path / "t", kept())
    with pytest.raises(PairRefused, match="another tokenizer"):
        load(tmp_path / "t", "tokenizer-2")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_damage_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    path = tmp_path_factory.mktemp("damage") / "t"
    save(path, learn([ids(*[1, 2, 3] * 5)], "t"))
    whole = path.read_bytes()
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(whole) - 1))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    else:
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(PairRefused, match="cannot use"):
        load(path, "t")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"<f4"', b'"<f8"'),
        (b'"<f4"', b'"|O4"'),
        (b'"arrays"', b'"brrays"'),
        (b'"tokens"', b'"tokenz"'),
        (b'["<i4", 3]', b'["<i4", 9]'),
        (b'["<i4", 3]', b'["<i4",-3]'),
        (b'["<i4", 3]', b'["<i4", 2]'),
    ],
)
def test_a_header_that_lies_is_refused_even_with_a_right_checksum(
    tmp_path: Path, old: bytes, new: bytes
):
    save(tmp_path / "t", learn([ids(*[1, 2, 3] * 5)], "t"))
    body = (tmp_path / "t").read_bytes()[:-32]
    assert old in body
    lie = body.replace(old, new, 1)
    (tmp_path / "t").write_bytes(lie + hashlib.sha256(lie).digest())
    with pytest.raises(PairRefused, match="do not fit"):
        load(tmp_path / "t", "t")


def test_a_table_is_learnt_once_and_read_after_that(tmp_path: Path):
    calls: list[int] = []

    def texts() -> list[Tokens]:
        calls.append(1)
        return [text()]

    _, first = open_or_learn(tmp_path / "t", "t", texts)
    _, second = open_or_learn(tmp_path / "t", "t", texts)
    assert len(calls) == 1
    assert first.startswith("n-gram table learnt: 3,001 tokens")
    assert second.startswith("n-gram table read: 3,001 tokens")
    assert "expected acceptance" in second


def test_a_damaged_table_is_learnt_again_and_said_so(tmp_path: Path):
    (tmp_path / "t").write_bytes(b"nonsense")
    table, line = open_or_learn(tmp_path / "t", "t", lambda: [text()])
    assert "learnt again (cannot use" in line
    assert load(tmp_path / "t", "t").report == table.report


def test_a_table_that_cannot_be_kept_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ngram_file, "save", full)
    table, line = open_or_learn(tmp_path / "t", "t", lambda: [text()])
    assert table.table.law([0]) is not None
    assert "not kept (No space left on device)" in line


def test_a_write_that_fails_leaves_the_old_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save(tmp_path / "t", kept())
    before = (tmp_path / "t").read_bytes()

    def broken(*_args: object) -> Path:
        raise OSError(5, "broken")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="broken"):
        save(tmp_path / "t", learn([ids(1, 2, 3)], "t"))
    assert [found.name for found in tmp_path.iterdir()] == ["t"]
    assert (tmp_path / "t").read_bytes() == before
