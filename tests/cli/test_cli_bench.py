"""`bench` and `check` as a user runs them, on a generated pair and on wrong input."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.cli.bench_request import duration
from localspec.errors import OptionError
from localspec.measure.live import LiveRunner
from tests.cli.conftest import Ran
from tests.conftest import TinyPair
from tests.models import write_llama

Run = Callable[..., Ran]
SHORT = ("-n", "16", "--runs", "1", "--warmup", "0", "--ctx", "1024")


def _pair(pair: TinyPair) -> tuple[str, ...]:
    return ("--target", str(pair.target), "--draft", str(pair.draft))


def test_a_bench_fills_screen_files_and_runs_folder(
    run: Run, tiny_pair: TinyPair, tmp_path: Path
) -> None:
    """J03: one command, a sweep, a cost curve and JSON."""
    exports = {name: tmp_path / f"b.{name}" for name in ("save", "csv", "md")}
    words = [word for name, path in exports.items() for word in (f"--{name}", str(path))]
    ran = run("bench", *_pair(tiny_pair), *SHORT, "--suite", "qa", "--gammas", "1,3", *words)
    assert ran.code == 0, ran.err
    assert "of one row, after 64 tokens" in ran.out
    assert "Verdict: " in ran.out
    saved = json.loads(exports["save"].read_text(encoding="utf-8"))
    assert saved["complete"]
    arms = [(arm["drafter"], arm["gamma"]) for arm in saved["kinds"][0]["arms"]]
    assert arms == [("model", 1), ("model", 3), ("lookup", 1), ("lookup", 3), ("auto", None)]
    assert exports["csv"].read_text(encoding="utf-8").count("\n") == len(saved["samples"]) + 1
    assert exports["md"].read_text(encoding="utf-8").startswith("# Bench of ")
    assert len(list((tmp_path / "state" / "runs").iterdir())) == 1


def test_json_is_one_object_and_prose_goes_to_stderr(run: Run, tiny_pair: TinyPair) -> None:
    ran = run("bench", *_pair(tiny_pair), *SHORT, "--suite", "qa", "--gammas", "2", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["schema"] == "localspec/bench/1"
    assert ran.document["options"]["max_tokens"] == 16
    assert "measuring what passes cost" in ran.err


def test_each_file_and_standard_input_is_a_row_of_its_own(
    run: Run, tiny_pair: TinyPair, tmp_path: Path
) -> None:
    """D12, D13: English, Turkish, Japanese and what is piped in, each with its verdict."""
    texts = {
        "en.txt": "The boat left early. " * 4,
        "tr.txt": "Vapur erken kalktı ığş. " * 4,
        "ja.txt": "船は朝早く港を出た。" * 8,
    }
    for name, words in texts.items():
        (tmp_path / name).write_text(f"{words}\n\n{words}sonra", encoding="utf-8")
    own = [word for name in texts for word in ("--text", str(tmp_path / name))]
    piped = f"{'Piped words. ' * 8}\n\n{'Other words. ' * 8}".encode()
    words = ("bench", *_pair(tiny_pair), *SHORT, *own, "--text", "-", "--json", "--gammas", "2")
    ran = run(*words, stdin=piped)
    assert ran.code == 0, ran.err
    assert [kind["kind"] for kind in ran.document["kinds"]] == [
        *texts,
        "stdin",
    ]
    assert all(kind["verdict"]["reason"] for kind in ran.document["kinds"])


def test_every_drafter_answers_the_same_turkish_text(run: Run, tiny_pair: TinyPair) -> None:
    """D14: an ordinary small model stands beside everything else that guesses."""
    words = ("--suite", "turkish", "--gammas", "2", "--drafters", "model,lookup,lookup+model,auto")
    ran = run("bench", *_pair(tiny_pair), *SHORT, *words, "--json")
    assert ran.code == 0, ran.err
    (turkish,) = ran.document["kinds"]
    arms = [arm["drafter"] for arm in turkish["arms"]]
    assert arms == ["model", "lookup", "lookup,model", "auto"]
    seen = {name: {s["prompt"] for s in _samples(ran, name)} for name in ["none", *arms]}
    assert len(set(map(frozenset, seen.values()))) == 1


def _samples(ran: Ran, drafter: str) -> list[dict[str, object]]:
    return [each for each in ran.document["samples"] if each["drafter"] == drafter]


def test_a_draft_that_is_hardly_ever_right_gets_the_reason_in_numbers(
    run: Run, tiny_pair: TinyPair, tmp_path: Path
) -> None:
    """E17: so few guesses stand, so many would have to."""
    stranger = write_llama(tmp_path / "stranger.gguf", seed=77)
    pair = ("--target", str(tiny_pair.target), "--draft", str(stranger))
    words = ("--suite", "qa", "--gammas", "3", "--drafters", "model", "--json")
    ran = run("bench", *pair, *SHORT, *words)
    assert ran.code == 0, ran.err
    (arm,) = ran.document["kinds"][0]["arms"]
    assert arm["acceptance_rate"] < 0.1
    assert arm["acceptance_by_position"][0] < 0.1
    assert set(arm["time"]) == {"draft", "verify", "other"}
    assert ran.document["verdict"]["use"] is None


def test_streams_are_measured_after_one_at_a_time(
    run: Run, tiny_pair: TinyPair, tmp_path: Path
) -> None:
    paths = {name: tmp_path / f"s.{name}" for name in ("save", "md", "html")}
    files = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    words = ("--suite", "qa,story", "--gammas", "2", "--streams", "2,1,2", *files)
    ran = run("bench", *_pair(tiny_pair), *SHORT, *words)
    assert ran.code == 0, ran.err
    saved = json.loads(paths["save"].read_text(encoding="utf-8"))
    points = [(p["streams"], p["drafter"], p["gamma"]) for p in saved["streams"]]
    arms = [("model", 2), ("lookup", 2)]  # auto has no gamma of its own
    assert points == [(count, *arm) for count in (1, 2) for arm in arms]
    assert saved["options"]["streams"] == ["1", "2"]
    assert all(p["identical"]["of"] for p in saved["streams"])
    assert {s["streams"] for s in saved["samples"]} == {1, 2}
    assert saved["streams_verdict"]
    assert "at once" in ran.out
    assert "## Several at once" in paths["md"].read_text(encoding="utf-8")
    assert "sequences decoded together" in paths["html"].read_text(encoding="utf-8")
    page = tmp_path / "t.html"
    traced = ("-p", "hello", "-n", "8", "--html", str(page), "--bench", str(paths["save"]))
    assert run("trace", *_pair(tiny_pair), *traced).code == 0
    assert "requests at once" in page.read_text(encoding="utf-8")


def test_a_strict_width_without_strict_is_said(run: Run, tiny_pair: TinyPair) -> None:
    words = ("--suite", "qa", "--gammas", "2", "--drafters", "lookup", "--strict-rows", "12")
    ran = run("bench", *_pair(tiny_pair), *SHORT, *words)
    assert ran.code == 0, ran.err
    assert ran.err.count("--strict-rows does nothing without --strict") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--streams", "1,x"), "'x' is no whole number"),
        (("--streams", "0"), "--streams must be a whole number from 1 to 64"),
        (("--streams", "65"), "from 1 to 64"),
        (("--streams", ""), "no whole number"),
        (("--streams", "2", "--strict"), "contradict each other"),
        (("--streams", "2", "--drafters", "auto"), "fixed γ"),
        (("--gammas", "1,x"), "'x' is no whole number"),
        (("--gammas", "0"), "from 1 to"),
        (("--gammas", "-1"), "no whole number"),
        (("--gammas", ","), "no whole number"),
        (("--gammas", "9999"), "from 1 to 64"),
        (("--runs", "0"), "--runs must be a whole number from 1"),
        (("--temps", "0,warm"), "'warm' is no number"),
        (("--temps", "nan"), "must be a number"),
        (("--max-time", "soon"), "is no time"),
        (("--max-time", "0"), "is no time"),
        (("--drafters", "model,oracle"), "unknown drafter 'oracle'"),
        (("--drafters", "none"), "unknown drafter 'none'"),
        (("--suite", "poem"), "no kind of text 'poem'"),
        (("--min-speedup", "inf"), "must be a number"),
        (("--plain",), "nothing to compare"),
        (("--text", "nothing.txt"), "is not there"),
        (("--compare", "nothing.json"), "no file"),
        (("--save", "no/such/folder/x.json"), "there is no folder"),
        (("--csv", "."), "is a folder"),
    ],
)
def test_wrong_input_is_refused_before_a_model_is_loaded(
    run: Run, words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    ran = run("bench", "--target", str(tmp_path / "not-even-there.gguf"), *words)
    assert ran.code in (2, 5)
    assert said in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("data", [b"", b"\x00\x01binary", b"\xff\xfe\xfa"])
def test_an_empty_or_binary_text_is_refused(run: Run, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    ran = run("bench", "--target", "x.gguf", "--text", str(path))
    assert ran.code == 2
    assert ran.err.count("\n") == 2


def test_an_export_that_cannot_be_written_is_refused_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localspec.cli.files.os.access", lambda _path, _mode: False)
    ran = run("bench", "--target", "x.gguf", "--md", str(tmp_path / "a.md"))
    assert ran.code == 2
    assert "cannot be written" in ran.err


@pytest.mark.parametrize("moment", [0, 3, 6])
def test_ctrl_c_at_any_moment_saves_what_there_is(
    run: Run,
    tiny_pair: TinyPair,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: int,
) -> None:
    answer, asked = LiveRunner.answer, []

    def interrupted(self, slot):  # type: ignore[no-untyped-def]
        if slot.run >= 0:
            asked.append(slot)
            if len(asked) > moment:
                raise KeyboardInterrupt
        return answer(self, slot)

    monkeypatch.setattr(LiveRunner, "answer", interrupted)
    # no answer is asked for twice because of what else this machine does
    monkeypatch.setattr("localspec.cli.bench.SystemMeter", lambda _clock: None)
    path = tmp_path / "b.json"
    words = ("--suite", "qa", "--gammas", "2", "--save", str(path))
    ran = run("bench", *_pair(tiny_pair), *SHORT, *words)
    assert ran.code == 130
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert (saved["complete"], saved["stopped"]) == (False, "interrupted")
    assert len(saved["samples"]) == moment
    assert "incomplete: interrupted" in ran.out


def test_a_missed_speedup_exits_with_3(run: Run, tiny_pair: TinyPair) -> None:
    """F05: for scripts, a no is an exit code."""
    words = ("--suite", "qa", "--gammas", "2", "--drafters", "lookup", "--min-speedup", "50")
    ran = run("bench", *_pair(tiny_pair), *SHORT, *words)
    assert ran.code == 3
    assert "no drafter is surely 50 times as fast" in ran.err


def test_strict_with_a_difference_exits_with_7(
    run: Run, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "localspec.measure.bench.first_difference", lambda plain, sample: 3 if sample else None
    )
    words = ("--suite", "qa", "--gammas", "2", "--drafters", "lookup", "--strict")
    ran = run("bench", *_pair(tiny_pair), *SHORT, *words)
    assert ran.code == 7
    assert "differs from plain at token 4" in ran.err


def test_check_names_findings_costs_candidates_and_verdict(run: Run, tiny_pair: TinyPair) -> None:
    ran = run("check", *_pair(tiny_pair), "--ctx", "1024", "-n", "16", "--suite", "qa", "--json")
    assert ran.code in (0, 3), ran.err
    document = ran.document
    assert document["schema"] == "localspec/check/1"
    assert (document["verdict"]["use"] is not None) == (ran.code == 0)
    assert {found["id"] for found in document["findings"]} >= {"tokens", "memory"}
    assert {each["drafter"] for each in document["candidates"]} == {"model", "lookup"}
    assert len(document["predicted"]) == 16
    assert document["costs"]["target"]


def test_check_ranks_several_drafts_and_says_which_cannot_run(
    run: Run, tiny_pair: TinyPair, tmp_path: Path
) -> None:
    foreign = write_llama(tmp_path / "foreign.gguf", renamed={300: "other"})
    words = ("--draft", str(foreign), "--ctx", "1024", "-n", "16", "--suite", "qa")
    ran = run("check", *_pair(tiny_pair), *words)
    assert ran.code in (0, 3), ran.err
    assert "foreign.gguf: cannot run" in ran.out
    assert "draft.gguf" in ran.out
    assert "Verdict: " in ran.out


def test_check_quick_loads_nothing(run: Run, tiny_pair: TinyPair) -> None:
    ran = run("check", *_pair(tiny_pair), "--quick", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["costs"] is None


@pytest.mark.parametrize(
    ("word", "seconds"), [("10m", 600), ("90s", 90), ("90", 90), ("1h", 3600), ("1h30m", 5400)]
)
def test_times_are_read(word: str, seconds: float) -> None:
    assert duration(word) == seconds


@pytest.mark.parametrize("word", ["", "m", "1d", "-5m", "1.5h"])
def test_other_times_are_refused(word: str) -> None:
    with pytest.raises(OptionError):
        duration(word)
