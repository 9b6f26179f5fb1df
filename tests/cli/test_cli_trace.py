"""`trace` as a user runs it: text, document, page, and what is refused."""

import sys
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest

from localspec.cli.options import ModelOptions
from localspec.cli.trace import busy_machine, telling
from localspec.core.rules import RuleName
from localspec.report.bench_documents import BenchDocument, StreamInfo
from localspec.report.documents import Interval
from localspec.report.trace_documents import TraceDocument
from localspec.report.trace_page import Busy
from localspec.runtime.settings import PairFiles, RunSettings
from tests.cli.conftest import ROOT

QUICK = ("-n", "12", "-c", "256", "--seed", "1", "-g", "3", "--drafter", "model")


@pytest.fixture
def pair(tiny_pair) -> tuple[str, ...]:
    return ("--target", str(tiny_pair.target), "--draft", str(tiny_pair.draft), *QUICK)


@pytest.fixture
def trace(run, pair):
    def call(*words: str, stdin: bytes = b""):
        return run("trace", *pair, *words, stdin=stdin)

    return call


def test_every_round_is_on_stdout_with_its_chances_and_its_draws(trace) -> None:
    """N06: no escape byte where nobody asked for one."""
    ran = trace("-p", "hello", "--temp", "1")
    assert ran.code == 0
    assert ran.out.startswith("round 1 · ")
    for word in ("chance", "draw", "model guessed 3", "ms"):
        assert word in ran.out
    assert "\x1b" not in ran.out + ran.err
    assert "12 tokens in" in ran.err


def test_the_document_has_every_round_and_adds_up(trace) -> None:
    ran = trace("-p", "hello", "--temp", "1", "--json")
    document = TraceDocument.model_validate_json(ran.out)
    assert ran.document["schema"] == "localspec/trace/1"
    assert document.rule == "token"
    assert document.counts.emitted == sum(len(one.token_ids) for one in document.rounds) == 12
    assert document.prompt == "hello"
    assert document.costs is None
    for one in document.rounds:
        for guess in one.drafted:
            if guess.judged:
                assert guess.accepted == (guess.draw < guess.chance)


@pytest.mark.parametrize("rule", ["token", "block", "coupled"])
def test_a_trace_writes_what_chat_writes(trace, run, pair, rule: str) -> None:
    words = ("-p", "hello", "--temp", "1", "--rule", rule, "--json")
    ours, theirs = trace(*words).document, run("chat", *pair, *words).document
    ids = [token for one in ours["rounds"] for token in one["token_ids"]]
    assert ids == theirs["token_ids"]
    assert ours["rule"] == rule


@pytest.mark.parametrize("lang", ["en", "tr"])
def test_the_page_is_one_file_with_this_machines_times(trace, tmp_path: Path, lang: str) -> None:
    page = tmp_path / "sayfa ığş.html"
    ran = trace("-p", "hello", "--temp", "1", "--html", str(page), "--lang", lang)
    assert ran.code == 0
    assert str(page) in ran.err
    text = page.read_text(encoding="utf-8")
    assert f'<html lang="{lang}">' in text
    assert '<th scope="row">16</th>' in text
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_the_busy_machine_comes_from_a_bench(tmp_path: Path, monkeypatch) -> None:
    """The fastest drafter stands for each number of sequences."""
    streams = [
        StreamInfo(
            streams=count,
            drafter=drafter,
            gamma=3,
            prompts=8,
            plain_tokens_per_s=10.0 * count,
            tokens_per_s=12.0,
            speedup=Interval(value=speedup / count),
            word="pays",
            acceptance_rate=0.5,
            tokens_per_pass=1.5,
            identical=None,
        )
        for count in (1, 4)
        for drafter, speedup in (("model", 1.2), ("lookup", 0.8))
    ]
    given = BenchDocument.model_construct(streams=streams)
    monkeypatch.setattr(BenchDocument, "model_validate_json", lambda _data: given)
    path = tmp_path / "bench.json"
    path.write_text("{}", encoding="utf-8")
    assert busy_machine(path) == (Busy(1, 1.2), Busy(4, 0.3))


def test_a_page_and_a_document_can_come_from_one_answer(trace, tmp_path: Path) -> None:
    ran = trace("-p", "hello", "--html", str(tmp_path / "page.html"), "--json")
    document = TraceDocument.model_validate_json(ran.out)
    assert document.costs is not None
    assert [point.rows for point in document.costs.target] == list(range(1, 18))


def test_plain_decoding_can_be_traced(run, tiny_pair) -> None:
    ran = run("trace", "--target", tiny_pair.target, "--plain", "-p", "hello", "-n", "5")
    assert ran.code == 0
    assert "guessed" in ran.out
    assert "accepted" not in ran.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-p", ""), 2, "the prompt is empty"),
        (("-p", "x", "--lang", "tr"), 2, "--html"),
        (("-p", "x", "--html", "p.html", "--lang", "de"), 2, "de"),
        (("-p", "x", "--html", "nowhere/p.html"), 5, "no folder"),
        (("-p", "x", "--bench", "b.json"), 2, "--html"),
        (("-p", "x", "--html", "p.html", "--bench", "b.json"), 5, "no file"),
        (("-p", "x", "--html", "p.html", "--bench", "pyproject.toml"), 2, "no document of a bench"),
        (("-p", "x", "--step"), 2, "no terminal"),
        (("-p", "x", "--step", "--json"), 2, "contradict"),
        (("-p", "x", "--stop", "y"), 2, "--stop"),
        (("-p", "x", "--top", "0"), 2, "--top"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(trace, words, code: int, said: str) -> None:
    ran = trace(*words)
    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_there_is_something_to_see_where_nobody_chose(tiny_pair) -> None:
    """Left alone the policy may stop guessing, and block chances cannot be read off one place."""
    plain = RunSettings(PairFiles(tiny_pair.target, tiny_pair.draft))
    chosen = telling(plain, ModelOptions())
    assert (chosen.rule, chosen.gamma, chosen.keep_laws) == (RuleName.TOKEN, 4, True)
    narrow = telling(replace(plain, strict=True, strict_rows=4), ModelOptions())
    assert narrow.gamma == 3
    asked = telling(replace(plain, rule=RuleName.BLOCK), ModelOptions(rule="block", gamma="auto"))
    assert (asked.rule, asked.gamma) == (RuleName.BLOCK, None)


def test_step_waits_for_a_key_and_q_stops(pair) -> None:
    command = ["-m", "localspec", "trace", *pair, "-p", "hello", "--step", "--color", "always"]
    child = pexpect.spawn(sys.executable, command, cwd=str(ROOT), encoding="utf-8", timeout=60)
    child.expect("round 1")
    child.expect("any key")
    child.send(" ")
    child.expect("round 2")
    child.expect("any key")
    child.send("\x1b[B")  # an arrow key is one key
    child.expect("round 3")
    child.expect("any key")
    child.send("q")
    child.expect(pexpect.EOF)
    assert "round 4" not in child.before
    child.close()
    assert child.exitstatus == 0
