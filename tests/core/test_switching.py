"""A plain pass after one of another width is no measure of plain decoding."""

from collections.abc import Sequence

import pytest

from localspec.core.events import Origin, Step
from localspec.core.policy import BaselineSchedule
from localspec.core.probing import PlainPasses
from localspec.core.switching import Switching
from localspec.core.tally import Baseline, Tally

ONE_S, REBUILT_S, TWO_S = 0.010, 0.012, 0.015


def _steps(drafted: Sequence[int], start: int = 10) -> list[Step]:
    """Make rounds whose drafts all stand; a pass after one of another width takes longer."""
    found, position, last = [], start, -1
    for count in drafted:
        seconds = TWO_S if count else (ONE_S if last == 0 else REBUILT_S)
        origins = (*(Origin.DRAFT,) * count, Origin.TARGET)
        found.append(
            Step(
                (1,) * (count + 1),
                origins,
                position,
                "model" if count else "",
                drafted=count,
                judged=count,
                accepted=count,
                verify_s=seconds,
            )
        )
        position, last = position + count + 1, count
    return found


def test_the_baseline_is_that_of_plain_passes_in_a_row() -> None:
    baseline = Baseline()
    for step in _steps([0, 1, 1, 0, 0, 0, 1, 0]):
        baseline.add(step)
    assert baseline.seconds == pytest.approx(ONE_S)
    assert list(baseline.samples) == [ONE_S, ONE_S]


def test_one_uneven_pass_is_better_than_no_baseline() -> None:
    baseline = Baseline()
    for step in _steps([0, 1, 1]):
        baseline.add(step)
    assert baseline.seconds == pytest.approx(REBUILT_S)
    assert baseline.age == 4


def test_an_answers_first_pass_follows_that_of_a_prompt_and_is_no_sample() -> None:
    baseline = Baseline()
    for step in (*_steps([0, 0]), *_steps([0, 0], start=40)):
        baseline.add(step)
    assert list(baseline.samples) == [ONE_S, ONE_S]


def test_a_speed_up_does_not_count_as_plain_what_drafts_made_dearer() -> None:
    tally = Tally()
    steps = _steps([0, 0, 1, 0, 1, 0])
    for step in steps:
        tally.add(step)
    spent = sum(step.seconds for step in steps)
    assert tally.speedup == pytest.approx((REBUILT_S + 7 * ONE_S) / spent, rel=1e-9)


def test_plain_passes_come_in_pairs_and_rarely() -> None:
    schedule = BaselineSchedule(every=10)
    plain = []
    position = 0
    for number in range(40):
        due = schedule.due()
        plain += [number] if due else []
        drafted = 0 if due else 2
        schedule.observe(Step((1,) * (drafted + 1), (), position, drafted=drafted))
        position += drafted + 1
    assert plain == [0, 1, 12, 13, 24, 25, 36, 37]


def test_natural_pairs_put_the_next_plain_passes_off() -> None:
    passes = PlainPasses()
    for drafted in (0, *(1,) * 5, 0, 1, *(1,) * 3):
        passes.observe(drafted)
    assert passes.since == 10
    passes.observe(0)
    assert passes.since == 11
    passes.observe(0)
    assert (passes.since, passes.taken) == (0, 2)


def test_what_a_switch_costs_is_learned_and_charged_to_the_drafted_round() -> None:
    switching = Switching()
    steps = _steps([0, 0, *(1, 0, 0) * 60])
    seconds = [switching.seconds(step, lambda _context: ONE_S) for step in steps]
    assert seconds[:4] == [REBUILT_S, ONE_S, TWO_S, REBUILT_S]
    assert seconds[-2:] == pytest.approx([ONE_S, ONE_S], rel=0.03)
    assert switching.extra == pytest.approx(0.19, abs=0.02)
    assert switching.share > 0.95
    charged = switching.on([1.0, 1.5, 2.0])
    assert charged[0] == 1.0
    assert charged[1:] == pytest.approx([1.68, 2.18], abs=0.03)


def test_nothing_is_charged_where_switching_costs_nothing_or_never_happens() -> None:
    table = [1.0, 1.5]
    assert Switching().on(table) is table
    busy = Switching()
    for step in _steps([0, *(1, 0) * 30, *(1,) * 200]):
        busy.seconds(step, lambda _context: ONE_S)
    assert busy.extra > 0.1
    assert busy.on(table) is table
