"""A bench as document, CSV, Markdown and page, and held against an older one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localspec.core.statistics import Estimate
from localspec.errors import NotHere, OptionError
from localspec.measure.arms import Arm
from localspec.measure.bench import run_bench
from localspec.measure.findings import findings_of
from localspec.measure.identity import FileIdentity, MachineIdentity
from localspec.measure.predict import Predicted
from localspec.measure.screen import Screened
from localspec.report.bench import BenchFacts, bench_document
from localspec.report.bench_compare import changes, check_same_machine, read_bench
from localspec.report.bench_documents import BenchDocument
from localspec.report.bench_text import bench_csv, bench_markdown
from localspec.report.write import SCHEMAS, to_json
from localspec.ui.bench import bench_lines
from localspec.ui.bench_progress import words
from tests.measure.scripted import Machine, ScriptedRunner, design, tools

MACHINE = MachineIdentity("Linux", "A processor", 2, 2, 24, "avx2", "llama-cpp-python 0.3.36")
POINTS = tuple(Predicted(g, 2.0, Estimate(1.5 - g / 20, 1.3, 1.6)) for g in range(1, 9))


def _document(code: float = 0.93, **changes: Any) -> BenchDocument:
    machine = Machine(noise=0.02)
    runner = ScriptedRunner(machine, {"code": [code], "story": [0.2]}, wrong={("lookup γ7", 2): 17})
    arms = (Arm(("model",), 3), Arm(("lookup",), 7), Arm(("auto",)))
    result = run_bench(design(("code", "story"), arms=arms), runner, tools(machine))
    facts = BenchFacts(
        "pair <b>&",
        FileIdentity("target.gguf", 100, "aa"),
        FileIdentity("draft.gguf", 10, "bb"),
        MACHINE,
        {"threads": 2, "arms": ["model γ3"], "lookup_min": 2},
        "2026-11-29T10:00:00+00:00",
        expected=(Screened("model", POINTS, {}, 0.8),),
    )
    return bench_document(replace(facts, **changes), result, findings_of(result))


@pytest.fixture(scope="module")
def document() -> BenchDocument:
    return _document()


def test_the_document_is_valid_under_the_shipped_schema(document: BenchDocument) -> None:
    schema = json.loads((SCHEMAS / "bench.1.json").read_text(encoding="utf-8"))
    value = json.loads(to_json(document))
    assert next(iter(value)) == "schema"
    assert set(value) == set(schema["properties"]) == set(schema["required"])
    assert BenchDocument.model_validate(value) == document


def test_the_document_keeps_raw_samples_and_effective_options(document: BenchDocument) -> None:
    """E03, E13: what was in effect, on which files and engine."""
    assert document.options["lookup_min"] == 2
    assert {file.role: file.digest for file in document.pair.files} == {
        "target": "aa",
        "draft": "bb",
    }
    kept = [sample for sample in document.samples if sample.kept]
    assert len(kept) >= 2 * 4 * 4
    for sample in kept:
        assert sample.tokens == sample.accepted + sample.passes


def test_kinds_have_a_verdict_with_its_reason_each(document: BenchDocument) -> None:
    code, story = document.kinds
    assert code.verdict.use == "model"
    assert code.verdict.speedup is not None
    assert code.verdict.reason.startswith("pays: model γ3")
    assert story.verdict.use is None
    assert "it pays from" in story.verdict.reason or "no acceptance" in story.verdict.reason


def test_csv_has_a_line_a_sample_and_no_formula(document: BenchDocument) -> None:
    lines = bench_csv(document).splitlines()
    assert len(lines) == len(document.samples) + 1
    assert lines[0].startswith("run,kind,prompt,drafter,gamma,temp,seed,tokens,passes")
    risky = document.samples[0].model_copy(update={"kind": "=1+1"})
    assert "'=1+1" in bench_csv(document.model_copy(update={"samples": [risky]}))


def test_markdown_shows_interval_and_prediction(document: BenchDocument) -> None:
    text = bench_markdown(document)
    assert "| code | 0 |" in text
    assert "predicted" in text
    assert "| rows | ms | of one row |" in text


def test_the_screen_fits_its_width_in_every_script(document: BenchDocument) -> None:
    for width in (40, 72, 100):
        lines = bench_lines(document, width, detail=True)
        assert all(len(line) <= width for line in lines)
    plain = bench_lines(document, 80, unicode=False)
    assert all(line.isascii() for line in plain)
    assert any("identical to plain in 3" in line for line in bench_lines(document, 100))
    assert any("lookup γ7 differs in prompt 3 at token 18" in x for x in bench_lines(document, 100))


def test_the_screen_gives_staircase_verdict_and_break_even(document: BenchDocument) -> None:
    """F03, F04, F10: the arithmetic is on the screen."""
    text = " ".join(" ".join(bench_lines(document, 110, detail=True)).split())
    assert "Verdict: worth it for code" in text
    assert "of one row, after 64 tokens" in text
    assert "█" in text
    assert "it pays from" in text
    assert "by the costs, measured" in text


def test_progress_says_where_it_stands_and_what_is_left() -> None:
    machine = Machine()
    told: list[Any] = []
    runner = ScriptedRunner(machine, {"code": [0.8]})
    run_bench(design(), runner, tools(machine, progress=told.append))
    assert words(told[0]) == ["0 of 12", "code, plain"]
    assert words(told[-1])[2].endswith("left")
    assert words(told[-1])[3].startswith("best so far model γ3: ")


def test_the_page_is_self_contained_and_escapes_names(document: BenchDocument) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    from localspec.report.bench_page import bench_page

    page = bench_page(document)
    assert page == bench_page(document)
    assert "pair &lt;b&gt;&amp;" in page
    for outside in ("<script", "<link", "@import", "src=", "url(h"):
        assert outside not in page
    assert page.count("<svg") == 5
    assert "var(--s1)" in page
    assert "prefers-color-scheme:dark" in page
    assert "#0102" not in page


def test_an_older_document_of_another_machine_is_refused(document: BenchDocument) -> None:
    other = document.machine.model_copy(update={"cores": 64})
    with pytest.raises(OptionError, match="another machine \\(cores: 2, here 64\\)"):
        check_same_machine(document, other)
    check_same_machine(document, document.machine)


def test_a_clear_loss_is_named_and_noise_is_not(document: BenchDocument) -> None:
    """E13: same files, another build, and the acceptance fell."""
    assert not any(change.loss for change in changes(document, document))
    worse = _document(0.6)
    losses = [change.text for change in changes(document, worse) if change.loss]
    assert any("code, model γ3:" in text and "times as fast" in text for text in losses)
    assert any("accepted" in text for text in losses)
    assert not any(change.loss for change in changes(worse, document))


def test_another_engine_and_another_file_are_said(document: BenchDocument) -> None:
    newer = _document(machine=replace(MACHINE, engine="llama-cpp-python 0.3.40"))
    other = _document(target=FileIdentity("target.gguf", 101, "cc"))
    assert next(changes(document, newer)).text.startswith("engine: ")
    assert next(changes(document, other)).text == "target is another file: target.gguf"


def test_what_is_no_older_document_is_refused(tmp_path: Path, document: BenchDocument) -> None:
    path = tmp_path / "old.json"
    with pytest.raises(NotHere):
        read_bench(path)
    for wrong in ("", "[]", "{}", '{"schema": "localspec/bench/9"}', "\0"):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(OptionError, match="no document of localspec bench"):
            read_bench(path)
    path.write_text(to_json(document), encoding="utf-8")
    assert read_bench(path) == document


def test_a_bench_that_was_cut_before_its_first_answer_still_makes_a_page() -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    from localspec.report.bench_page import bench_page

    machine = Machine()
    runner = ScriptedRunner(machine, {"code": [0.9]})
    result = run_bench(design(("code",)), runner, tools(machine, max_s=0.0))
    facts = BenchFacts("pair", FileIdentity("t.gguf", 1, "aa"), None, MACHINE, {}, "2026-11-29")
    page = bench_page(bench_document(facts, result, findings_of(result)))
    assert "Incomplete" in page
