"""`chat` with one question, on a generated pair: what goes where, and what is refused."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localspec.report.documents import ChatDocument, EventDocument

QUICK = ("-n", "12", "--temp", "0", "-c", "256", "--seed", "1")


@pytest.fixture
def ask(run, tiny_pair):
    def call(*words: str, stdin: bytes = b""):
        pair = ("--target", tiny_pair.target, "--draft", tiny_pair.draft)
        return run("chat", *pair, *QUICK, *words, stdin=stdin)

    return call


def test_the_answer_alone_is_on_stdout_and_has_no_escape_byte(ask) -> None:
    ran = ask("-p", "hello")
    assert ran.code == 0
    assert ran.out.strip()
    assert "tok/s" not in ran.out
    assert "tok/s" in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_quiet_says_nothing_but_the_answer(ask) -> None:
    loud, quiet = ask("-p", "hello"), ask("-p", "hello", "--quiet")
    assert quiet.err == ""
    assert quiet.out == loud.out


def test_the_document_is_the_answer_with_every_counter(ask) -> None:
    """E02, E08: emitted + cut = accepted + target passes."""
    ran = ask("-p", "hello", "--json")
    document = ChatDocument.model_validate_json(ran.out)
    assert ran.document["schema"] == "localspec/chat/1"
    counts = document.counts
    assert counts.emitted + counts.cut == counts.accepted + counts.target_passes
    assert counts.emitted == len(document.token_ids) == len(document.origins) == 12
    assert document.origins.count("draft") == counts.accepted
    assert document.finish == "length"
    assert document.options["seed"] == 1
    assert document.options["ctx"] == 256
    assert document.text.strip() == ask("-p", "hello").out.strip()


def test_piped_text_is_put_before_the_prompt(ask) -> None:
    both = ask("-p", "sum it up", "--json", stdin=b"one two\n").document
    by_hand = ask("-p", "one two\n\nsum it up", "--json").document
    assert both["token_ids"] == by_hand["token_ids"]
    assert both["counts"]["prompt"] == by_hand["counts"]["prompt"]


def test_a_prompt_from_a_file_is_the_files_text(ask, tmp_path: Path) -> None:
    path = tmp_path / "soru ığş.txt"
    path.write_text("merhaba ığş", encoding="utf-8")
    from_file = ask("-p", f"@{path}", "--json").document
    assert from_file["token_ids"] == ask("-p", "merhaba ığş", "--json").document["token_ids"]


def test_two_at_signs_are_one(ask) -> None:
    ran = ask("-p", "@@home", "--json")
    assert ran.code == 0
    assert ran.document["counts"]["prompt"] > 0


def test_input_that_is_no_terminal_is_answered_once(ask) -> None:
    """N07: a piped question is answered, and that is all."""
    ran = ask(stdin=b"hello\n")
    assert (ran.code, bool(ran.out.strip())) == (0, True)


@pytest.mark.parametrize("stdin", [b"", b"\n", b"  \n\n"])
def test_an_empty_pipe_is_no_error_and_loads_nothing(stdin: bytes, run) -> None:
    """N07: nothing came in, nothing is asked; not even the model is looked for."""
    ran = run("chat", "--target", "nowhere.gguf", stdin=stdin)
    assert (ran.code, ran.out) == (0, "")
    assert "nothing to answer" in ran.err


def test_an_empty_pipe_with_json_is_an_error_document(run) -> None:
    ran = run("chat", "demo", "--json")
    assert ran.code == ran.document["exit_code"] == 2


@pytest.mark.parametrize("prompt", ["", "   ", "\n"])
def test_an_empty_prompt_is_refused_before_anything_is_loaded(prompt: str, run) -> None:
    ran = run("chat", "--target", "nowhere.gguf", "-p", prompt)
    assert ran.code == 2
    assert ran.err.splitlines()[0] == "error: the prompt is empty"


@pytest.mark.parametrize("piped", [b"caf\xc3", b"\xff\xfe abc", b"a\x80b"])
def test_half_a_character_is_replaced_and_mentioned(piped: bytes, ask) -> None:
    ran = ask(stdin=piped)
    assert ran.code == 0
    assert "the input is not UTF-8" in ran.err


def test_real_replacement_characters_are_not_mentioned(ask) -> None:
    ran = ask(stdin="a \N{REPLACEMENT CHARACTER} b".encode())
    assert "the input is not UTF-8" not in ran.err


def test_events_are_one_line_a_pass_and_add_up(ask, tmp_path: Path) -> None:
    """E09, E16: marks equal counters."""
    path = tmp_path / "events.jsonl"
    document = ask("-p", "hello", "--json", "--events", path).document
    lines = path.read_text(encoding="utf-8").splitlines()
    events = [EventDocument.model_validate_json(line) for line in lines]
    assert len(events) == document["counts"]["target_passes"]
    assert [event.index for event in events] == list(range(len(events)))
    assert [t for event in events for t in event.token_ids] == document["token_ids"]
    assert [o for event in events for o in event.origins] == document["origins"]
    for name in ("drafted", "judged", "accepted"):
        assert sum(getattr(event, name) for event in events) == document["counts"][name]


def test_events_on_stdout_take_the_place_of_the_text(ask) -> None:
    ran = ask("-p", "hello", "--events", "-")
    assert all(json.loads(line)["schema"] == "localspec/event/1" for line in ran.out.splitlines())


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["-p", "x", "--json", "--events", "-"], 2, "both want stdout"),
        (["-p", "x", "--view", "token"], 2, "--view"),
        (["-p", "x", "--mark", "bold"], 2, "--mark"),
        (["-p", "x", "--readout", "on"], 2, "--readout"),
        (["-p", "x", "--color", "no"], 2, "--color"),
        (["-p", "x", "-g", "0"], 2, "γ must be 1 or more"),
        (["-p", "x", "-g", "-2"], 2, "γ must be 1 or more"),
        (["-p", "x", "--drafter", "modle"], 2, "modle"),
        (["-p", "x", "--drafter", "ngrams"], 2, "ngrams"),
        (["-p", "x", "--temp", "nan"], 2, "--temp"),
        (["-p", "x", "--target", "nowhere.gguf"], 5, "nowhere.gguf"),
        (["-p", "x", "--draft", "nowhere.gguf"], 5, "nowhere.gguf"),
        (["-p", "@nowhere.txt"], 5, "nowhere.txt"),
        (["-p", "word " * 400], 2, "the context holds 256"),
        (["-p", "x", "--events", "/nowhere/at/all"], 5, "--events"),
        (["-p", "x", "--expect", "nowhere.txt"], 5, "nowhere.txt"),
        (["-p", "x", "--config", "nowhere.toml"], 5, "nowhere.toml"),
    ],
    ids=str,
)
def test_bad_input_is_one_clear_line_with_its_exit_code(words, code, named, ask) -> None:
    ran = ask(*words)
    assert ran.code == code
    assert ran.out == "" or ran.document["exit_code"] == code
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert named in errors[0]
    assert ran.err.splitlines()[-1].startswith(("error: ", "hint: "))
    assert "Traceback" not in ran.err


def test_no_pair_at_all_says_what_to_type(run) -> None:
    ran = run("chat", "-p", "x")
    assert ran.code in (2, 5)
    assert "hint: " in ran.err
    assert "demo" in ran.err


def test_a_file_alone_is_a_target(run, tiny_pair) -> None:
    ran = run("chat", tiny_pair.target, *QUICK, "-p", "hello", "--json")
    assert ran.document["options"]["draft"] is None


def test_plain_drafts_nothing(ask) -> None:
    document = ask("-p", "hello", "--plain", "--json").document
    assert document["drafter"] == "none"
    assert document["counts"]["drafted"] == 0
    assert document["counts"]["target_passes"] == document["counts"]["emitted"]


def test_the_same_seed_gives_the_same_text(ask) -> None:
    """C04: where who guesses and how far does not depend on the clock."""
    hot = (
        "--drafter",
        "model",
        "-g",
        "3",
        "-p",
        "hello",
        "--temp",
        "1.5",
        "--top-p",
        "1",
        "--min-p",
        "0",
        "--json",
    )
    first, again = ask(*hot).document, ask(*hot).document
    other = ask(*hot, "--seed", "2").document
    assert first["token_ids"] == again["token_ids"] != other["token_ids"]


def test_a_bias_by_id_and_by_text_bends_the_answer(ask) -> None:
    by_id = ask("-p", "x", "--plain", "--logit-bias", "120=1000", "--json").document
    assert set(by_id["token_ids"]) == {120}
    by_text = ask("-p", "x", "--plain", "--logit-bias", "' the'=1000", "--json").document
    assert set(by_text["text"].split()) == {"the"}
    unknown = ask("-p", "x", "--logit-bias", "'no such token'=1")
    assert unknown.code == 2
    assert "is not one token" in unknown.err


def test_a_stop_text_ends_the_answer_before_it(ask) -> None:
    words = ("-p", "x", "--plain", "--logit-bias", "' the'=1000", "--json", "--stop", "the the")
    document = ask(*words).document
    assert (document["finish"], document["text"].strip()) == ("stop", "")


def test_variables_and_the_settings_file_are_heard_in_their_order(
    ask, tmp_path: Path, monkeypatch
) -> None:
    """Flag over variable over file over default."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "config.toml").write_text("top-k = 11\ntop-p = 0.5\nmin-p = 0.3\ngamma = 2\n")
    monkeypatch.setenv("LOCALSPEC_TOP_P", "0.6")
    monkeypatch.setenv("LOCALSPEC_MIN_P", "0.2")
    options = ask("-p", "x", "--min-p", "0.1", "--json").document["options"]
    assert [options[key] for key in ("top_k", "top_p", "min_p", "gamma")] == [11, 0.6, 0.1, 2]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("tpo-k = 3", "did you mean 'top-k'?"),
        ("top-k = 'many'", "top-k must be a whole number, not 'many'"),
        ("top-k = [1", "is not TOML"),
        ("min-p = -1", "--min-p"),
    ],
)
def test_a_wrong_settings_file_is_refused(text: str, named: str, ask, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    ran = ask("-p", "x", "--config", path)
    assert ran.code == 2
    assert named in ran.err


def test_ctrl_c_keeps_what_was_said_and_is_130(tiny_pair) -> None:
    """K01, K05: one Ctrl-C stops the answer; the document says so."""
    command = [sys.executable, "-m", "localspec", "chat", "--target", str(tiny_pair.target)]
    more = ["-p", "hello", "-c", "4096", "--temp", "1", "--logit-bias", "1=-1000"]
    more += ["--logit-bias", "3=-1000", "--logit-bias", "0=-1000", "--events", "-"]
    child = subprocess.Popen(
        [*command, *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout
    child.stdout.readline()
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert b"Traceback" not in err
