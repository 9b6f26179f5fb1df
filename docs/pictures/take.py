"""Take the pictures of the documentation. Needs Chromium and chromedriver.

Usage: python docs/pictures/take.py PAGE        with a page of `localspec trace --html PAGE`
       python docs/pictures/take.py BENCH.json  with a file of `localspec bench --save BENCH.json`
"""

import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from localspec.report.bench_compare import read_bench  # noqa: E402
from localspec.report.bench_documents import BenchDocument  # noqa: E402
from localspec.report.bench_page import bench_page  # noqa: E402
from localspec.ui.bench import bench_lines  # noqa: E402
from tests.e2e.browser import Browser, browser  # noqa: E402

MOST_BYTES = 300_000
FIGURES = ("passes", "steps", "laws", "speed")


def take(window: Browser, name: str, selector: str) -> None:
    """Save one picture; a picture that is too large is an error."""
    path = HERE / f"{name}.png"
    window.picture(path, selector=selector, margin=16)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path.name} has {size} bytes, at most {MOST_BYTES} are wanted")


TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body{margin:0;background:#101418}
pre{display:inline-block;margin:0;padding:16px;color:#d8dee4;font:14px/1.35 monospace}
</style><pre id="screen">%s</pre>"""
COLUMNS = 96
PAGE_TOP = 1900
"""Pixels: verdict, kinds and costs; the whole page would be too large a picture."""


def bench_pictures(document: BenchDocument) -> None:
    """Take the top of a bench's page, and its screen as a terminal shows it."""
    with browser() as window, TemporaryDirectory() as folder:
        page, screen = Path(folder) / "bench.html", Path(folder) / "screen.html"
        page.write_text(bench_page(document), encoding="utf-8")
        lines = "\n".join(bench_lines(document, COLUMNS))
        screen.write_text(TERMINAL % escape(lines), encoding="utf-8")
        window.size(960, PAGE_TOP, scale=1.0)
        window.scheme("light")
        window.open(page)
        take(window, "bench-page", "")
        window.size(960, 900, scale=1.1)
        window.open(screen)
        take(window, "bench-terminal", "#screen")


def trace_pictures(page: Path) -> None:
    """Take every figure in light, the whole page in dark and at phone width."""
    with browser() as window:
        window.size(820, 900, scale=1.5)
        window.scheme("light")
        window.open(page)
        for name in FIGURES:
            take(window, name, f"#{name} figure")
        window.scheme("dark")
        window.open(page)
        take(window, "dark", "#laws")
        window.size(360, 740, scale=1.5)
        window.scheme("light")
        window.open(page)
        take(window, "phone", "#steps")


if __name__ == "__main__":
    given = Path(sys.argv[1])
    if given.suffix == ".json":
        bench_pictures(read_bench(given))
    else:
        trace_pictures(given)
