"""Turns into prompt ids: one BOS, whole turns dropped, files that any drafter can take up."""

import pytest
from scripted import BOS, END, ROLES, ByteVocabulary, RoleTemplate

from localspec.chat.conversation import Conversation, PromptBuilder, Turn, from_json
from localspec.errors import OptionError


def builder(capacity=200, template=True):
    return PromptBuilder(ByteVocabulary(), RoleTemplate() if template else None, capacity)


def talk(turns, length=20):
    said = [Turn(f"{n:0{length}d}", f"{n:0{length}d}") for n in range(turns - 1)]
    return Conversation("sys", [*said, Turn("last")])


def test_a_prompt_has_exactly_one_bos_with_and_without_a_template():
    """A17"""
    for template in (True, False):
        assert builder(template=template).ids(talk(3)).count(BOS) == 1


def test_whole_oldest_turns_go_when_the_context_fills_and_the_structure_stays_valid():
    """G10"""
    conversation = talk(20)
    ids, dropped = builder(capacity=200).fit(conversation)
    roles = [token for token in ids.tolist() if token in ROLES.values()]
    user, assistant = ROLES["user"], ROLES["assistant"]
    assert dropped == conversation.forgotten > 0
    assert len(ids) <= 150
    assert roles == [ROLES["system"], *[user, assistant] * (20 - dropped)]
    assert ids.tolist().count(END) == len(roles) - 1
    assert len(conversation.turns) == 20


def test_forgetting_frees_a_quarter_so_that_the_next_turn_reuses_the_cache():
    """G10"""
    conversation = talk(20)
    before, _ = builder(capacity=400).fit(conversation)
    conversation.answer("short")
    conversation.ask("next")
    after, dropped = builder(capacity=400).fit(conversation)
    assert dropped == 0
    assert after[: len(before)].tolist() == before.tolist()


def test_a_message_longer_than_the_context_is_refused_with_both_numbers():
    """G02"""
    with pytest.raises(OptionError, match=r"30\d tokens, the context holds 200"):
        builder().fit(Conversation("", [Turn("x" * 300)]))


def test_a_message_that_leaves_a_little_room_is_still_answered():
    """G02"""
    ids, dropped = builder().fit(Conversation("", [Turn("x" * 180)]))
    assert (len(ids), dropped) == (184, 0)


def test_a_saved_conversation_makes_the_same_ids_again():
    """G14"""
    conversation = talk(12)
    builder().fit(conversation)
    loaded = from_json(conversation.to_json().replace("null", '"answer"'))
    conversation.answer("answer")
    for each in (conversation, loaded):
        each.ask("and now?")
    assert builder().fit(loaded)[0].tolist() == builder().fit(conversation)[0].tolist()


def test_a_saved_conversation_names_no_drafter_and_no_ids():
    """G15"""
    text = Conversation("s", [Turn("ığ", "şç")]).to_json()
    assert '"localspec/conversation/1"' in text
    assert "drafter" not in text
    assert "şç" in text
    assert from_json(text) == Conversation("s", [Turn("ığ", "şç")])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "localspec/conversation/2"}',
        '{"schema": "localspec/conversation/1", "system": "", "turns": [{"prompt": 1}]}',
        '{"schema": "localspec/conversation/1", "system": "", "turns": [], "forgotten": 3}',
        '{"schema": "localspec/conversation/1", "turns": []}',
    ],
)
def test_a_file_that_is_no_saved_conversation_is_refused_in_one_line(text):
    with pytest.raises(OptionError, match="not a saved conversation"):
        from_json(text)
