"""Turns and the one place where they become prompt ids; whole oldest turns go when room ends.

Knows text, turns and a context's size. Does not know drafters, files or what a model answers: a
conversation kept as text can be taken up with any drafter, or none.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from localspec.chat.partners import Message, Template, Vocabulary
from localspec.core.tokens import Token, Tokens
from localspec.errors import OptionError

SCHEMA = "localspec/conversation/1"
USUAL_ANSWER = 256


@dataclass(frozen=True)
class Turn:
    """What was asked, and what was answered; None while it is being answered."""

    prompt: str
    answer: str | None = None


@dataclass
class Conversation:
    """A system prompt and turns; the first `forgotten` turns no longer fit and are not sent."""

    system: str = ""
    turns: list[Turn] = field(default_factory=list)
    forgotten: int = 0

    def ask(self, prompt: str) -> None:
        """Begin a turn."""
        self.turns.append(Turn(prompt))

    def answer(self, text: str) -> None:
        """Finish the turn that was begun."""
        self.turns[-1] = Turn(self.turns[-1].prompt, text)

    def undo(self) -> Turn | None:
        """Take the last turn back and give it; None when there is none."""
        turn = self.turns.pop() if self.turns else None
        self.forgotten = min(self.forgotten, len(self.turns))
        return turn

    def clear(self) -> None:
        """Forget every turn; the system prompt stays."""
        self.turns.clear()
        self.forgotten = 0

    def messages(self) -> list[Message]:
        """Give what is sent: system prompt, then the turns that still fit."""
        said = [{"role": "system", "content": self.system}] if self.system else []
        for turn in self.turns[self.forgotten :]:
            said.append({"role": "user", "content": turn.prompt})
            if turn.answer is not None:
                said.append({"role": "assistant", "content": turn.answer})
        return said

    def to_json(self) -> str:
        """Write the conversation down."""
        turns = [{"prompt": turn.prompt, "answer": turn.answer} for turn in self.turns]
        document = {
            "schema": SCHEMA,
            "system": self.system,
            "forgotten": self.forgotten,
            "turns": turns,
        }
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def from_json(text: str) -> Conversation:
    """Read a conversation that `to_json` wrote.

    Raises: OptionError that says what is wrong with the document.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as failure:
        raise OptionError(
            "not a saved conversation: it is no JSON", "load a file that /save wrote"
        ) from failure
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise OptionError(
            f"not a saved conversation: schema is {schema!r}, not '{SCHEMA}'",
            "load a file that /save wrote",
        )
    turns = document.get("turns")
    if not isinstance(turns, list) or not isinstance(document.get("system"), str):
        raise OptionError("not a saved conversation: 'system' or 'turns' is missing")
    forgotten = document.get("forgotten", 0)
    if not isinstance(forgotten, int) or not 0 <= forgotten <= len(turns):
        raise OptionError(f"not a saved conversation: 'forgotten' is {forgotten!r}")
    return Conversation(document["system"], [_turn(turn) for turn in turns], forgotten)


def _turn(value: Any) -> Turn:
    prompt, answer = (
        (value.get("prompt"), value.get("answer")) if isinstance(value, dict) else (None, None)
    )
    if not isinstance(prompt, str) or not isinstance(answer, str):
        raise OptionError("not a saved conversation: a turn needs 'prompt' and 'answer' as text")
    return Turn(prompt, answer)


@dataclass(frozen=True)
class PromptBuilder:
    """Turn a conversation into the ids both models get: the same ones, BOS exactly once."""

    vocabulary: Vocabulary
    template: Template | None
    capacity: int

    def ids(self, conversation: Conversation) -> list[Token]:
        """Give the prompt's ids, whatever their number."""
        if self.template is not None:
            return list(self.template.prompt_ids(conversation.messages()))
        return self.vocabulary.tokenize(_raw(conversation), special=False, bos=True)

    def fit(self, conversation: Conversation, max_tokens: int = 0) -> tuple[Tokens, int]:
        """Give ids that leave room for an answer, and how many more turns had to be forgotten.

        Once one turn must go, turns go until a quarter of the context is free: forgetting changes
        the start of the prompt, so each time everything is read again.
        Raises: OptionError when the last message alone does not fit.
        """
        ids = self.ids(conversation)
        room = min(max_tokens or USUAL_ANSWER, self.capacity // 4)
        before = conversation.forgotten
        if len(ids) > self.capacity - room:
            ids = self._shortened(conversation, self.capacity - self.capacity // 4)
        if len(ids) >= self.capacity:
            conversation.forgotten = before
            raise OptionError(
                f"the message makes a prompt of {len(ids):,} tokens, the context holds "
                f"{self.capacity:,}",
                "shorten it, or ask for a larger context with --ctx",
            )
        return np.array(ids, np.int32), conversation.forgotten - before

    def _shortened(self, conversation: Conversation, limit: int) -> list[Token]:
        ids = self.ids(conversation)
        while len(ids) > limit and conversation.forgotten < len(conversation.turns) - 1:
            conversation.forgotten += 1
            ids = self.ids(conversation)
        return ids


def _raw(conversation: Conversation) -> str:
    """Give the plain text that a file without a chat template continues.

    One message is continued as it stands; later ones begin on a line of their own.
    """
    said = (message["content"] for message in conversation.messages())
    return "\n".join(said)
