"""One browser for all tests of the page, and the pages they open.

Without Chromium the tests are skipped with a reason, or fail where LOCALSPEC_TEST_BROWSER says
`required`, so that a gate cannot lose them without a word.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localspec.report.trace_page import PageOptions, trace_page
from tests.e2e.browser import MISSING, Browser, browser
from tests.e2e.pages import Wish, make_trace


def _needed() -> None:
    if MISSING and os.environ.get("LOCALSPEC_TEST_BROWSER") == "required":
        pytest.fail(MISSING)
    if MISSING:
        pytest.skip(MISSING)


@pytest.fixture(scope="session")
def window() -> Iterator[Browser]:
    _needed()
    with browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def reader() -> Iterator[Browser]:
    """A browser that runs no script."""
    _needed()
    with browser(scripts=False) as opened:
        yield opened


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write a page once for each wish and options."""
    folder, made = tmp_path_factory.mktemp("pages"), dict[object, Path]()

    def page(wish: Wish = Wish(), options: PageOptions = PageOptions()) -> Path:  # noqa: B008
        key = (wish, options)
        if key not in made:
            made[key] = folder / f"{len(made)}.html"
            made[key].write_text(trace_page(make_trace(wish), options), encoding="utf-8")
        return made[key]

    return page


@pytest.fixture
def shown(window: Browser, page_of: Callable[..., Path]) -> Browser:
    """The usual page in a usual window."""
    window.size(1000, 900)
    window.scheme("light")
    window.open(page_of())
    return window
