"""A session: counters that match its ids, interruptions that leave nothing behind."""

import pytest
from scripted import ScriptedRuntime, Settings, saying

from localspec.chat.conversation import from_json
from localspec.chat.session import Begun, ChatSession, Comparison, Reply, Said
from localspec.core.events import FinishReason, Notice, Step
from localspec.errors import OptionError

LONG = "The quick brown fox jumps over the lazy dog. Öyle mi? Evet, öyle."


def session(*answers, **runtime):
    return ChatSession(ScriptedRuntime(saying(*(answers or (LONG,))), **runtime))


def reply(chat, text="hello"):
    return list(chat.reply(text))[-1]


def check_counters(tally):
    assert tally.emitted == tally.accepted + tally.passes - tally.cut == len(tally.tokens)


def test_a_reply_comes_in_rounds_with_its_text_and_ends_with_the_whole():
    """D08"""
    chat = session()
    events = list(chat.reply("hello"))
    assert "".join(event.text for event in events if isinstance(event, Said)) == LONG
    assert events[-1].text == LONG
    assert events[-1].finish is FinishReason.STOP
    assert chat.last.text == LONG
    check_counters(chat.last.tally)


@pytest.mark.parametrize("block", range(1, 9))
def test_a_stop_string_ends_the_answer_at_the_same_token_for_every_size_of_round(block):
    """D03"""
    chat = session(block=block)
    chat.stops = ("dog",)
    answer = reply(chat)
    assert answer.text == LONG[: LONG.index("dog")]
    assert answer.finish is FinishReason.STOP
    assert bytes(answer.tally.tokens).decode() == answer.text + "dog"
    check_counters(answer.tally)


def test_a_stop_before_the_limit_in_the_same_round_wins():
    """D05"""
    chat = session("abXdefgh", block=6, settings=Settings(max_tokens=5))
    chat.stops = ("X",)
    answer = reply(chat)
    assert (answer.finish, answer.tally.emitted) == (FinishReason.STOP, 3)


def test_a_limit_before_the_stop_wins():
    """D05"""
    chat = session("abcdefXh", settings=Settings(max_tokens=5))
    chat.stops = ("X",)
    answer = reply(chat)
    assert (answer.finish, answer.text) == (FinishReason.LENGTH, "abcde")


def test_closing_the_reply_keeps_what_was_said_and_the_next_turn_equals_a_fresh_run():
    """K01"""
    chat = session()
    answer = chat.reply("first")
    said = ""
    for event in answer:
        said += event.text if isinstance(event, Said) else ""
        if len(said) > 20:
            break
    answer.close()
    assert chat.last.finish is FinishReason.INTERRUPTED
    assert chat.conversation.turns[-1].answer == said == chat.last.text
    check_counters(chat.last.tally)
    reply(chat, "second")
    fresh = session()
    fresh.conversation.turns = chat.conversation.turns[:1]
    reply(fresh, "second")
    assert fresh.runtime.prompts[-1] == chat.runtime.prompts[-1]


def test_after_an_interruption_anywhere_the_next_turn_equals_a_fresh_run():
    """K01"""
    total = len(list(session().reply("first")))
    for count in range(1, total):
        chat = session()
        answer = chat.reply("first")
        for _ in range(count):
            next(answer)
        answer.close()
        fresh = session()
        fresh.conversation.turns = list(chat.conversation.turns)
        reply(chat, "second")
        reply(fresh, "second")
        assert fresh.runtime.prompts[-1] == chat.runtime.prompts[-1]
        check_counters(chat.last.tally)


def test_a_cancel_flag_ends_the_answer_between_two_rounds():
    """K04"""
    chat = session()
    seen = []
    for event in chat.reply("first"):
        seen.append(event)
        if isinstance(event, Step):
            chat.runtime.cancel.set()
    assert sum(isinstance(event, Step) for event in seen) == 1
    assert seen[-1].finish is FinishReason.INTERRUPTED


