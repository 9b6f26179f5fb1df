"""Take the pictures of the documentation from a page of `localspec trace --html`.

Usage: python docs/pictures/take.py PAGE. Needs Chromium and chromedriver.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

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


def main(page: Path) -> None:
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
    main(Path(sys.argv[1]))
