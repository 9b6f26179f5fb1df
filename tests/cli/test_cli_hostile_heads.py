"""Wrong files and options around heads, tunes and traces: one line, the right code, at once."""

import os
from pathlib import Path

import pytest

from tests.conftest import TinyPair
from tests.heads import write_heads
from tests.models import write_llama
from tests.models_heads import write_eagle3, write_target

BENCH = ("--suite", "code", "-n", "8", "--runs", "1", "--warmup", "0", "--ctx", "1024")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_target(tmp_path_factory.mktemp("hostile") / "target.gguf")


def refused(ran, *, code: int, says: str) -> None:
    assert ran.code == code
    assert says in ran.err
    assert ran.err.count("error:") == 1
    assert "bug" not in ran.err
    assert "measuring" not in ran.err
    assert "making" not in ran.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_named_as_heads_is_not_waited_for(target: Path, tmp_path: Path, run) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    ran = run("chat", "--target", target, "--head", tmp_path / "pipe.gguf", "-p", "x")
    refused(ran, code=5, says="is a pipe or a device, not a file")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero on this system")
def test_a_device_is_no_document_no_text_and_no_heads(target: Path, tmp_path: Path, run) -> None:
    words = ("--target", target)
    refused(run("chat", *words, "--head", "/dev/zero", "-p", "x"), code=5, says="not a file")
    refused(run("tune", *words, "--text", "/dev/zero"), code=5, says="not a file")
    page = ("--html", tmp_path / "page.html", "--bench", "/dev/zero")
    refused(run("trace", *words, "-p", "x", *page), code=5, says="not a file")


def test_medusa_heads_named_as_the_draft_are_taken_for_what_they_are(
    target: Path, tmp_path: Path, run
) -> None:
    heads = write_heads(tmp_path / "medusa.gguf", target)
    options = ("--drafter", "medusa", "-g", "2", "-n", "8", "--temp", "0", "-p", "one two")
    ran = run("chat", "--target", target, "--draft", heads, *options, "--json")
    assert ran.code == 0
    assert ran.document["drafter"] == "medusa"
    alone = run("chat", "--target", heads, "-p", "x")
    refused(alone, code=4, says="is a medusa head, which needs a target of its own")


@pytest.mark.parametrize("command", ["check", "bench"])
def test_wrong_heads_are_refused_before_anything_is_measured(
    target: Path, tmp_path: Path, run, command: str
) -> None:
    wide = write_eagle3(tmp_path / "wide.gguf", target_width=128)
    refused(run(command, "--target", target, "--head", wide), code=4, says="does not fit")


def test_a_bench_holds_heads_against_the_drafters_it_is_to_compare(
    target: Path, tmp_path: Path, run
) -> None:
    head = write_eagle3(tmp_path / "eagle3.gguf")
    words = ("bench", "--target", target)
    other = run(*words, "--head", head, "--drafters", "medusa")
    refused(other, code=4, says="holds no Medusa heads: it is an eagle3 file")
    unused = run(*words, "--head", head, "--drafters", "lookup")
    refused(unused, code=2, says="--head is for eagle3 and medusa, not for lookup")
    absent = run(*words, "--drafters", "lookup+medusa")
    refused(absent, code=2, says="'medusa' needs a file of heads")


def test_no_layerskip_draft_is_made_of_a_file_that_writes_no_text(tmp_path: Path, run) -> None:
    path = write_llama(tmp_path / "bert.gguf", architecture="bert")
    ran = run("chat", "--target", path, "--drafter", "layerskip", "-p", "x")
    refused(ran, code=4, says="is an embedding model, which writes no text")


def test_several_at_once_leave_heads_out_and_say_so(target: Path, tmp_path: Path, run) -> None:
    heads = write_heads(tmp_path / "medusa.gguf", target)
    options = ("--head", heads, "--gammas", "2", "--streams", "2", *BENCH, "--json")
    ran = run("bench", "--target", target, "--drafters", "medusa,lookup", *options)
    assert ran.code == 0
    assert "--streams: medusa left out: heads read the states of one sequence alone" in ran.err
    assert {point["drafter"] for point in ran.document["streams"]} == {"lookup"}


@pytest.mark.parametrize("drafter", ["medusa", "eagle3", "mtp", "layerskip", "model,ngram"])
def test_a_tune_refuses_drafters_that_it_does_not_try(
    tiny_pair: TinyPair, run, drafter: str
) -> None:
    files = ("--target", tiny_pair.target, "--draft", tiny_pair.draft)
    refused(run("tune", *files, "--drafter", drafter), code=2, says="tune tries ")


def test_a_tune_refuses_a_named_head(target: Path, tmp_path: Path, run) -> None:
    head = write_eagle3(tmp_path / "eagle3.gguf")
    refused(
        run("tune", "--target", target, "--head", head), code=2, says="not one that --head names"
    )
