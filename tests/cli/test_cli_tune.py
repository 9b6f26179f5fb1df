"""`tune` as a user runs it, on generated pairs: what it says, writes, keeps and refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localspec.engine.quantise import Recipe
from localspec.errors import PairRefused
from localspec.measure.costs import Costs
from localspec.measure.survey import Surveyed
from localspec.measure.tune import recipes, trial, tune
from localspec.measure.tune.candidates import Arrangement, Ground
from localspec.measure.tune.samples import shape_of
from localspec.runtime.layouts import kept_layouts
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import PairFiles
from tests.cli.conftest import ROOT, Ran
from tests.cli.tuning import WORDS, shorten, tune_words
from tests.conftest import TinyPair
from tests.models import write_llama, write_mamba, write_window

Run = Callable[..., Ran]
HEARING = (  # whoever runs the tests may have told its children not to hear Ctrl-C
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from localspec.cli.main import run; run()"
)
Q4 = Recipe("q4_0", pure=True)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text(WORDS, encoding="utf-8")
    return path


def test_a_tune_measures_its_best_and_its_document_says_all(
    run: Run, tiny_pair: TinyPair, text: Path
) -> None:
    ran = run(*tune_words(tiny_pair, text, "--json", "--max-kl", "9"))
    assert ran.code in (0, 3), ran.err
    document = ran.document
    assert document["schema"] == "localspec/tune/1"
    assert document["complete"]
    measured = [each for each in document["candidates"] if each["measured"]]
    assert measured
    layouts = {each["target_layout"]["name"] for each in document["candidates"]}
    assert {"as given", "Q4_0", "Q8_0"} <= layouts
    drafters = {each["drafter"] for each in document["candidates"]}
    assert drafters == {"none", "lookup", "model"}
    new = [each for each in measured if each["target_layout"]["made_from"]]
    assert all(0 <= each["quality"]["kl_mean"] < 9 for each in new)
    assert (document["best"] is None) == (ran.code == 3)
    assert (document["saved"] is None) == (ran.code == 3)
    assert document["options"]["max_kl"] == 9
    assert "given files:" in ran.err


def test_the_screen_has_a_table_a_verdict_and_no_escape(
    run: Run, tiny_pair: TinyPair, text: Path
) -> None:
    ran = run(*tune_words(tiny_pair, text))
    assert ran.code in (0, 3), ran.err
    assert "as given" in ran.out
    assert "Verdict: " in ran.out
    assert "\x1b" not in ran.out + ran.err


def test_only_the_files_of_finalists_are_written(run: Run, tiny_pair: TinyPair, text: Path) -> None:
    ran = run(*tune_words(tiny_pair, text, "--json", "--plain", "--max-kl", "99"))
    made = kept_layouts()
    finalists = {
        each["target_layout"]["name"] for each in ran.document["candidates"] if each["measured"]
    }
    assert 1 <= len(made) == len(finalists)
    assert all(each.origin and each.origin.path == str(tiny_pair.target) for each in made)
    left = [path.name for path in made[0].path.parent.iterdir() if ".samples-" in path.name]
    assert left == []


def test_a_target_that_loses_too_much_is_neither_measured_nor_kept(
    run: Run, tiny_pair: TinyPair, text: Path
) -> None:
    ran = run(*tune_words(tiny_pair, text, "--json", "--plain", "--max-kl", "0"))
    assert ran.code == 3, ran.err
    assert kept_layouts() == []
    assert not any(each["measured"] for each in ran.document["candidates"])
    beyond = [each for each in ran.document["candidates"] if each["beyond_max_kl"]]
    assert beyond
    assert all(each["quality"]["kl_mean"] > 0 for each in beyond)
    assert "further from the given target than --max-kl allows" in ran.document["verdict"]


@pytest.mark.parametrize("write", [write_mamba, write_window])
def test_other_kinds_of_model_are_tuned_too(write, run: Run, text: Path, tmp_path: Path) -> None:
    """H07: a sliding window, and a state that cannot forget only its end."""
    target = write(tmp_path / "target.gguf")
    words = ["tune", "--target", str(target), "--text", str(text), "--max-time", "40s", "--json"]
    ran = run(*words, "--ctx", "1024", "--drafter", "none")
    assert ran.code in (0, 3), ran.err
    assert any(each["measured"] for each in ran.document["candidates"])


def test_a_file_that_cannot_be_requantised_says_why_and_stays(
    run: Run, tiny_pair: TinyPair, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(source: Path, _recipe: Recipe) -> None:
        raise PairRefused(f"the engine cannot requantise {source.name}: not this one")

    monkeypatch.setattr(recipes, "plan_of", refused)
    ran = run(*tune_words(tiny_pair, text, "--json"))
    assert ran.code in (0, 3), ran.err
    assert {each["target_layout"]["name"] for each in ran.document["candidates"]} == {"as given"}
    assert any("cannot requantise" in note for note in ran.document["notes"])


def test_a_model_with_experts_is_not_sampled_and_says_why(tmp_path: Path) -> None:
    """F21: what several rows cost depends on the experts they choose."""
    target = write_llama(tmp_path / "moe.gguf", extra={"llama.expert_count": 8})
    with pytest.raises(PairRefused, match=r"moe\.gguf has experts"):
        shape_of(target)


def test_a_cache_that_cannot_be_written_leaves_the_files_as_they_are(
    run: Run, tiny_pair: TinyPair, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("LOCALSPEC_CACHE", str(tmp_path / "file"))
    ran = run(*tune_words(tiny_pair, text, "--json"))
    assert ran.code in (0, 3), ran.err
    assert any("cannot write in" in note for note in ran.document["notes"])


def test_time_that_is_up_gives_what_there_is(run: Run, tiny_pair: TinyPair, text: Path) -> None:
    words = [*tune_words(tiny_pair, text, "--json")[:-3], "--max-time", "1s", "--json"]
    ran = run(*words)
    assert ran.code in (0, 3), ran.err
    assert ran.document["given"]["tokens_per_s"] > 0


def test_a_survey_on_a_busy_moment_does_not_stand(
    run: Run, tiny_pair: TinyPair, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passes of the given files are timed twice, and the faster ones count."""
    usual, busy, searched = tune.survey, list[Costs](), list[Ground]()

    def surveyed(runtime: Runtime, *, repeats: int) -> Surveyed:
        found = usual(runtime, repeats=repeats)
        if busy:
            return found
        slow = tuple(replace(each, median_s=1.0) for each in found.costs.target)
        busy.append(replace(found.costs, target=slow))
        return Surveyed(busy[0])

    def kept(ground: Ground, *rest: Any) -> list[Arrangement]:
        searched.append(ground)
        return []

    monkeypatch.setattr(tune, "survey", surveyed)
    monkeypatch.setattr(tune, "search", kept)
    run(*tune_words(tiny_pair, text))
    ((costs,), (ground,)) = busy, searched
    assert costs.pass_s(4, 64) == 1.0
    assert ground.costs.pass_s(4, 64) < 0.5


