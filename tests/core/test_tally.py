"""Rates out of steps, against numbers worked out by hand."""

import pytest

from localspec.core.events import Finish, FinishReason, Notice, Origin, Prefill, Step
from localspec.core.tally import (
    Baseline,
    Tally,
    acceptance_by_position,
    by_drafter,
    shares_of_saving,
)

D, T = Origin.DRAFT, Origin.TARGET


def _round(drafted: int, accepted: int, *, name: str = "model", at: int = 0) -> Step:
    """Make a round of 0.2 s per drafted token and a pass of 1 s."""
    return Step(
        tokens=tuple(range(accepted + 1)),
        origins=(*(D,) * accepted, T),
        position=at,
        drafter=name if drafted else "",
        drafted=drafted,
        judged=min(accepted + 1, drafted),
        accepted=accepted,
        draft_s=0.2 * drafted,
        verify_s=0.9,
        other_s=0.1,
    )


ROUNDS = [_round(0, 0), _round(4, 4), _round(4, 1), _round(2, 0, name="lookup"), _round(0, 0)]


def _tally() -> Tally:
    tally = Tally()
    for event in (Prefill(9, 3, 0.5), Notice("n"), *ROUNDS, Finish(FinishReason.LENGTH)):
        tally.add(event)
    return tally


def test_counters_are_the_sums_of_the_rounds() -> None:
    """E01, E06: judged excludes what was thrown away behind a rejection; ids are counted."""
    tally = _tally()
    assert (tally.passes, tally.emitted, tally.drafted) == (5, 10, 10)
    assert (tally.judged, tally.accepted, tally.cut) == (4 + 2 + 1, 5, 0)
    assert (tally.prompt, tally.reused, tally.prefill_s) == (9, 3, 0.5)
    assert tally.tokens == [0, 0, 1, 2, 3, 4, 0, 1, 0, 0]
    assert tally.origins == [T, D, D, D, D, T, D, T, T, T]


def test_the_acceptance_rate_is_accepted_over_judged() -> None:
    """E01, E02: not over drafted, and never 100 % by construction."""
    assert _tally().acceptance_rate == pytest.approx(5 / 7)
    assert Tally().acceptance_rate is None


def test_speed_and_speedup_come_from_measured_seconds_only() -> None:
    tally = _tally()
    assert tally.decode_s == pytest.approx(5 * 1.0 + 10 * 0.2)
    assert tally.tokens_per_s == pytest.approx(10 / 7)
    assert tally.tokens_per_pass == pytest.approx(2.0)
    assert tally.baseline_tps == pytest.approx(1.0)
    assert tally.speedup == pytest.approx(10 / 7)
    assert tally.saved_s == pytest.approx(10 - 7)


def test_what_was_not_measured_is_none() -> None:
    tally = Tally()
    tally.add(_round(4, 4))
    assert (tally.baseline_tps, tally.speedup, tally.saved_s) == (None, None, None)
    assert tally.speedup_estimate() is None
    assert (Tally().tokens_per_s, Tally().tokens_per_pass) == (None, None)


def test_a_baseline_grows_older_by_the_tokens_since_its_last_sample() -> None:
    baseline = Baseline()
    baseline.add(_round(3, 3))
    assert (baseline.age, baseline.seconds) == (None, None)
    for step in (_round(0, 0), _round(3, 3), _round(3, 0)):
        baseline.add(step)
    assert (baseline.age, baseline.taken, baseline.seconds) == (5, 1, pytest.approx(1.0))


def test_a_baseline_survives_from_answer_to_answer() -> None:
    first = _tally()
    second = Tally(baseline=first.baseline)
    second.add(_round(4, 4))
    assert second.speedup == pytest.approx(5 / 1.8)


def test_tokens_behind_a_stop_string_are_taken_back() -> None:
    tally = _tally()
    tally.drop_last(0)
    tally.drop_last(3)
    assert (tally.emitted, tally.cut, len(tally.tokens), len(tally.origins)) == (7, 3, 7, 7)
    assert tally.emitted == tally.accepted + tally.passes - tally.cut


def test_the_interval_of_the_speedup_holds_its_value() -> None:
    """Cannot flake: the bootstrap's seed is fixed."""
    estimate = _tally().speedup_estimate()
    assert estimate is not None
    assert estimate.value == pytest.approx(10 / 7)
    assert estimate.low < estimate.value < estimate.high


def test_acceptance_by_position_divides_by_the_rounds_that_judged_it() -> None:
    assert acceptance_by_position(ROUNDS) == pytest.approx([2 / 3, 1 / 2, 1.0, 1.0])
    assert acceptance_by_position([]) == []


def test_each_drafter_has_its_own_account() -> None:
    accounts = by_drafter(ROUNDS)
    assert set(accounts) == {"model", "lookup"}
    model, lookup = accounts["model"], accounts["lookup"]
    assert (model.rounds, model.drafted, model.judged, model.accepted) == (2, 8, 6, 5)
    assert (model.emitted, model.acceptance_rate) == (7, pytest.approx(5 / 6))
    assert (lookup.rounds, lookup.acceptance_rate) == (1, 0.0)
    assert (model.draft_s, model.seconds) == (pytest.approx(1.6), pytest.approx(3.6))


def test_an_answer_that_guessed_nothing_is_exactly_as_fast_as_plain_however_noisy() -> None:
    tally = Tally()
    for position, seconds in enumerate((0.1, 0.2, 0.9, 0.1)):
        tally.add(Step((5,), (Origin.TARGET,), position, verify_s=seconds))
    assert tally.speedup == pytest.approx(1.0)
    assert tally.saved_s == pytest.approx(0.0)


def test_guessed_rounds_are_held_against_the_baseline_and_plain_ones_against_themselves() -> None:
    tally = Tally()
    tally.add(Step((5,), (Origin.TARGET,), 0, verify_s=1.0))
    tally.add(
        Step((5, 6, 7), (Origin.DRAFT, Origin.DRAFT, Origin.TARGET), 1, drafted=2, verify_s=1.5)
    )
    assert tally.plain_estimate_s == pytest.approx(1.0 + 3 * 1.0)
    assert tally.speedup == pytest.approx(4.0 / 2.5)
    assert tally.saved_s == pytest.approx(1.5)


def test_the_drafters_parts_of_the_saving_sum_to_all_of_it() -> None:
    """J07: each drafter has its own account, in seconds saved too."""
    tally = Tally()
    tally.add(Step((5,), (Origin.TARGET,), 0, verify_s=1.0))
    good = (Origin.DRAFT, Origin.DRAFT, Origin.TARGET)
    tally.add(Step((5, 6, 7), good, 1, drafter="lookup", drafted=2, accepted=2, verify_s=1.5))
    tally.add(Step((5,), (Origin.TARGET,), 4, drafter="model", drafted=2, verify_s=1.5))
    assert shares_of_saving(tally) == {
        "lookup": pytest.approx(1.5),
        "model": pytest.approx(-0.5),
    }


def test_where_nothing_was_saved_there_are_no_parts() -> None:
    assert shares_of_saving(Tally()) == {}
    tally = Tally()
    tally.add(Step((5,), (Origin.TARGET,), 0, verify_s=1.0))
    tally.add(Step((5,), (Origin.TARGET,), 1, drafter="model", drafted=2, verify_s=1.5))
    assert shares_of_saving(tally) == {}
