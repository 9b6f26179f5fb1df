"""The whole loop keeps the target's law: texts of several rounds, enumerated."""

import numpy as np
import pytest

from localspec.core.distribution import Distribution, point
from localspec.core.draft import Draft, DraftRequest
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.rules import judge_block, judge_tokens
from tests.core.cases import (
    EXACT,
    PLAIN_SAMPLING,
    SMALL_CASES,
    Case,
    Writing,
    target_law,
    writing_error,
    written_law,
)
from tests.core.enumerate import distance
from tests.core.fakes import Markov, MarkovDrafter, ScriptedDrafter, markov

RULES = pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
EVERY_CASE = pytest.mark.parametrize("case", SMALL_CASES, ids=str)


@RULES
@EVERY_CASE
def test_texts_of_several_rounds_have_the_targets_law(rule, case: Case) -> None:
    assert writing_error(case, Writing(4 if case.target.size == 2 else 3, rule)) < EXACT


class UnsurePolicy(FixedPolicy):
    """Stop drafting where the next law, not yet drawn from, is too flat."""

    def keep_going(self, index: int, law: Distribution) -> bool:
        """Look at the law only."""
        return bool(law.probs.max() > 0.55) or index == 0


@RULES
@EVERY_CASE
def test_stopping_on_the_next_law_before_its_draw_keeps_the_law(rule, case: Case) -> None:
    writing = Writing(3, rule, policy=lambda gamma, name: UnsurePolicy(gamma, (name,)))
    assert writing_error(case, writing) < EXACT


@RULES
@EVERY_CASE
def test_texts_that_may_end_have_the_targets_law(rule, case: Case) -> None:
    """D01: an end of text inside an accepted block ends the text."""
    options = GenerateOptions(sampling=PLAIN_SAMPLING, ends=frozenset({1}))
    assert writing_error(case, Writing(3, rule, options=options)) < EXACT


@RULES
@EVERY_CASE
def test_a_sure_guess_through_the_loop_keeps_the_law(rule, case: Case) -> None:
    """B13: prompt lookup and argmax drafts."""

    def favourite(source: Markov) -> ScriptedDrafter:
        return ScriptedDrafter(
            lambda history, limit: [
                int(source.law((*history, i)).probs.argmax()) for i in range(limit)
            ]
        )

    assert writing_error(case, Writing(3, rule, drafter=favourite)) < EXACT


def _with_padding(case: Case) -> Case:
    """Put an id without text at the end of both vocabularies, liked by the target, and more."""
    size = case.target.size
    target = np.full((size + 1, size + 1, size + 1), 50.0, np.float32)
    target[:size, :size, :size] = case.target.table
    rng = np.random.default_rng(3)
    draft = markov(rng.dirichlet(np.ones(size + 3), (size + 3, size + 3)))
    return Case(case.name, Markov(target), draft, case.gamma)


@RULES
@pytest.mark.parametrize("case", [c for c in SMALL_CASES if c.target.size == 2], ids=str)
def test_ids_without_text_are_never_written_whichever_side_has_more(rule, case: Case) -> None:
    """A02, A03, A04, A09: padding liked most by the target, and drafted by a longer draft."""
    options = GenerateOptions(max_tokens=3, sampling=PLAIN_SAMPLING, usable=case.target.size)
    written = written_law(_with_padding(case), Writing(3, rule, options=options))
    assert distance(written, target_law(case, 3)) < EXACT


class LyingDrafter(MarkovDrafter):
    """Report laws that cannot have given its guess."""

    def propose(self, history, request: DraftRequest) -> Draft:
        """Claim that each id was impossible, or report too few laws."""
        honest = super().propose(history, request)
        laws = tuple(point(token + 1) for token in honest.tokens)
        return Draft(honest.tokens, laws if len(history) % 2 else laws[1:])


@RULES
@EVERY_CASE
def test_laws_that_cannot_be_true_do_not_change_the_texts_law(rule, case: Case) -> None:
    assert writing_error(case, Writing(3, rule, drafter=LyingDrafter)) < EXACT
