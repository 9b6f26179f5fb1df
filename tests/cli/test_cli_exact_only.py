"""Nothing is offered that changes the target's law."""

from collections.abc import Callable
from typing import Any

import pytest

from localspec.core.rules import RuleName


def test_only_exact_rules_exist() -> None:
    """O03: no relaxed acceptance, in no mode and under no name."""
    assert {rule.value for rule in RuleName} == {"block", "token", "coupled"}


@pytest.mark.parametrize("word", ["typical", "relaxed", "lenient", "threshold"])
def test_a_relaxed_rule_is_refused_by_name(run: Callable[..., Any], word: str) -> None:
    """O03: asked for, it is an error that lists the exact ones."""
    ran = run("chat", "demo", "-p", "hello", "--rule", word)
    assert ran.code == 2
    assert "block" in ran.err
