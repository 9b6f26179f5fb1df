"""A table that is wider than the terminal goes on below; nothing is lost."""

from hypothesis import given
from hypothesis import strategies as st

from localspec.ui.cells import width_of
from localspec.ui.tables import folded

HEADER = ["", "plain", "model γ1", "lookup γ3", "auto", "use"]
ROWS = [HEADER, ["code", "30.1 tok/s", "0.99×", "1.30×", "1.28×", "lookup γ3"]]
LEFT = frozenset({0, 5})


def test_what_fits_is_one_table() -> None:
    lines = folded(ROWS, 100, left=LEFT)
    assert len(lines) == 2
    assert lines[1].split() == ["code", "30.1", "tok/s", "0.99×", "1.30×", "1.28×", "lookup", "γ3"]


def test_columns_that_do_not_fit_follow_behind_the_first_again() -> None:
    lines = folded(ROWS, 34, left=LEFT)
    assert lines == [
        "             plain  model γ1",
        "  code  30.1 tok/s     0.99×",
        "",
        "        lookup γ3   auto",
        "  code      1.30×  1.28×",
        "",
        "        use",
        "  code  lookup γ3",
    ]


@given(st.integers(20, 120), st.integers(1, 9))
def test_every_column_is_there_and_no_line_is_too_wide(width: int, columns: int) -> None:
    rows = [["kind", *(f"c{n}" for n in range(columns))], ["x", *("0.5" for _ in range(columns))]]
    lines = folded(rows, width, left=frozenset({0}))
    words = " ".join(lines).split()
    assert [word for word in words if word.startswith("c")] == [f"c{n}" for n in range(columns)]
    assert all(width_of(line) <= width for line in lines)
