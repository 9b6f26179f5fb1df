"""`predict`: the papers' formulas as a table, a bar chart and a document."""

import math

import pytest


def test_the_articles_example_is_in_the_document(run) -> None:
    """α .7, c .1: γ 2 gives 1.8, γ 4 is the best with 2.0, γ 12 gives 1.5."""
    document = run("predict", "--alpha", ".7", "--cost-ratio", ".1", "--json").document
    assert document["schema"] == "localspec/predict/1"
    assert [point["gamma"] for point in document["curve"]] == list(range(17))
    speedups = {point["gamma"]: point["speedup"] for point in document["curve"]}
    assert (round(speedups[2], 1), round(speedups[12], 1)) == (1.8, 1.5)
    assert document["best"]["gamma"] == 4
    assert round(document["best"]["speedup"], 1) == 2.0
    assert math.isclose(document["break_even_alpha"], 0.1, abs_tol=1e-6)


def test_a_draft_that_cannot_pay_says_so(run) -> None:
    ran = run("predict", "--alpha", ".3", "--cost-ratio", ".5", "--json")
    assert ran.document["best"] == {"gamma": 0, "speedup": 1.0}
    text = run("predict", "--alpha", ".3", "--cost-ratio", ".5").out
    assert "It does not pay at alpha 0.3 and cost ratio 0.5: leave the draft off." in text
    never = run("predict", "--alpha", ".3", "--cost-ratio", "2").out
    assert "At these costs no acceptance rate pays." in never


def test_a_measured_cost_of_verifying_lowers_the_gain(run) -> None:
    free = run("predict", "--alpha", ".8", "--cost-ratio", ".1", "--json").document
    words = ("predict", "--alpha", ".8", "--cost-ratio", ".1", "--verify-cost", "1.8,2.5,2,3")
    steep = run(*words, "--json").document
    assert steep["verify_cost"] == [1.8, 2.5, 2, 3]
    assert steep["best"]["speedup"] < free["best"]["speedup"]
    assert steep["best"]["gamma"] == 3


def test_the_table_names_the_best_and_has_no_escape_byte(run, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = run("predict", "--alpha", ".7", "--cost-ratio", ".1")
    (best,) = [line for line in ran.out.splitlines() if line.endswith("best")]
    assert best.split()[:3] == ["4", "2.77", "1.98×"]
    assert "Best: γ 4, 1.98 times as fast as plain decoding." in ran.out
    assert "It begins to pay at an acceptance rate of 0.100." in ran.out
    assert "\x1b" not in ran.out
    assert ran.err == ""


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--alpha is missing"),
        (["--alpha", ".5"], "--cost-ratio is missing"),
        (["--alpha", "nan", "--cost-ratio", ".1"], "--alpha"),
        (["--alpha", "1.1", "--cost-ratio", ".1"], "--alpha"),
        (["--alpha", "-.1", "--cost-ratio", ".1"], "--alpha"),
        (["--alpha", ".5", "--cost-ratio", "inf"], "--cost-ratio"),
        (["--alpha", ".5", "--cost-ratio", "-1"], "--cost-ratio"),
        (["--alpha", ".5", "--cost-ratio", ".1", "--verify-cost", "1.1,x"], "--verify-cost"),
        (["--alpha", ".5", "--cost-ratio", ".1", "--verify-cost", "0"], "--verify-cost"),
    ],
)
def test_nonsense_is_one_line_and_exit_2(words: list[str], named: str, run) -> None:
    ran = run("predict", *words)
    assert ran.code == 2
    assert named in ran.err.splitlines()[0]
