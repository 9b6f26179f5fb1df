"""The rules keep the target's law: every outcome enumerated, no sampling."""

import numpy as np
import pytest

from localspec.core.distribution import Distribution, point
from localspec.core.rules import Guess, Uniform, Verdict, judge_block, judge_points, judge_tokens
from tests.core.cases import CASES, EXACT, Case, expected_tokens, rule_error, rule_outcomes
from tests.core.enumerate import law_of, paths
from tests.core.fakes import constant

RULES = pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=str)


@RULES
@EVERY_CASE
def test_the_joint_law_of_a_round_is_the_targets(rule, case: Case) -> None:
    assert rule_error(case, rule) < EXACT


def _as_points(judge):
    def rule(guess: Guess, target, uniform: Uniform) -> Verdict:
        return judge(Guess(guess.tokens, [point(t) for t in guess.tokens]), target, uniform)

    return rule


@pytest.mark.parametrize("judge", [judge_points, judge_tokens, judge_block])
@EVERY_CASE
def test_a_sure_guess_keeps_the_law_however_it_was_found(judge, case: Case) -> None:
    """B13: q is one point, so how the guess came about does not matter."""
    assert rule_error(case, _as_points(judge)) < EXACT


@EVERY_CASE
def test_the_block_rule_never_writes_fewer_tokens(case: Case) -> None:
    block, token = expected_tokens(case, judge_block), expected_tokens(case, judge_tokens)
    assert block >= token - EXACT


def test_the_block_rule_writes_more_tokens_where_it_can() -> None:
    gains = [expected_tokens(c, judge_block) - expected_tokens(c, judge_tokens) for c in CASES]
    assert max(gains) > 0.03


@RULES
@pytest.mark.parametrize("case", [c for c in CASES if c.name == "equal"], ids=str)
def test_an_identical_pair_accepts_everything(rule, case: Case) -> None:
    """B11: agreement of two separate draws would accept far less of an identical pair."""
    assert expected_tokens(case, rule) == pytest.approx(case.gamma + 1, abs=1e-12)
    assert expected_tokens(case, _as_points(judge_points)) < case.gamma + 0.9


@pytest.mark.parametrize("case", [c for c in CASES if c.name == "disjoint"], ids=str)
def test_a_draft_that_is_always_wrong_costs_only_its_time(case: Case) -> None:
    assert {len(written) for written, _ in rule_outcomes(case, judge_block)} == {1}


def test_the_articles_example_is_met_to_the_digit() -> None:
    p = constant(0.42, 0.26, 0.16, 0.10, 0.06).law(())
    q = constant(0.20, 0.45, 0.10, 0.05, 0.20).law(())

    def one(uniform: Uniform) -> tuple[int, int]:
        token = q.sample(uniform())
        verdict = judge_tokens(Guess([token], [q]), lambda i: p if i == 0 else point(9), uniform)
        return verdict.accepted, token if verdict.accepted else verdict.following

    law = law_of(one)
    assert p.overlap(q) == pytest.approx(0.67, abs=1e-6)
    assert sum(mass for (kept, _), mass in law.items() if kept) == pytest.approx(0.67, abs=1e-6)
    rejected = {token: mass for (kept, token), mass in law.items() if not kept}
    assert rejected == pytest.approx({0: 0.22, 2: 0.06, 3: 0.05}, abs=1e-6)
    total = [law.get((1, t), 0.0) + law.get((0, t), 0.0) for t in range(5)]
    assert total == pytest.approx(list(p.probs), abs=1e-12)


def test_a_residual_without_mass_falls_back_to_the_target() -> None:
    p = constant(0.3, 0.7).law(())
    assert p.residual(p) is p


def test_the_supports_are_aligned_by_id_and_not_by_place() -> None:
    p = Distribution(np.array([3, 7, 9]), np.array([0.2, 0.5, 0.3]))
    q = Distribution(np.array([7, 8]), np.array([0.1, 0.9]))
    assert p.residual(q).ids.tolist() == [3, 7, 9]
    assert p.residual(q).probs.tolist() == pytest.approx([0.2 / 0.9, 0.4 / 0.9, 0.3 / 0.9])
    assert p.overlap(q) == pytest.approx(0.1)
    assert (p.prob(8), p.prob(7), q.prob(100)) == (0.0, 0.5, 0.0)


def test_enumeration_sees_that_one_uniform_is_used_twice() -> None:
    def twice(uniform: Uniform) -> tuple[bool, bool]:
        u = uniform()
        return u < 0.25, u < 0.5

    assert law_of(twice) == {(True, True): 0.25, (False, True): 0.25, (False, False): 0.5}
    assert sum(mass for _, mass in paths(lambda u: (u() < 0.3, u() >= 0.6))) == pytest.approx(1.0)
