"""How the page looks and reads: narrow windows, contrast, names for screen readers."""

from itertools import pairwise

import pytest

from localspec.report.trace_page import PageOptions
from localspec.report.trace_words import LANGUAGES
from tests.e2e.pages import Wish

SCHEMES = ("light", "dark")

# Everything visible that reaches over the right edge, outside areas that scroll by themselves.
OVER_THE_EDGE = """
return [...document.querySelectorAll('body *')].filter((node) => {
  if (node.closest('.scroll, .hidden, svg, .phone-word, .answer')) return false;
  const box = node.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map((node) => node.outerHTML.slice(0, 80));
"""

CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
function rgba(colour) {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}
function light([r, g, b]) {
  const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}
function behind(node) {
  for (let at = node; at; at = at.parentElement) {
    const colour = rgba(getComputedStyle(at).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255];
}
const low = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || node.closest('script, style')) continue;
  if (!node.getClientRects().length) continue;
  const [a, b] = [light(rgba(getComputedStyle(node).color)), light(behind(node))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.push([ratio.toFixed(2), node.outerHTML.slice(0, 80)]);
}
return low;
"""


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_reaches_over_the_edge(window, page_of, width: int, lang: str) -> None:
    window.size(width, 740)
    window.open(page_of(Wish(), PageOptions(lang)))
    for button in ("#law-telling", "#law-draw", "#preset-good", "#round-first", "#round-next"):
        window.click(button)
    assert window.js("return document.documentElement.scrollWidth") <= width
    assert window.js(OVER_THE_EDGE) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_stands_out_from_what_is_behind_it(window, page_of, scheme: str) -> None:
    window.size(1000, 900)
    window.scheme(scheme)
    window.open(page_of())
    assert window.js(CONTRAST) == []
    window.click("#round-first")
    for _ in range(3):
        window.click("#round-next")
    window.click("#law-draw")
    window.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert window.js(CONTRAST) == []


def test_a_text_that_does_not_stand_out_is_seen(shown) -> None:
    shown.js("document.querySelector('h1').style.color = '#bbb'")
    assert shown.js(CONTRAST) != []


def test_light_and_dark_differ(window, page_of) -> None:
    colours = []
    for scheme in SCHEMES:
        window.scheme(scheme)
        window.open(page_of())
        colours.append(window.js("return getComputedStyle(document.body).backgroundColor"))
    assert colours[0] != colours[1]


def test_whatever_takes_the_focus_has_a_name(shown) -> None:
    tree = shown.accessible()
    nameless = [node for node in tree if _takes_focus(node) and not node["name"]["value"]]
    assert len([node for node in tree if _takes_focus(node)]) > 15
    assert nameless == []


def _takes_focus(node) -> bool:
    given = node.get("properties", [])
    properties = {entry["name"]: entry["value"].get("value") for entry in given}
    root = node.get("role", {}).get("value") == "RootWebArea"
    return bool(properties.get("focusable")) and not root and not node.get("ignored")


def test_headings_go_down_step_by_step_and_tables_have_headers(shown) -> None:
    levels = shown.js("return [...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    bare = "[...document.querySelectorAll('table')].filter(t => !t.querySelector('th[scope=row]'))"
    assert shown.js(f"return {bare}.length") == 0


def test_the_tab_key_reaches_every_control_in_order(shown) -> None:
    wanted = shown.js(
        "return [...document.querySelectorAll('button, input, summary')]"
        ".filter(n => !n.disabled && n.getClientRects().length).map(n => n.id || n.tagName)"
    )
    shown.js("document.activeElement.blur(); scrollTo(0, 0)")
    reached = []
    for _ in range(len(wanted) + 15):
        shown.keys("Tab")
        reached.append(
            shown.js("return document.activeElement.id || document.activeElement.tagName")
        )
    assert [name for name in reached if name in wanted][: len(wanted)] == wanted
