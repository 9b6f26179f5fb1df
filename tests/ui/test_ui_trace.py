"""A round in the terminal: numbers aligned, model text harmless, colour only where welcome."""

from dataclasses import replace
from io import StringIO

import pytest

from localspec.core.rules import RuleName
from localspec.ui.cells import width_of
from localspec.ui.terminal import Terminal
from localspec.ui.trace import quoted, round_lines, show_round, show_summary, show_ways
from tests.e2e.pages import Wish, make_trace


def _terminal(**more: bool) -> Terminal:
    return Terminal(StringIO(), StringIO(), **more)


def _written(stream) -> str:
    return stream.getvalue()


def test_every_guess_has_a_line_and_the_targets_token_the_last() -> None:
    for one in make_trace().rounds:
        lines = [line for line, _ in round_lines(one, 1, _terminal())]
        assert len(lines) == len(one.drafted) + (4 if one.drafted else 3)
        assert lines[0].startswith("round 1 · ")
        assert lines[-1] == ""
        told = [
            line for line in lines if line.endswith("accepted") and not line.startswith("round")
        ]
        assert len(told) == one.accepted


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(columns: int, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for one in make_trace(Wish(tokens=80)).rounds:
        for line, _ in round_lines(one, 1, _terminal()):
            assert width_of(line) <= columns


def test_model_text_is_shown_verbatim_and_cannot_drive_the_terminal() -> None:
    """N05: brackets are no markup, escapes are no escapes."""
    terminal = _terminal(shown=True)
    for number, one in enumerate(make_trace().rounds, 1):
        show_round(terminal, one, number)
    written = _written(terminal.out)
    for text in ("“[red]”", "“</script>”", "“ שלום”", "“␀␛[31m”", "“↵”"):
        assert text in written
    assert "\x1b" not in written
    assert "\x00" not in written


def test_colour_comes_only_where_escapes_are_welcome() -> None:
    """N06: amber for accepted guesses, blue for the target's tokens, as in chat."""
    one = next(one for one in make_trace().rounds if one.accepted and one.replacement)
    plain, painted = _terminal(), _terminal(out_ansi=True)
    show_round(plain, one, 1)
    show_round(painted, one, 1)
    assert "\x1b" not in _written(plain.out)
    assert "\x1b[38;5;172m" in _written(painted.out)
    assert "\x1b[38;5;33m" in _written(painted.out)


def test_how_guesses_were_judged_is_said_once() -> None:
    terminal = _terminal()
    show_ways(terminal, ["plain", "token", "token", "points"])
    lines = _written(terminal.err).splitlines()
    assert [line.split(":")[0].strip() for line in lines] == ["token", "points"]


@pytest.mark.parametrize("rule", list(RuleName))
def test_the_summary_has_the_counters(rule: RuleName) -> None:
    terminal, document = _terminal(), make_trace(Wish(tokens=40, rule=rule))
    show_summary(terminal, document)
    counts = document.counts
    assert f"40 tokens in {counts.target_passes} target passes" in _written(terminal.err)
    assert f"accepted {counts.accepted} of {counts.judged} judged" in _written(terminal.err)
    terminal = replace(terminal, err=StringIO())
    one = counts.model_copy(update={"emitted": 1, "target_passes": 1})
    show_summary(terminal, document.model_copy(update={"tokens_per_pass": None, "counts": one}))
    assert "1 token in 1 target pass ·" in _written(terminal.err)
    assert "per pass" not in _written(terminal.err)


def test_quotes_show_spaces_and_line_ends() -> None:
    assert quoted(" a\n\tb\r") == "“ a↵⇥b␍”"
