"""The vocabulary in a model file's header: which id stands for which text.

Knows token texts, token types, special ids and the tail of ids that mean nothing. Does not
tokenize, and does not compare two models.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from localspec.errors import PairRefused
from localspec.pairs.cursor import AGAIN
from localspec.pairs.header import Header

NORMAL, UNUSED = 1, 5

# How converters and model makers name ids that no training text ever used.
PLACEHOLDER = re.compile(
    rb"(\[PAD\d*\]|<pad\d+>|<?\[?unused_?\d+\]?>?|<\|(reserved_special_token|extra|dummy|reserved)"
    rb"_\d+\|>|<SPECIAL_\d+>|<reserved_token_\d+>|<\|reserved_\w*\d+\|>"
    rb"|<\xef\xbd\x9cplace\xe2\x96\x81holder\xe2\x96\x81no\xe2\x96\x81\d+\xef\xbd\x9c>)"
)

SPECIAL_KEYS = {
    "bos": "tokenizer.ggml.bos_token_id",
    "eos": "tokenizer.ggml.eos_token_id",
    "eot": "tokenizer.ggml.eot_token_id",
    "pad": "tokenizer.ggml.padding_token_id",
}

# Text in a chat template that only one family of templates has.
TEMPLATE_MARKS = {
    "ChatML": "<|im_start|>",
    "Llama 3": "<|start_header_id|>",
    "Gemma 4": "<|turn>",
    "Gemma": "<start_of_turn>",
    "harmony": "<|channel|>",
    "DeepSeek": "<｜User｜>",
    "Mistral": "[INST]",
    "Phi": "<|assistant|>",
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All ids of a model; `usable` is one more than the highest id that has a text of its own."""

    kind: str
    pre: str
    texts: tuple[bytes, ...]
    types: tuple[int, ...]
    special: Mapping[str, int]
    usable: int

    def __len__(self) -> int:
        return len(self.texts)

    def means_nothing(self, token: int) -> bool:
        """Tell whether an id is padding or a reserved place that no text ever used."""
        return _means_nothing(self.texts[token], self.types[token])

    def show(self, token: int) -> str:
        """Give an id's text as a person would write it, in quotes."""
        text = self.texts[token].decode("utf-8", errors="replace")
        return repr(text.replace("Ġ", " ").replace("Ċ", "\n").replace("▁", " "))


def _means_nothing(text: bytes, kind: int) -> bool:
    if not text or kind == UNUSED:
        return True
    return kind != NORMAL and PLACEHOLDER.fullmatch(text) is not None


def read_vocabulary(header: Header) -> Vocabulary:
    """Read the vocabulary of a model file.

    Raises: PairRefused when the file carries none.
    """
    tokens = header.array("tokenizer.ggml.tokens")
    kind = header.text("tokenizer.ggml.model")
    if tokens is None or not tokens.count or not kind:
        hint = "a projector, an adapter or a bare head is not a model of its own"
        raise PairRefused(f"{header.path.name} carries no vocabulary", hint)
    texts = tuple(tokens.texts())
    types = _types(header, len(texts))
    special = {
        name: number
        for name, key in SPECIAL_KEYS.items()
        if (number := header.number(key)) is not None and number < len(texts)
    }
    return Vocabulary(
        kind, header.text("tokenizer.ggml.pre"), texts, types, special, _usable(texts, types)
    )


def _types(header: Header, count: int) -> tuple[int, ...]:
    kinds = header.array("tokenizer.ggml.token_type")
    if kinds is None:
        return (NORMAL,) * count
    if kinds.count != count:
        raise PairRefused(f"{header.path.name}: {count} tokens but {kinds.count} types", AGAIN)
    return tuple(kinds.numbers().tolist())


def _usable(texts: tuple[bytes, ...], types: tuple[int, ...]) -> int:
    for token in range(len(texts) - 1, -1, -1):
        if not _means_nothing(texts[token], types[token]):
            return token + 1
    return 0


def template_family(header: Header) -> str | None:
    """Name the family of a chat template: None without one, `other` for an unknown one."""
    template = header.text("tokenizer.chat_template")
    if not template:
        return None
    marks = (name for name, mark in TEMPLATE_MARKS.items() if mark in template)
    return next(marks, "other")
