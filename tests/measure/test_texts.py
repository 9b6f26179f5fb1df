"""The built-in texts, and what becomes of a user's own."""

from pathlib import Path

import pytest

from localspec.errors import NotHere, OptionError
from localspec.measure.texts import (
    KINDS,
    LONGEST_PARAGRAPH,
    MOST_PARAGRAPHS,
    builtin,
    own_text,
    read_bytes,
    suite_file,
)

PROSE = "One morning the ferry did not come. People waited on the pier, and nobody knew why. "


def test_there_are_seven_kinds_with_six_distinct_prompts_each() -> None:
    kinds = builtin()
    assert [kind.name for kind in kinds] == list(KINDS)
    words = [text.words for kind in kinds for text in kind.prompts]
    assert len(set(words)) == len(words)
    assert all(len(kind.prompts) >= 6 for kind in kinds)
    assert all(text.words.strip() == text.words for kind in kinds for text in kind.prompts)


def test_turkish_prompts_are_turkish() -> None:
    """D12: a draft that is good in English may be poor in another language."""
    (turkish,) = builtin(("turkish",))
    assert all(set("ığşçöü") & set(text.words) for text in turkish.prompts)


def test_an_unknown_kind_names_those_there_are() -> None:
    with pytest.raises(NotHere, match="no kind of text 'poem'") as refused:
        builtin(("poem",))
    assert "code, edit" in refused.value.hint


def test_paragraphs_are_cut_at_blank_lines_and_continued() -> None:
    texts = own_text(f"{PROSE}\n\nTitle\n\n{PROSE}Again.\n".encode(), "novel.txt")
    assert texts.name == "novel.txt"
    assert [text.words for text in texts.prompts] == [
        PROSE.strip(),
        f"Title\n\n{PROSE}Again.",
    ]
    assert all(text.continued for text in texts.prompts)


@pytest.mark.parametrize("data", [b"", b" \n\t\n ", b"\xef\xbb\xbf\n"])
def test_an_empty_text_is_refused(data: bytes) -> None:
    with pytest.raises(OptionError, match="is empty"):
        own_text(data, "notes.txt")


@pytest.mark.parametrize("data", [b"GGUF\x00\x00", b"\x89PNG\r\n\x1a\n\x00", b"caf\xe9 au lait"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(OptionError, match=r"binary|not UTF-8"):
        own_text(data, "notes.txt")


def test_a_line_of_10_megabytes_is_cut_into_a_few_short_pieces() -> None:
    texts = own_text((PROSE * 120_000).encode(), "log.txt")
    assert 1 <= len(texts.prompts) <= MOST_PARAGRAPHS
    assert max(len(text.words) for text in texts.prompts) <= LONGEST_PARAGRAPH
    endless = own_text(b"x" * 10_000_000, "x.txt")
    assert len(endless.prompts) == 1  # equal pieces stand once


def test_a_short_text_is_one_prompt() -> None:
    assert [text.words for text in own_text(b"Hello.", "a").prompts] == ["Hello."]


def test_many_paragraphs_are_sampled_over_the_whole_text() -> None:
    data = "\n\n".join(f"{PROSE}{number}." for number in range(300)).encode()
    texts = own_text(data, "a")
    assert len(texts.prompts) == MOST_PARAGRAPHS
    assert texts.prompts[-1].words.endswith(("295.", "296.", "297.", "298.", "299."))


def test_a_suite_of_ones_own_is_a_list_of_prompts(tmp_path: Path) -> None:
    path = tmp_path / "mail.toml"
    path.write_text('prompts = ["Answer this.", " And this. "]', encoding="utf-8")
    assert [text.words for text in suite_file(path).prompts] == ["Answer this.", "And this."]
    deep = f"prompts = {'[' * 50_000}"
    for wrong in ("prompts = 3", "prompts = []", "x = 1", "prompts = [1]", "prompts = [", deep):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(OptionError):
            suite_file(path)


def test_a_file_that_is_not_there_or_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotHere, match="is not there"):
        read_bytes(tmp_path / "nothing.txt")
    with pytest.raises(NotHere, match="is a folder"):
        read_bytes(tmp_path)
