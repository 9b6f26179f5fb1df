"""Text that only looks like a control token, kept apart while a chat template is rendered.

A template cannot tell the two: it puts the words of a user between control tokens. So what looks
like one is replaced by a mark before, and tokenised as ordinary text after. Knows messages and
texts. Does not know templates or vocabularies.
"""

import re
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Message = Mapping[str, str]

_OURS = frozenset({"user", "system", "tool"})  # an answer of the model may be split at its marks


@dataclass
class Quoted:
    """Messages with marks, and the texts behind them."""

    messages: list[Message]
    texts: list[str] = field(default_factory=list)
    secret: str = field(default_factory=lambda: secrets.token_hex(8))
    """Part of every mark, so that no message can hold one."""

    def mark(self, found: re.Match[str]) -> str:
        """Keep a text, and give the mark that takes its place."""
        self.texts.append(found[0])
        return f"\ue0f0{self.secret}.{len(self.texts) - 1}\ue0f1"

    def parts(self, rendered: str) -> Iterator[tuple[str, bool]]:
        """Cut a rendered text at the marks; True where control tokens mean themselves."""
        pieces = re.split(f"\ue0f0{self.secret}\\.([0-9]+)\ue0f1", rendered)
        for place, piece in enumerate(pieces):
            yield (self.texts[int(piece)], False) if place % 2 else (piece, True)


def quote(messages: Sequence[Message], controls: Collection[str]) -> Quoted:
    """Replace control texts by marks in all that is not the model's own."""
    words = "\n".join(message["content"] for message in messages if message["role"] in _OURS)
    present = sorted((each for each in controls if each in words), key=len, reverse=True)
    quoted = Quoted(list(messages))
    if present:
        pattern = re.compile("|".join(map(re.escape, present)))
        quoted.messages = [
            {**message, "content": pattern.sub(quoted.mark, message["content"])}
            if message["role"] in _OURS
            else message
            for message in messages
        ]
    return quoted
