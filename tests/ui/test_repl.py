"""The conversation at the keyboard, in a pseudo-terminal."""

import json
import os
import re
import signal
import stat
import time

import pytest
from terminal import chat, shell

TURKISH = "çğıöşüÇĞİÖŞÜ"
TALK = "word " * 400


def received(term):
    """Give the messages that reached the scripted model, which answers with their bytes."""
    joined = "".join(term.lines())
    return [bytes.fromhex(found).decode() for found in re.findall(r"got <([0-9a-f]*)>", joined)]


@pytest.fixture
def echo():
    """Start a conversation in which the model answers with the bytes it was given."""
    term = chat(columns=200, readout=False)
    term.ready()
    yield term
    term.child.close(force=True)


def test_turkish_letters_typed_and_pasted_arrive_as_they_are(echo):
    """D15"""
    echo.ask(TURKISH)
    for letter in TURKISH:
        echo.ask(letter)
    echo.ask(TURKISH, paste=True)
    assert received(echo) == [TURKISH, *TURKISH, TURKISH]


def test_a_paste_is_one_message_whatever_it_holds(echo):
    pasted = '/quit\n"""open\nback\\\n\ttab\n//x\\'
    echo.ask(pasted, paste=True)
    assert received(echo) == [pasted]


def test_more_lines_by_alt_enter_ctrl_j_backslash_and_quotes(echo):
    echo.send("a\x1b\rb\x0ac\\\rd\r")
    echo.wait_until(lambda: len(received(echo)) == 1)
    echo.ready()
    echo.send('"""e\rf"""\r')
    echo.wait_until(lambda: len(received(echo)) == 2)
    assert received(echo) == ["a\nb\nc\nd", "e\nf"]


def test_a_second_slash_sends_a_leading_slash(echo):
    echo.ask("//etc/hosts")
    assert received(echo) == ["/etc/hosts"]


@pytest.mark.parametrize("env", [{}, {"LC_ALL": "tr_TR.UTF-8"}])
def test_quit_is_known_in_any_ascii_case_only(env):
    """D16"""
    term = chat(columns=200, readout=False, env=env)
    term.ask("/QUİT")
    term.ask("/quıt")
    assert "no command /QUİT" in term.text()
    assert "no command /quıt" in term.text()
    assert received(term) == []
    term.send("/QUIT\r")
    assert term.finish() == 0


def test_an_unknown_command_is_not_sent_and_names_the_nearest(echo):
    echo.ask("/gama 3")
    assert "no command /gama, did you mean /gamma?" in echo.text()
    assert received(echo) == []


def test_ctrl_d_leaves_with_0():
    """N07"""
    term = chat()
    term.ready()
    term.send("\x04")
    assert term.finish() == 0


def test_ctrl_c_stops_the_answer_keeps_what_was_said_and_talk_goes_on():
    """K04, K05"""
    term = chat(answers=[TALK, "second"], pass_s=0.05)
    term.ready()
    term.send("hello\r")
    term.wait_for("word word")
    begun = time.monotonic()
    term.send("\x03")
    term.ready()
    stopped = time.monotonic() - begun
    assert re.search(r"^ stopped · \d+ tokens in [\d.]+ s · [\d.]+ tok/s", term.text(), re.M)
    assert "Traceback" not in term.text()
    assert "error" not in term.text()
    assert stopped < 30  # a hang, not a speed: the whole answer would not end this test
    term.wait_until(lambda: time.monotonic() - begun > 2.1)
    term.ask("again")
    assert "second" in term.text()
    term.send("/quit\r")
    assert term.finish() == 0


def test_ctrl_c_stops_the_prefill_and_leaves_no_turn():
    """K01, K04"""
    term = chat(columns=120, prefill_s=500)
    term.ready()
    term.send("hello\r")
    term.wait_for("reading the prompt")
    term.send("\x03")
    term.ready()
    assert "stopped · nothing was written yet" in term.text()
    term.send("/undo\r")
    term.wait_for("nothing to take back")


def test_ctrl_c_twice_leaves_with_130_from_the_prompt_and_from_an_answer():
    """K04"""
    term = chat()
    term.ready()
    term.send("\x03")
    term.wait_for("Ctrl+C again leaves")
    term.send("\x03")
    assert term.finish() == 130
    term = chat(answers=[TALK], pass_s=0.05)
    term.ready()
    term.send("hello\r")
    term.wait_for("word")
    term.send("\x03")
    term.wait_for("stopped")
    term.send("\x03")
    assert term.finish() == 130


def test_one_shot_interrupted_ends_with_130_and_what_was_said():
    """K05"""
    term = chat(answers=[TALK], pass_s=0.05, once="x")
    term.wait_for("word word")
    term.send("\x03")
    assert term.finish() == 130
    assert "word word" in term.text()
    assert " stopped · " in term.text()


def last_cursor(raw):
    """Give the last cursor switch; None if there was none."""
    return (re.findall(rb"\x1b\[\?(?:\d+;)*25([hl])", bytes(raw)) or [None])[-1]