def test_an_interruption_gives_what_there_is_and_130(
    tiny_pair: TinyPair, text: Path, tmp_path: Path
) -> None:
    words = tune_words(tiny_pair, text, "--json", "--max-kl", "9")
    child = subprocess.Popen(
        [sys.executable, "-c", HEARING, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "LOCALSPEC_CACHE": str(tmp_path / "c")},
    )
    assert child.stderr is not None
    for line in child.stderr:
        if "layouts of the target" in line:
            break
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=100)
    assert child.returncode == 130
    document = json.loads(out)
    assert document["stopped"] == "interrupted"
    assert not document["complete"]


def test_tune_starts_from_given_files(run: Run, tiny_pair: TinyPair, text: Path) -> None:
    ran = run(*tune_words(tiny_pair, text, "--tuned"))
    assert ran.code == 2
    assert "leave --tuned out" in ran.err


@pytest.mark.parametrize(
    ("more", "said"),
    [(["--max-kl", "-1"], "--max-kl"), (["--max-time", "soon"], "--max-time")],
)
def test_what_makes_no_sense_is_refused_before_a_model_is_loaded(
    more: list[str], said: str, run: Run, tmp_path: Path
) -> None:
    ran = run("tune", "--target", str(tmp_path / "none.gguf"), *more)
    assert ran.code == 2
    assert said in ran.err


def test_two_texts_are_two_kinds_of_the_same_tune(
    run: Run, tiny_pair: TinyPair, text: Path, tmp_path: Path
) -> None:
    """D12: the user's own texts, not English alone, decide."""
    other = tmp_path / "tr.txt"
    words = [f"Vapur {n} numaralı iskeleden erken kalktı, ığüşöç diye." for n in range(6)]
    other.write_text("\n\n".join(words), encoding="utf-8")
    ran = run(*tune_words(tiny_pair, text, "--json", "--plain", "--text", str(other)))
    assert ran.code in (0, 3), ran.err
    assert ran.document["options"]["suite"] == ["code.py", "tr.txt"]


def test_weights_that_are_loaded_are_not_loaded_again(
    run: Run, tiny_pair: TinyPair, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I05: an arrangement of the given files answers with the pair that is open."""
    opened: list[PairFiles] = []
    real = trial.TrialRunner._opened

    def counted(self: trial.TrialRunner, chosen: trial.Finalist):
        opened.append(chosen.files)
        return real(self, chosen)

    monkeypatch.setattr(trial.TrialRunner, "_opened", counted)
    run(*tune_words(tiny_pair, text, "--json"))
    assert len(opened) == len({(files.target, files.draft) for files in opened})
    assert (tiny_pair.target, tiny_pair.draft) not in {(f.target, f.draft) for f in opened}
