"""Every wrong rule is caught by the check that the right ones pass."""

import pytest

from localspec.core.rules import judge_block, judge_tokens
from tests.core.cases import (
    CASES,
    EXACT,
    SMALL_CASES,
    WRONG,
    Writing,
    rule_error,
    writing_error,
)
from tests.core.mutants import (
    BLOCK_MUTANTS,
    DRAFT_MUTANTS,
    JUDGE_MUTANTS,
    TOKEN_MUTANTS,
    BlockRule,
    CheatingDrafter,
    TokenRule,
    points_drawing_p_after_a_rejection,
)

WRITTEN = [case for case in SMALL_CASES if case.name in ("random", "draft with zeros")]


@pytest.mark.parametrize("skeleton", [TokenRule(), BlockRule()], ids=["token", "block"])
def test_the_mutants_skeletons_are_right_as_they_stand(skeleton) -> None:
    assert max(rule_error(case, skeleton) for case in CASES) < EXACT


@pytest.mark.parametrize("name", TOKEN_MUTANTS)
def test_a_wrong_token_rule_is_caught(name: str) -> None:
    """Residuals, bonus rows, ratios and uniforms that real projects got wrong."""
    assert any(rule_error(case, TOKEN_MUTANTS[name]) > WRONG for case in CASES)


@pytest.mark.parametrize("name", BLOCK_MUTANTS)
def test_a_wrong_block_rule_is_caught(name: str) -> None:
    assert any(rule_error(case, BLOCK_MUTANTS[name]) > WRONG for case in CASES)


def test_drawing_from_all_of_p_after_rejecting_a_sure_guess_is_caught() -> None:
    mutant = points_drawing_p_after_a_rejection
    assert any(rule_error(case, mutant) > WRONG for case in CASES)


@pytest.mark.parametrize("name", DRAFT_MUTANTS)
@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
def test_a_draft_drawn_from_another_law_than_reported_is_caught(name: str, rule) -> None:
    """B10, B12: the q of the test must be the law that was drawn from."""
    writing = Writing(3, rule, drafter=DRAFT_MUTANTS[name])
    assert any(writing_error(case, writing) > WRONG for case in WRITTEN)


@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
def test_the_cheating_drafter_is_right_while_it_does_not_cheat(rule) -> None:
    writing = Writing(3, rule, drafter=CheatingDrafter)
    assert max(writing_error(case, writing) for case in WRITTEN) < EXACT


@pytest.mark.parametrize("name", JUDGE_MUTANTS)
@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
def test_a_uniform_used_twice_is_caught(name: str, rule) -> None:
    writing = Writing(3, rule, judge=JUDGE_MUTANTS[name])
    assert any(writing_error(case, writing) > WRONG for case in WRITTEN)
