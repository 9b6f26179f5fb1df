"""Finalists: files written in time, targets near enough, and the next ones in place of others."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from localspec.core.statistics import Estimate
from localspec.engine.quantise import Recipe
from localspec.errors import PairRefused
from localspec.measure.predict import Predicted
from localspec.measure.tune import making
from localspec.measure.tune.candidates import Arrangement, Deadline, Guesser, Layout
from localspec.measure.tune.making import Maker, ready_finalists
from localspec.measure.tune.samples import sample_folder

FILE = Path("model.gguf")
GIVEN = Layout(FILE, bits=4.8)
LOW, MIDDLE, HIGH = (
    Layout(FILE, Recipe(kind, pure=True), bits=bits)
    for kind, bits in (("q4_0", 4.5), ("q5_0", 5.5), ("q8_0", 8.5))
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "cache"))


class Shelf(Maker):
    """Files that are simply there, but for layouts that cannot be had."""

    def __init__(self, missing: Sequence[Layout] = ()) -> None:
        super().__init__(Deadline(1.0, lambda: 0.0), lambda _text: None, lambda _text: None)
        self.missing = missing

    def file_of(self, layout: Layout) -> Path | None:
        if layout in self.missing:
            return None
        return Path(f"{layout.name}.gguf")


def _found() -> list[Arrangement]:
    lookup = Guesser("lookup", None, (), ())
    values = [(LOW, 1.6), (MIDDLE, 1.4), (HIGH, 1.2), (GIVEN, 1.1)]
    found = []
    for layout, value in values:
        speed = Predicted(2, 1.5, Estimate(value, value, value))
        alone = Predicted(0, 1.0, Estimate(value - 0.05, value, value))
        found += [Arrangement(layout, lookup, 2, speed), Arrangement(layout, None, 0, alone)]
    return found


def _ready(maker: Maker, *, refused: Sequence[Layout] = ()) -> list[tuple[str, str]]:
    admitted = ready_finalists(
        _found(), maker, lambda layout, _path: layout not in refused, temperature=0.0
    )
    return [(each.arrangement.target.name, each.arrangement.drafter) for each in admitted]


def test_the_best_three_are_ready_and_the_layout_alone_among_them() -> None:
    assert _ready(Shelf()) == [("Q4_0", "lookup"), ("Q4_0", "none"), ("Q5_0", "lookup")]


def test_what_cannot_be_written_makes_room_for_the_next() -> None:
    chosen = _ready(Shelf(missing=[LOW, MIDDLE]))
    assert chosen == [("Q8_0", "lookup"), ("Q8_0", "none"), ("as given", "lookup")]


def test_a_target_too_far_from_the_given_one_takes_smaller_ones_along() -> None:
    assert {name for name, _ in _ready(Shelf(), refused=[LOW])} == {"Q5_0", "Q8_0"}
    assert {name for name, _ in _ready(Shelf(), refused=[LOW, HIGH])} == {"Q5_0"}


def test_the_layout_alone_is_added_where_it_was_not_chosen() -> None:
    found = [each for each in _found() if each.guesser or each.target == LOW]
    found = [*(each for each in found if each.guesser), *(e for e in found if not e.guesser)]
    ready = ready_finalists(found, Shelf(), lambda _layout, _path: True, temperature=0.0)
    assert [each.arrangement.guesser is None for each in ready] == [False, False, False, True]
    assert ready[3].arrangement.target == LOW
    assert ready[3].files.draft is None


def test_a_layout_there_is_no_time_for_is_noted(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "QUICK_WEIGHTS", 0)
    notes: list[str] = []
    maker = Maker(Deadline(0.0, lambda: 0.0), lambda _text: None, notes.append)
    assert maker.file_of(Layout(tiny, Recipe("q4_0", pure=True))) is None
    assert "writing it takes about" in notes[0]
    assert maker.file_of(Layout(tiny)) == tiny


def test_a_layout_that_the_engine_refuses_is_noted(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F21: a model that cannot be requantised says why."""

    def refused(*_given: object) -> Path:
        raise PairRefused("the engine cannot requantise it: not this one")

    monkeypatch.setattr(making, "ensure_layout", refused)
    notes: list[str] = []
    maker = Maker(Deadline(99.0, lambda: 0.0), lambda _text: None, notes.append)
    assert maker.file_of(Layout(tiny, Recipe("q4_0", pure=True))) is None
    assert notes == [f"Q4_0 of {tiny.name} was left out: the engine cannot requantise it: "
                     "not this one"]  # fmt: skip


def test_what_was_written_and_is_not_used_is_deleted_and_what_was_there_before_stays(
    tiny: Path,
) -> None:
    def maker() -> Maker:
        return Maker(Deadline(99.0, lambda: 0.0), lambda _text: None, lambda _text: None)

    before = maker().file_of(Layout(tiny, Recipe("q8_0", pure=True)))
    own = maker()
    kinds = ("q4_0", "q8_0", "q5_0")
    used, there, unused = (own.file_of(Layout(tiny, Recipe(kind, pure=True))) for kind in kinds)
    assert used
    assert there
    assert unused
    own.keep_only([used, None, tiny])
    assert before == there
    assert [path.is_file() for path in (used, there, unused, tiny)] == [True, True, False, True]


def test_the_heads_of_a_pair_go_with_every_layout_of_its_target() -> None:
    heads = (("medusa", Path("heads.gguf")),)
    ready = ready_finalists(
        _found(), Shelf(), lambda _layout, _path: True, temperature=0.0, heads=heads
    )
    assert {each.files.heads for each in ready} == {heads}


def test_samples_of_killed_programs_go_and_those_in_use_stay() -> None:
    with sample_folder() as first:
        old = first.parent / ".samples-old"
        old.mkdir()
        (old / "sample.gguf").write_bytes(b"x")
        with sample_folder() as second:
            assert first.is_dir()
            assert second.is_dir()
            assert not old.exists()
    assert not list(first.parent.glob(".samples-*"))
