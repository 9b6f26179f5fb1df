"""A trace as a document: what every round says, and that it is what the loop did."""

import json

import pytest

from localspec.core.rules import RuleName
from localspec.report.trace_documents import TraceDocument
from localspec.report.trace_figures import (
    PassTimes,
    axis_top,
    expectation,
    pass_times,
    shares,
    telling_place,
)
from localspec.report.write import to_json
from tests.e2e.pages import WORDS, Wish, make_trace, pass_s

RULES = pytest.mark.parametrize("rule", list(RuleName))


@RULES
def test_a_trace_reads_back_as_it_was_written(rule: RuleName) -> None:
    document = make_trace(Wish(tokens=60, rule=rule))
    text = to_json(document)
    assert next(iter(json.loads(text))) == "schema"
    assert TraceDocument.model_validate_json(text) == document


@RULES
def test_rounds_add_up_to_the_counters(rule: RuleName) -> None:
    """E02, E09: emitted + cut = accepted + target passes, and every mark has its round."""
    document = make_trace(Wish(rule=rule))
    counts, rounds = document.counts, document.rounds
    assert counts.target_passes == len(rounds)
    assert counts.emitted == sum(len(one.token_ids) for one in rounds) == 256
    assert counts.accepted == sum(one.accepted for one in rounds)
    assert counts.judged == sum(one.judged for one in rounds)
    assert counts.drafted == sum(len(one.drafted) for one in rounds)
    assert counts.emitted + counts.cut == counts.accepted + counts.target_passes
    assert "".join(text for one in rounds for text in one.texts) == document.text


def test_each_round_says_who_wrote_its_last_token() -> None:
    for one in make_trace().rounds:
        assert (one.replacement is None) != (one.bonus is None)
        assert (one.replacement is not None) == (one.accepted < len(one.drafted))
        written = one.replacement or one.bonus
        assert written is not None
        assert written.id == one.token_ids[-1]
        assert written.text == WORDS[written.id]
        assert 0 < written.chance <= 1


def test_a_guess_stands_iff_its_draw_lies_under_its_chance() -> None:
    for one in make_trace().rounds:
        for guess in one.drafted:
            if not guess.judged:
                assert (guess.p, guess.chance, guess.draw) == (None, None, None)
                continue
            assert guess.chance == pytest.approx(min(1.0, guess.p / guess.q))
            assert guess.accepted == (guess.draw < guess.chance)


def test_a_replacement_is_drawn_from_what_q_left_of_p() -> None:
    document = make_trace()
    found = 0
    for one in document.rounds:
        if one.replacement and one.accepted < len(one.laws):
            law = one.laws[one.accepted]
            rejected = 1 - sum(line.accepted for line in shares(law))
            place = law.ids.index(one.replacement.id)
            left = max(law.p[place] - law.q[place], 0)
            assert one.replacement.chance == pytest.approx(left / rejected)
            found += 1
    assert found > 0


@RULES
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_accepted_and_replaced_are_p_to_the_ninth_digit(rule: RuleName, temperature) -> None:
    document = make_trace(Wish(rule=rule, temperature=temperature))
    for law in (law for one in document.rounds for law in one.laws):
        lines = shares(law)
        assert max(abs(one.accepted + one.replaced - one.p) for one in lines) < 1e-9
        assert abs(sum(one.p for one in lines) - 1) < 1e-9


def test_the_place_shown_first_has_both_guesses_and_replacements() -> None:
    document = make_trace()
    law = [law for one in document.rounds for law in one.laws][telling_place(document)]
    accepted = sum(line.accepted for line in shares(law))
    assert 0.2 < accepted < 0.8


def test_measured_times_win_over_the_answers_own_passes() -> None:
    apart, own = (pass_times(make_trace(Wish(tokens=60, costs=costs))) for costs in (True, False))
    assert (apart.apart, own.apart) == (True, False)
    assert apart.ratio(5) == pytest.approx(pass_s(5) / pass_s(1))
    assert own.ratio(5) == pytest.approx(pass_s(5) / pass_s(1))
    assert set(own.seconds) < set(apart.seconds)


def test_sizes_that_were_not_measured_lie_straight_between() -> None:
    times = PassTimes({1: 1.0, 3: 2.0, 4: 4.0}, apart=False)
    assert times.verify is not None
    assert [times.verify(rows) for rows in (1, 2, 3, 4, 5)] == [1.0, 1.5, 2.0, 4.0, 6.0]
    falling = PassTimes({1: 1.0, 2: 3.0, 3: 2.0}, apart=False).verify
    assert falling is not None
    assert [falling(rows) for rows in (3, 4, 9)] == [2.0, 2.0, 2.0]
    assert PassTimes({2: 1.0}, apart=False).verify is None
    assert PassTimes({1: 1.0}, apart=False).verify is None


def test_what_to_expect_comes_from_the_answer() -> None:
    document = make_trace(Wish(gamma=3))
    expected = expectation(document, pass_times(document))
    assert expected.alpha == document.acceptance_rate
    assert expected.cost_ratio == pytest.approx(0.1, rel=0.01)
    assert expected.gamma == 3
    dot = next(dot for dot in expected.dots if dot.gamma == 3)
    curve = {point.gamma: point.speedup for point in expected.curve(machine=True)}
    assert dot.speedup == pytest.approx(curve[3], rel=0.2)
    assert expected.top >= max(curve.values())


def test_a_trace_without_guesses_expects_nothing_and_fails_nowhere() -> None:
    document = make_trace(Wish(tokens=10, drafted=False))
    expected = expectation(document, pass_times(document))
    assert (expected.alpha, expected.cost_ratio, expected.dots) == (0.0, 0.0, ())
    assert all(one.way == "plain" for one in document.rounds)


def test_the_axis_has_room_above_the_curve() -> None:
    assert axis_top(0.4) == 1.5
    assert axis_top(2.0) == 2.5
    assert axis_top(2.9) == 3.5
