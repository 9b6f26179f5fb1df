"""The page in a real browser: opened from a file, with no network, by mouse and by keyboard."""

import pytest

from localspec.core.rules import RuleName
from localspec.report.trace_page import Busy, PageOptions
from localspec.report.trace_words import LANGUAGES, load_words
from tests.e2e.pages import WORDS, Wish, make_trace

FIGURES = ("passes", "steps", "laws", "speed")
WISHES = {
    "token": Wish(),
    "block": Wish(rule=RuleName.BLOCK),
    "coupled": Wish(rule=RuleName.COUPLED),
    "greedy": Wish(temperature=0.0),
    "plain": Wish(tokens=20, drafted=False),
    "short": Wish(tokens=1, costs=False),
    "uncosted": Wish(tokens=60, costs=False),
}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", WISHES)
def test_a_page_asks_for_nothing_and_complains_about_nothing(window, page_of, name, lang) -> None:
    page = page_of(WISHES[name], PageOptions(lang, busy=(Busy(1, 1.6), Busy(4, 0.8))))
    window.complaints(), window.requests()
    window.open(page)
    assert window.complaints() == []
    assert window.requests() == [page.resolve().as_uri()]
    for figure in FIGURES:
        assert window.js(
            "return document.querySelector(`#${arguments[0]} figure`) !== null", figure
        )
    assert window.js("return document.documentElement.lang") == lang


def test_model_text_is_shown_verbatim_and_does_nothing(shown) -> None:
    """N05: brackets, markup, emoji and right-to-left text are text."""
    text = make_trace().text.replace("\x00", "␀").replace("\x1b", "␛")
    assert shown.js("return document.querySelector('#answer').textContent") == text
    assert shown.js("return document.querySelectorAll('script').length") == 2
    assert shown.js("return document.querySelectorAll('img').length") == 0
    assert shown.js("return D.words").count("</script>") == 1
    assert "[red]" in shown.text(".prompt")
    assert "</script>" in shown.text(".prompt")
    assert "<b>pair</b>" in shown.text(".setup")
    assert len({word for word in WORDS if word.strip()} & set(shown.js("return D.words"))) > 15


def test_marks_equal_the_trace(shown) -> None:
    """E09, E16: who wrote a token is what the loop said, and is not told by colour alone."""
    document = make_trace()
    marks = shown.js(
        "return [...document.querySelector('#answer').children].map(s => s.className[0])"
    )
    expected = [
        "d" if index < one.accepted else "t"
        for one in document.rounds
        for index in range(len(one.token_ids))
    ]
    assert marks == expected
    style = "return getComputedStyle(document.querySelector(`#answer .${arguments[0]}`))"
    drawn = [shown.js(style + ".borderBottomColor", kind) for kind in "dt"]
    assert drawn[0] != drawn[1]


def _counters(window) -> list[int]:
    return [int(window.text(f"#count-{name}")) for name in ("passes", "tokens", "runs")]


def test_rounds_are_walked_by_mouse(shown) -> None:
    document = make_trace()
    counts = document.counts
    assert _counters(shown) == [counts.target_passes, counts.emitted, counts.drafted]
    shown.click("#round-first")
    first = document.rounds[0]
    assert _counters(shown) == [1, len(first.token_ids), len(first.drafted)]
    for index in range(1, 4):
        shown.click("#round-next")
        written = document.rounds[: index + 1]
        assert _counters(shown)[:2] == [index + 1, sum(len(r.token_ids) for r in written)]
    shown.click("#round-back")
    assert _counters(shown)[0] == 3
    shown.click("#round-last")
    assert _counters(shown)[0] == counts.target_passes


def test_rounds_are_walked_by_keyboard(shown) -> None:
    shown.press("#round-first", "Enter")
    assert _counters(shown)[0] == 1
    shown.press("#round-next", "Enter", "Space")
    assert _counters(shown)[0] == 3
    shown.press("#round-slider", "Right", "Right", "Left")
    assert _counters(shown)[0] == 4


def test_a_round_shows_each_guess_with_chance_draw_and_result(shown) -> None:
    document = make_trace()
    number = next(i for i, r in enumerate(document.rounds) if r.drafted and r.replacement)
    one = document.rounds[number]
    shown.js(
        "const s = $('round-slider'); s.value = arguments[0];s.dispatchEvent(new Event('input'))",
        number + 1,
    )
    rows = shown.js(
        "return [...document.querySelectorAll('#round-table tbody tr')].map("
        "row => [...row.children].map(cell => cell.innerText))"
    )
    assert len(rows) == len(one.drafted)
    for row, guess in zip(rows, one.drafted, strict=True):
        result = "accepted" if guess.accepted else "rejected" if guess.judged else "not looked at"
        assert result in row[-1]
    assert f"{one.drafted[0].q:.3f}" == rows[0][2] or rows[0][2].startswith((">", "<"))
    assert "In place of the rejected guess" in shown.text("#story")


