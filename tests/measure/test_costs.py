"""Cost curves: what is timed, in which order, and what is read off them."""

import numpy as np
import pytest

from localspec.core.costs import CostModel
from localspec.core.events import Step
from localspec.core.sampling import Sampler, SamplingParams
from localspec.drafters.model import ModelDrafter
from localspec.measure.costs import (
    CostPoint,
    Costs,
    Survey,
    averaged,
    fastest,
    measure_draft,
    measure_passes,
    plausible,
)
from tests.core.fakes import FakeClock, MarkovDrafter, MarkovSequence, random_markov

TEXT = np.arange(300, dtype=np.int32) % 6


def _sequence(clock: FakeClock, seen: list[int]) -> MarkovSequence:
    def spend(tokens: int) -> None:
        seen.append(tokens)
        clock.advance(0.010 * (1 + 0.5 * (tokens - 1)))

    return MarkovSequence(random_markov(6, 1), on_pass=spend)


def test_passes_of_every_size_are_timed_in_turn_at_every_context() -> None:
    """F03: the curve that the simple model leaves out."""
    clock, seen = FakeClock(), list[int]()
    survey = Survey(TEXT, rows=(1, 2, 4), contexts=(16, 64), repeats=3)
    points = measure_passes(_sequence(clock, seen), survey, clock=clock)
    assert {(p.rows, p.context) for p in points} == {(n, c) for n in (1, 2, 4) for c in (16, 64)}
    for point in points:
        assert point.median_s == pytest.approx(0.010 * (1 + 0.5 * (point.rows - 1)))
        assert (point.iqr_s, point.samples) == (pytest.approx(0.0, abs=1e-9), 3)
    passes = [n for n in seen if n <= 4]  # of one row twice: the timed one follows one like it
    assert all(sorted(passes[at : at + 4]) == [1, 1, 2, 4] for at in range(0, len(passes), 4))
    assert all(passes[at + 1] == 1 for at in range(0, len(passes), 4) if passes[at] == 1)


def test_wider_passes_are_timed_after_one_of_the_draft() -> None:
    clock, seen, drafted = FakeClock(), list[int](), list[int]()
    survey = Survey(TEXT, rows=(1, 2, 4), contexts=(16,), repeats=2)
    measure_passes(
        _sequence(clock, seen), survey, clock=clock, draft=lambda: drafted.append(len(seen))
    )
    wide = [at for at, rows in enumerate(seen) if rows in (2, 4)]
    assert drafted == wide


def test_a_draft_is_timed_by_the_proposals_it_makes() -> None:
    clock, seen = FakeClock(), list[int]()
    drafter = MarkovDrafter(random_markov(6, 2))
    propose = drafter.propose

    def slow(history, request):  # type: ignore[no-untyped-def]
        clock.advance(0.001 + 0.002 * request.limit)
        return propose(history, request)

    drafter.propose = slow  # type: ignore[method-assign]
    points = measure_draft(drafter, Survey(TEXT, contexts=(16,), repeats=3), clock=clock)
    assert [(p.rows, p.unread, p.median_s) for p in points] == [
        (1, 0, pytest.approx(0.003)),
        (4, 0, pytest.approx(0.009)),
        (4, 1, pytest.approx(0.009)),
    ]
    assert seen == []


def test_a_draft_that_has_one_more_id_to_read_is_timed_too() -> None:
    clock, seen = FakeClock(), list[int]()
    drafter = ModelDrafter(_sequence(clock, seen), Sampler(SamplingParams()))
    points = measure_draft(drafter, Survey(TEXT, contexts=(16, 32), repeats=3), clock=clock)
    costs = Costs((), {"model": points})
    assert costs.draft_s("model", 1, 16) == pytest.approx(0.010)
    assert costs.draft_s("model", 4, 16) == pytest.approx(0.040)
    assert costs.unread_s("model", 20) == pytest.approx(0.005)
    assert costs.unread_s("lookup", 20) == 0.0
    assert costs.seed().drafts["model"] == pytest.approx(0.010)