def test_a_prefill_that_was_cancelled_leaves_no_turn_and_no_error():
    """K01"""
    chat = session()
    events = chat.reply("first")
    chat.runtime._wait = lambda seconds: chat.runtime.cancel.set()
    assert [type(event) for event in events] == [Begun, Reply]
    assert chat.conversation.turns == []
    assert chat.last_prompt == "first"


def test_a_flag_set_when_the_answer_begins_stops_its_prefill():
    """K01"""
    chat = session()
    events = chat.reply("first")
    assert isinstance(next(events), Begun)
    chat.runtime.cancel.set()
    assert [type(event) for event in events] == [Reply]


def test_an_interrupt_raised_in_a_round_is_an_interruption():
    """K04"""
    chat = session()

    def press(seconds):
        if chat.runtime.prompts and seconds:
            raise KeyboardInterrupt

    chat.runtime._wait = press
    assert reply(chat).finish is FinishReason.INTERRUPTED


def test_an_empty_message_is_refused_and_leaves_no_turn():
    chat = session()
    with pytest.raises(OptionError, match="empty"):
        list(chat.reply("  \n"))
    assert chat.conversation.turns == []


def test_a_message_that_does_not_fit_leaves_the_conversation_as_it_was():
    """G02"""
    chat = session(capacity=128)
    reply(chat, "short")
    with pytest.raises(OptionError, match="the context holds 128"):
        list(chat.reply("x" * 200))
    assert len(chat.conversation.turns) == 1
    assert reply(chat, "short again").finish is not FinishReason.INTERRUPTED


def test_forgotten_turns_are_said_aloud_over_three_contexts_of_talk():
    """G10"""
    chat = session("short answer", capacity=256)
    said = []
    for number in range(40):
        said += [e.text for e in chat.reply(f"question {number}") if isinstance(e, Notice)]
        assert len(chat.runtime.prompts[-1]) <= 192
    assert len(said) >= 3
    assert all("no longer sent" in text for text in said)


def test_a_file_without_a_template_is_continued_without_a_word():
    """B16: opening the file said it, once."""
    chat = session(template=None)
    assert [event for event in chat.reply("x") if isinstance(event, Notice)] == []


def test_again_answers_the_same_message_with_another_seed_and_one_turn_stays():
    chat = session()
    reply(chat)
    seed = chat.runtime.seed
    list(chat.again())
    assert chat.runtime.seed == seed + 1
    assert [turn.prompt for turn in chat.conversation.turns] == ["hello"]
    assert chat.runtime.prompts[0] == chat.runtime.prompts[1]


def test_compare_answers_the_last_prompt_plain_and_leaves_the_conversation_alone():
    chat = session()
    reply(chat)
    turns = list(chat.conversation.turns)
    found = list(chat.compare())[-1]
    assert isinstance(found, Comparison)
    assert found.identical
    assert found.plain.tally.drafted == 0
    assert found.speedup > 1
    assert chat.conversation.turns == turns


def test_compare_names_the_first_place_that_differs():
    chat = session("abcdef")
    reply(chat)
    chat.runtime.script = saying("abXdef")
    assert list(chat.compare())[-1].first_difference == 2


def test_compare_writes_no_more_than_the_interrupted_answer_did():
    chat = session()
    answer = chat.reply("hello")
    for event in answer:
        if isinstance(event, Step) and event.accepted:
            break
    answer.close()
    found = list(chat.compare())[-1]
    assert found.plain.tally.emitted == chat.last.tally.emitted
    assert found.identical


def test_compare_before_any_answer_is_refused():
    with pytest.raises(OptionError, match="nothing was answered"):
        list(session().compare())


def test_a_loaded_conversation_goes_on_with_the_ids_of_the_uninterrupted_one():
    """G14, G15"""
    whole = session("one", "two", "three")
    reply(whole, "a")
    text = whole.conversation.to_json()
    reply(whole, "b")
    other = session("one", "two", "three")
    other.runtime.set_drafters(("none",))
    other.load(from_json(text))
    reply(other, "b")
    assert other.runtime.prompts[-1] == whole.runtime.prompts[-1]