def test_a_place_is_chosen_by_mouse_and_by_arrow_keys(shown) -> None:
    shown.js("document.querySelector('#answer').scrollTop = 0")
    shown.click("#answer span:nth-child(5)")
    assert shown.text("#laws caption") == "Token 5 of 256"
    shown.press("#answer", "Right", "Right", "Left")
    assert shown.text("#laws caption") == "Token 6 of 256"
    shown.click("#law-next")
    assert shown.text("#laws caption") == "Token 7 of 256"
    shown.press("#law-back", "Enter")
    shown.press("#law-slider", "Left")
    assert shown.text("#laws caption") == "Token 5 of 256"
    shown.click("#law-telling")
    place = int(shown.text("#laws caption").split()[1]) - 1
    assert shown.js("return lawOf(arguments[0]).guessed", place)


SUMS = """
let worst = 0;
for (const place of arguments[0]) {
  const { lines } = lawOf(place);
  for (const one of lines) worst = Math.max(worst, Math.abs(one.accepted + one.replaced - one.p));
  worst = Math.max(worst, Math.abs(lines.reduce((sum, one) => sum + one.p, 0) - 1));
}
return worst;
"""


@pytest.mark.parametrize("name", ["token", "block", "coupled", "greedy"])
def test_accepted_and_replaced_are_p_at_every_place(window, page_of, name: str) -> None:
    window.open(page_of(WISHES[name]))
    assert window.js(SUMS, list(range(256))) < 1e-9


def test_ten_thousand_draws_land_within_a_point(shown) -> None:
    """The draws are seeded, so the same page always gives the same ones."""
    for _ in range(12):
        shown.click("#law-telling")
        shown.click("#law-draw")
        said = shown.text("#law-drawn")
        points = float(said.rsplit(" points", 1)[0].rsplit(" ", 1)[1])
        assert points <= 1.0
        kept, replaced = (int(word) for word in said.split() if word.isdigit())
        assert kept + replaced == 10_000
    assert "drawn" in shown.text("#law-area thead")


def _slide(window, **values: float) -> str:
    for name, value in values.items():
        window.js(
            "const s = $('s-' + arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('input'))",
            name,
            value,
        )
    return window.text("#readout")


@pytest.mark.parametrize(
    ("alpha", "c", "gamma", "speed"),
    [(0.7, 0.1, 2, "1.82"), (0.7, 0.1, 4, "1.98"), (0.7, 0.1, 12, "1.50"), (0.3, 0.5, 4, "0.48")],
)
def test_the_papers_curve_has_the_articles_values(shown, alpha, c, gamma, speed) -> None:
    assert f"Papers {speed}×" in _slide(shown, alpha=alpha, c=c, gamma=gamma)


def test_sliders_and_presets_move_the_curves(shown) -> None:
    before = shown.js("return $('line-paper').getAttribute('d')")
    shown.press("#s-alpha", *["Right"] * 5)
    after = shown.js("return $('line-paper').getAttribute('d')")
    assert before != after
    shown.click("#preset-good")
    assert shown.text("#o-alpha") == "0.70"
    assert "γ 4" in shown.text("#readout")
    shown.click("#preset-bad")
    assert "Papers 0.48×" in shown.text("#readout")
    shown.click("#preset-this")
    assert shown.text("#o-alpha") == f"{make_trace().acceptance_rate:.2f}"


def test_without_scripts_everything_can_be_read(reader, page_of) -> None:
    reader.open(page_of())
    tree = reader.accessible()
    names = [node.get("name", {}).get("value", "") for node in tree]
    roles = [node.get("role", {}).get("value", "") for node in tree]
    words = load_words("en")
    for title in ("a_title", "b_title", "c_title", "d_title"):
        assert words.say(title) in names
    assert "button" not in roles
    assert "slider" not in roles
    assert roles.count("table") >= 3


def test_a_long_answer_still_opens(window, page_of) -> None:
    page = page_of(Wish(tokens=4096))
    window.complaints()
    window.open(page)
    assert window.complaints() == []
    window.press("#law-slider", "Right")
    window.click("#round-back")
    assert int(window.text("#count-passes")) > 1000
    assert window.js(SUMS, list(range(0, 4096, 4))) < 1e-9
    assert page.stat().st_size < 6_000_000