def test_contexts_that_do_not_fit_are_shortened() -> None:
    fitted = Survey(TEXT, rows=(1, 4), contexts=(64, 512)).fitted(100)
    assert fitted.contexts == (64, 95)
    with pytest.raises(ValueError, match="too few"):
        Survey(TEXT[:5], rows=(1, 16)).fitted(100)


def _costs() -> Costs:
    points = [(1, 0, 10.0), (2, 0, 16.0), (4, 0, 20.0), (1, 100, 12.0), (2, 100, 20.0)]
    target = tuple(CostPoint(n, c, s, 0.0, 7) for n, c, s in (*points, (4, 100, 24.0)))
    return Costs(target, {"model": (CostPoint(1, 0, 3.0, 0.0), CostPoint(4, 0, 9.0, 0.0))}, 1.0)


def test_costs_are_read_straight_between_what_was_measured() -> None:
    costs = _costs()
    assert costs.pass_s(3, 0) == pytest.approx(18.0)
    assert costs.pass_s(1, 50) == pytest.approx(11.0)
    assert costs.pass_s(6, 0) == pytest.approx(24.0)
    assert costs.pass_s(1, 200) == pytest.approx(14.0)
    assert costs.draft_s("model", 2, 0) == pytest.approx(5.0)
    assert costs.draft_s("lookup", 2, 0) == 0.0
    assert costs.verify_costs() == pytest.approx((1.0, 1.6, 1.8, 2.0))
    assert costs.cost_ratio("model") == pytest.approx(9 / 4 / 10)
    assert costs.cost_ratio("lookup") is None


def test_a_round_should_take_draft_pass_and_overhead() -> None:
    step = Step((1, 2), (), 0, drafter="model", drafted=3)
    assert _costs().step_s(step) == pytest.approx(7.0 + 20.0 + 1.0)


def test_a_calibration_seeds_the_adaptive_policy() -> None:
    model = CostModel(_costs().seed())
    assert model.one_row_s(0) == pytest.approx(10.0)
    assert model.table(0)[1] == pytest.approx(1.6)
    assert model.draft_ratio("model") == pytest.approx(0.225)


@pytest.mark.parametrize(
    ("curve", "possible"),
    [
        ((1.0, 1.65, 2.37, 1.58, 2.33), True),
        ((1.0, 1.0, 0.95, 1.1, 1.0), True),
        ((1.0, 1.49, 1.63, 1.78, 0.85), False),
        ((1.0, 0.5), False),
        ((1.0,), True),
    ],
)
def test_a_curve_measured_on_a_disturbed_machine_is_told_by_its_shape(
    curve: tuple[float, ...], possible: bool
) -> None:
    """What a busy moment left in the cache must not speak for days."""
    points = [CostPoint(rows, 64, cost, 0.0) for rows, cost in enumerate(curve, 1)]
    steep = [CostPoint(rows, 512, 9.0 + rows, 0.0) for rows in range(1, 6)]
    assert plausible([*steep, *points]) is possible
    assert plausible([*points[::-1], *steep]) is possible


def test_costs_before_and_after_count_alike() -> None:
    before = _costs()
    late = CostPoint(1, 0, 4.0, 0.0, unread=1)
    after = Costs((CostPoint(1, 0, 14.0, 0.5, 3),), {"model": (CostPoint(1, 0, 5.0, 0.0), late)})
    both = averaged([before, after])
    assert both.pass_s(1, 0) == pytest.approx(12.0)
    assert both.pass_s(2, 0) == pytest.approx(16.0)
    assert both.draft_s("model", 1, 0) == pytest.approx(4.0)
    assert both.unread_s("model", 0) == 0.0
    assert (both.target[0].samples, both.target[0].iqr_s) == (10, pytest.approx(4.0))
    least = fastest([before, after])
    assert [least.pass_s(rows, 0) for rows in (1, 2)] == [10.0, 16.0]
    assert least.draft_s("model", 1, 0) == 3.0
    assert fastest([after, before]).pass_s(1, 0) == 10.0
