"""The page as text: its words, its colours, its size, and that nothing gets out of its place."""

import json
import re
from string import Formatter

import pytest

from localspec.core.rules import RuleName
from localspec.report.trace_data import safe_json
from localspec.report.trace_markup import contained, in_line, visible
from localspec.report.trace_page import PageOptions, trace_page
from localspec.report.trace_words import LANGUAGES, PAGE, load_words
from tests.e2e.pages import Wish, make_trace

CSS = (PAGE / "page.css").read_text(encoding="utf-8")
INKS = {
    "paper": ("ink", "dim", "draft", "target", "bad"),
    "card": ("ink", "dim", "draft", "target", "bad"),
    "draft-soft": ("draft",),
    "target-soft": ("target",),
    "button": ("ink", "dim"),
}
FILLS = ("draft-fill", "target-fill")


def _colours(scheme: str) -> dict[str, str]:
    blocks = re.findall(r":root\s*{([^}]*)}", CSS)
    assert len(blocks) == 2
    found = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", blocks[0]))
    if scheme == "dark":
        found |= dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", blocks[1]))
    return found


def _light(colour: str) -> float:
    """Source: WCAG 2, relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((_light(one), _light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_ink_stands_out_from_every_paper_it_is_put_on(scheme: str) -> None:
    colours = _colours(scheme)
    pairs = {
        (ink, paper): contrast(colours[ink], colours[paper])
        for paper, inks in INKS.items()
        for ink in inks
    }
    assert {pair: ratio for pair, ratio in pairs.items() if ratio < 4.5} == {}
    bars = {fill: contrast(colours[fill], colours["card"]) for fill in FILLS}
    assert {fill: ratio for fill, ratio in bars.items() if ratio < 3} == {}


def test_contrast_is_that_of_black_and_white_at_its_ends() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_the_languages_say_the_same_things() -> None:
    english, turkish = (load_words(lang).texts for lang in LANGUAGES)
    assert english.keys() == turkish.keys()
    for key, text in english.items():
        fields = [
            sorted({name for _, name, _, _ in Formatter().parse(said) if name})
            for said in (text, turkish[key])
        ]
        assert fields[0] == fields[1], key


def test_no_sentence_is_left_in_the_other_language() -> None:
    english, turkish = (load_words(lang).texts for lang in LANGUAGES)
    alike = {key for key in english if english[key] == turkish[key] and len(english[key]) > 3}
    assert alike == set()


def test_numbers_are_written_as_the_language_writes_them() -> None:
    english, turkish = load_words("en"), load_words("tr")
    assert (english.number(1.5, 1), turkish.number(1.5, 1)) == ("1.5", "1,5")
    assert (english.percent(0.76), turkish.percent(0.76)) == ("76\u202f%", "%76")
    assert [english.chance(value) for value in (None, 0.0, 1e-5, 0.5, 0.99999, 1.0)] == [
        "–",
        "0.000",
        "<0.001",
        "0.500",
        ">0.999",
        "1.000",
    ]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_page_names_no_address_and_loads_nothing(lang: str) -> None:
    page = trace_page(make_trace(), PageOptions(lang))
    assert re.findall(r"https?://|(?:src|href)=(?!\"data:,\"|x )[^ >]*", page) == []
    assert "default-src 'none'" in page


def test_nothing_in_the_data_can_end_its_element() -> None:
    text = safe_json({"a": "</script><!-- & \u2028\u2029", "b": [1.5, None]})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028\u2029", "b": [1.5, None]}


def test_a_page_has_the_two_scripts_it_is_made_with_and_no_other() -> None:
    page = trace_page(make_trace())
    assert page.count("<script") == page.count("</script>") == 2
    assert "[red]" in page
    assert "👩‍👩‍👧" in page
    assert "שלום" in page


def test_control_characters_become_pictures_and_turns_stay_in_their_token() -> None:
    assert visible("a\n\t\x00\x1b\x7f") == "a↵⇥␀␛\\x7f"
    assert in_line("a\nb\x08") == "a\nb␈"
    assert contained(["<b>", "\u202ex"]) == "&lt;b&gt;<bdi>\u202ex</bdi>"


def test_256_tokens_stay_under_a_megabyte_and_a_half() -> None:
    assert len(trace_page(make_trace()).encode()) < 1_500_000


def test_other_rules_are_named_where_the_picture_shows_the_token_rule() -> None:
    told = "This answer was judged by another rule (block)"
    assert told not in trace_page(make_trace(Wish(tokens=40)))
    assert told in trace_page(make_trace(Wish(tokens=40, rule=RuleName.BLOCK)))