def test_ctrl_z_and_fg_show_the_cursor_and_the_answer_goes_on():
    """K06"""
    term = shell("set -m; CHAT; echo STOPPED; fg", answers=["word " * 40], pass_s=0.03, once="x")
    term.wait_for("word word")
    term.send("\x1a")
    term.wait_for("STOPPED")
    before = bytes(term.raw).split(b"STOPPED")[0]
    assert last_cursor(before) == b"h"
    assert "tok/s" not in term.text().split("STOPPED")[0]
    term.finish()
    assert "201 tokens in" in term.text()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_cursor_is_never_left_hidden(end):
    """K06"""
    term = chat(answers=[TALK], pass_s=0.05)
    term.ready()
    term.send("hello\r")
    term.wait_for("word word")
    os.kill(term.child.pid, end)
    term.finish()
    assert last_cursor(term.raw) in (None, b"h")


def test_what_is_typed_during_an_answer_does_not_disturb_it_and_is_read_afterwards():
    term = chat(answers=["word " * 40, "second answer"], pass_s=0.03)
    term.ready()
    term.send("hello\r")
    term.wait_for("word word")
    term.send("typed ahead\r")
    term.wait_for("second answer")
    term.ready()
    text = re.sub(r"\s", "", term.text().split("hello")[1].split("tokens in")[0])
    assert text.startswith("word" * 40)


def test_history_is_private_and_searched_with_ctrl_r(tmp_path):
    history = tmp_path / "state" / "history"
    term = chat(columns=200, readout=False, history=str(history))
    term.ask("remember the zebra")
    term.ask("something else")
    term.send("\x12zebra\r\r")
    term.wait_until(lambda: len(received(term)) == 3)
    assert received(term)[-1] == "remember the zebra"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_tab_completes_a_command(echo):
    echo.send("/sta\t")
    echo.wait_for("> /stats")


def test_ctrl_g_opens_the_editor(tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "from the editor" > "$1"\n')
    editor.chmod(0o755)
    term = chat(columns=200, readout=False, env={"EDITOR": str(editor), "VISUAL": str(editor)})
    term.ready()
    term.send("\x07")
    term.wait_for("> from the editor")
    term.send("\r")
    term.wait_until(lambda: received(term) == ["from the editor"])


def test_edit_brings_the_last_message_back_and_takes_its_turn_back(echo):
    echo.ask("first")
    echo.send("/edit\r")
    echo.wait_for("> first", count=2)
    echo.send(" changed\r")
    echo.wait_until(lambda: len(received(echo)) == 2)
    assert received(echo)[-1] == "first changed"
    assert "turns=2" not in echo.text()


def test_a_conversation_saved_in_one_run_goes_on_in_another(tmp_path):
    """G14, G15"""
    path = tmp_path / "ığ talk.json"
    term = chat(columns=200, readout=False)
    term.ask("first")
    term.ask(f"/save {path}")
    term.send("/quit\r")
    term.finish()
    assert json.loads(path.read_text())["schema"] == "localspec/conversation/1"
    term = chat(columns=200, readout=False)
    term.ask("/plain")
    term.ask(f"/load {path}")
    term.ask("second")
    assert "turns=2" in term.text()


def test_save_does_not_overwrite_a_file_that_is_no_conversation(echo, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    echo.ask(f"/save {path}")
    assert "no saved conversation" in echo.text()
    assert path.read_text() == "mine"


def test_read_puts_a_file_before_the_next_message(echo, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("the file\n")
    echo.ask(f"/read {path}")
    echo.ask("what is it?")
    assert received(echo) == ["the file\n\nwhat is it?"]


def test_changes_between_turns_are_echoed_and_wrong_ones_refused(echo):
    """F08"""
    for command, says in [
        ("/gamma 3", " γ 3"),
        ("/gamma auto", " γ auto"),
        ("/gamma x", "error: γ is a number or 'auto', not 'x'"),
        ("/plain", " drafter none; /drafter auto switches it on again"),
        ("/drafter auto", " drafter auto"),
        ("/set temp 0", " temp 0 · top_k 40"),
        ("/set top_p 3", "error: top_p must be a number from 0 to 1, not '3'"),
        ("/set nothing 1", "error: no setting 'nothing'"),
        ("/system Be brief.", " system prompt: Be brief."),
    ]:
        echo.ask(command)
        assert any(line.startswith(says) for line in echo.lines()), says


def test_the_first_lines_say_what_is_loaded_and_how_it_guesses():
    """E10"""
    term = chat(columns=120)
    term.ready()
    assert term.lines()[0] == (
        "scripted  target bytes 1B, CPU 2 threads · no draft model · drafter auto · γ auto"
        " · temp 0.7, seed 4711"
    )
    assert term.lines()[1].startswith("amber: guessed by the draft and accepted    blue: written")


def test_a_reason_not_to_draft_is_said_once():
    """E10"""
    term = chat(answers=["short"], why_off="This text is hard to guess: drafting is off.")
    term.ask("one")
    term.ask("two")
    assert term.text().count("hard to guess") == 1
