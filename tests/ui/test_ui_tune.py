"""A tune's screen and its progress lines, from documents made by hand."""

from io import StringIO

import pytest

from localspec.report.bench_documents import MachineInfo
from localspec.report.documents import Interval
from localspec.report.tune_documents import (
    TuneBest,
    TuneCandidate,
    TuneDocument,
    TuneGiven,
    TuneLayout,
    TuneLeftOut,
    TuneQuality,
)
from localspec.ui.cells import width_of
from localspec.ui.terminal import Terminal
from localspec.ui.tune import MOST_ROWS, tune_lines
from localspec.ui.tune_progress import TuneLine

MACHINE = MachineInfo(
    system="Linux", processor="x", cores=2, allowed=2, memory_gib=8, flags="", engine="e"
)
QUALITY = TuneQuality(
    tokens=1024, kl_mean=0.0177, kl_mean_low=0.015, kl_mean_high=0.02, kl_p99=0.24, kl_p99_low=0.2,
    kl_p99_high=0.3, top1_agreement=0.971, top1_agreement_low=0.96, top1_agreement_high=0.98,
    perplexity_ratio=1.012, perplexity_ratio_low=1.0, perplexity_ratio_high=1.03,
)  # fmt: skip
GIVEN = TuneLayout(name="as given", file="/models/t.gguf", made_from=None, bytes=10**9)
MADE = TuneLayout(name="Q4_0", file="/cache/t-q4_0.gguf", made_from="t.gguf", bytes=9 * 10**8)
SPEED = Interval(value=1.44, low=1.38, high=1.5)


def _candidate(target: TuneLayout = MADE, **changes: object) -> TuneCandidate:
    values: dict[str, object] = {
        "target_layout": target,
        "draft_layout": MADE,
        "drafter": "model",
        "gamma": 3,
        "predicted": Interval(value=1.46, low=1.4, high=1.5),
        "measured": SPEED,
        "tokens_per_s": 56.1,
        "word": "pays",
        "quality": QUALITY,
        "beyond_max_kl": False,
    }
    return TuneCandidate(**{**values, **changes})  # type: ignore[arg-type]


def _document(best: bool = True, **changes: object) -> TuneDocument:
    chosen = TuneBest(
        target_layout=MADE, draft_layout=MADE, drafter="model", gamma=3, tokens_per_s=56.1,
        speedup_over_given_plain=SPEED, quality=QUALITY,
    )  # fmt: skip
    values: dict[str, object] = {
        "pair": "p",
        "machine": MACHINE,
        "options": {},
        "given": TuneGiven(target="t.gguf", draft="d.gguf", tokens_per_s=38.9),
        "candidates": [_candidate(), _candidate(GIVEN, measured=None, tokens_per_s=None)],
        "best": chosen if best else None,
        "verdict": "target Q4_0, model Q4_0 γ3: 1.44 times the given files' plain speed",
        "saved": "/state/x.json" if best else None,
        "drafters": ["lookup", "model"],
        "left_out": [TuneLeftOut(drafter="layerskip", reason="only with --layerskip")],
        "notes": ["F16 was left out: 3.1 times as many bytes to read for every token"],
        "warnings": [],
        "complete": True,
        "stopped": "",
    }
    return TuneDocument(**{**values, **changes})  # type: ignore[arg-type]


def test_the_screen_names_files_speed_loss_and_the_next_command() -> None:
    said = "\n".join(tune_lines(_document(), 100, pair="demo"))
    for words in (
        "1.44 ±0.06×",
        "56.1",
        "0.0177",
        "97.1%",
        "t.gguf requantised to Q4_0",
        "/cache/t-q4_0.gguf",
        "same top token 97.1%",
        "perplexity +1.2 %",
        "localspec chat demo --tuned",
        "F16 was left out",
        "tried lookup, model; left out layerskip (only with --layerskip)",
    ):
        assert words in said, words


def test_every_drafter_has_a_row_though_a_layout_is_faster_with_another() -> None:
    """F21: a draft that does not pay stands there with its number."""
    slow = _candidate(
        drafter="layerskip", predicted=Interval(value=0.35, low=0.3, high=0.4), measured=None
    )
    layouts = [MADE.model_copy(update={"name": f"Q{n}"}) for n in range(MOST_ROWS + 2)]
    others = [_candidate(layout, measured=None) for layout in layouts]
    lines = tune_lines(_document(best=False, candidates=[*others, slow]), 120)
    [row] = [line for line in lines if "layerskip Q4_0" in line]
    assert "0.35×" in row
    assert any("and 2 more" in line for line in lines)


def test_a_draft_made_of_the_target_is_called_so() -> None:
    pruned = TuneLayout(name="Q4_0 without 3 blocks", file="/c/p.gguf", made_from="t.gguf", bytes=9)
    best = TuneBest(
        target_layout=GIVEN, draft_layout=pruned, drafter="layerskip", gamma=2, tokens_per_s=56.1,
        speedup_over_given_plain=SPEED, quality=None,
    )  # fmt: skip
    row = _candidate(GIVEN, draft_layout=pruned, drafter="layerskip")
    said = "\n".join(tune_lines(_document(best=False).model_copy(
        update={"best": best, "candidates": [row]}), 120))  # fmt: skip
    assert "the target Q4_0 without 3 blocks" in said
    assert "layerskip Q4_0 without 3 blocks" in said
    assert "requantised" not in said


def test_a_no_names_no_command_and_no_file() -> None:
    said = "\n".join(tune_lines(_document(best=False), 100, pair="demo"))
    assert "Verdict" in said
    assert "--tuned" not in said
    assert "requantised" not in said


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = tune_lines(_document(), width, pair="demo")
    assert max(map(width_of, lines)) <= width


def test_a_plain_terminal_gets_plain_letters() -> None:
    said = "\n".join(tune_lines(_document(), 100, pair="demo", unicode=False))
    said.encode("ascii")


def test_many_candidates_are_counted_not_listed() -> None:
    names = [MADE.model_copy(update={"name": f"L{n}"}) for n in range(40)]
    candidates = [_candidate(name, measured=None) for name in names]
    lines = tune_lines(_document(candidates=candidates), 100)
    assert sum(" L" in line for line in lines) == MOST_ROWS
    assert any(f"and {40 - MOST_ROWS} more" in line for line in lines)


def test_an_incomplete_tune_says_so() -> None:
    lines = tune_lines(_document(complete=False, stopped="time"), 100)
    assert any("incomplete: the time is up" in line for line in lines)


def test_off_a_terminal_only_done_steps_are_written() -> None:
    err = StringIO()
    with TuneLine(Terminal(StringIO(), err), clock=lambda: 5.0) as line:
        line.say("timing")
        line.done("given files: 38.9 tok/s plain")
    assert err.getvalue() == "  0:00 ✓ given files: 38.9 tok/s plain\n"


def test_on_a_terminal_the_present_step_is_a_line_that_goes_away() -> None:
    err = StringIO()
    with TuneLine(Terminal(StringIO(), err, err_ansi=True, many_colours=False)) as line:
        line.say("timing")
        assert "timing" in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")


def test_quiet_says_nothing() -> None:
    err = StringIO()
    with TuneLine(Terminal(StringIO(), err, err_ansi=True), quiet=True) as line:
        line.say("timing")
        line.done("done")
    assert err.getvalue() == ""
