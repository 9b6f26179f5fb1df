"""The page's drafter is built from the page's own text, run, and held to what the page promises."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localspec.core.rules import judge_block, judge_tokens
from localspec.runtime import settings, speculation
from tests.core.cases import EXACT, SMALL_CASES, Writing, writing_error

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "write-a-drafter.md").read_text(encoding="utf-8")
EXAMPLE, TRIAL = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def built(tiny: Path) -> dict[str, Any]:
    """Run both blocks of the page, one after the other."""
    names: dict[str, Any] = {"TARGET": tiny}
    said = io.StringIO()
    exec(compile(EXAMPLE, "write-a-drafter.md: the drafter", "exec"), names)
    with redirect_stdout(said):
        exec(compile(TRIAL, "write-a-drafter.md: the trial", "exec"), names)
    return {**names, "said": said.getvalue()}


def test_the_example_is_a_whole_drafter_in_under_80_lines() -> None:
    assert len(EXAMPLE.splitlines()) < 80


def test_the_page_s_trial_runs_and_its_text_is_the_target_s(built: dict[str, Any]) -> None:
    plain, guessed = built["plain"], built["guessed"]
    assert guessed.tokens == plain.tokens
    assert (plain.drafted, plain.passes) == (0, plain.emitted)
    assert 0 < guessed.accepted < guessed.drafted
    assert guessed.passes < plain.passes
    said = f"{guessed.drafted} drafted, {guessed.accepted} accepted, {guessed.passes} passes"
    assert said in built["said"]


def test_its_draft_is_a_function_of_the_history(built: dict[str, Any]) -> None:
    from localspec.core.draft import DraftRequest

    drafter = built["FollowerDrafter"]()
    request = DraftRequest(4, lambda law, _i: int(law.ids[0]))
    one, other = np.array([5, 6, 5, 7, 5], np.int32), np.array([8, 8, 9, 8], np.int32)
    first, between = drafter.propose(one, request), drafter.propose(other, request)
    assert first.tokens == (6, 5, 6, 5)
    assert between.tokens == (8, 8, 8, 8)
    assert drafter.propose(one, request).tokens == first.tokens


@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
def test_its_sampled_drafts_leave_the_target_s_law_alone(built: dict[str, Any], rule) -> None:
    writing = Writing(4, rule, drafter=lambda _source: built["FollowerDrafter"]())
    assert max(writing_error(case, writing) for case in SMALL_CASES) < EXACT


@pytest.mark.parametrize("name", ["DRAFTERS", "READY"])
def test_the_names_to_extend_are_there(name: str) -> None:
    assert f"`{name}`" in PAGE
    assert hasattr(settings, name)


def test_the_places_to_change_are_there() -> None:
    assert "`Workshop._drafter`" in PAGE
    assert hasattr(speculation.Workshop, "_drafter")
    assert hasattr(speculation, "facts_of")
    for path in re.findall(r"`((?:localspec|tests)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists()
