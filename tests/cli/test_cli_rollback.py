"""What taking guesses back costs, as a user reads it."""

from pathlib import Path

from tests.models import write_window
from tests.models_caches import write_qwen35


def test_a_hybrid_says_at_load_how_and_at_what_price(run, tmp_path: Path) -> None:
    """H06 H09 H10: one line, and the ways in the echoed options."""
    target = write_qwen35(tmp_path / "hybrid.gguf")
    ran = run("chat", "--target", target, "--gamma", "3", "-p", "x", "-n", "5", "--json")
    assert ran.code == 0
    assert "hybrid.gguf takes rejected guesses back by snapshots: 3 snapshots of its" in ran.err
    options = ran.document["options"]
    assert (options["target_rollback"], options["target_snapshots"]) == ("snapshots", 3)


def test_an_ordinary_pair_says_nothing(run, tiny_pair) -> None:
    words = ("--target", tiny_pair.target, "--draft", tiny_pair.draft)
    ran = run("chat", *words, "--gamma", "3", "-p", "x", "-n", "5", "--json")
    assert "guesses back" not in ran.err
    assert ran.document["options"]["target_rollback"] == "removal"
    assert ran.document["options"]["draft_rollback"] == "removal"


def test_verbose_names_the_cost_of_a_window(run, tmp_path: Path) -> None:
    """H07."""
    target = write_window(tmp_path / "window.gguf")
    ran = run("chat", "-v", "--target", target, "-p", "x", "-n", "3")
    assert "window.gguf: sliding window kept whole, " in ran.err


def test_models_show_names_the_cost_for_a_file_that_is_here(run, tmp_path: Path) -> None:
    target = write_qwen35(tmp_path / "hybrid.gguf")
    assert run("models", "add", "mine", "--target", target).code == 0
    assert "to take guesses back: 16 snapshots of its state" in run("models", "show", "mine").out
    (model,) = run("models", "show", "mine", "--json").document["models"]
    assert "snapshots" in model["rollback"]
