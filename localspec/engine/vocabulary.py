"""The tokens of one model: texts, bytes, the ids that may be emitted, and what ends an answer.

Knows ids and bytes. Does not know chat templates, nor how bytes become a stream of characters.
"""

import ctypes
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress, repeat
from typing import Any

import numpy as np

from localspec.core.tokens import Token
from localspec.engine import library

_UNUSED = 1 << 1  # LLAMA_TOKEN_ATTR_UNUSED
_CONTROL = 1 << 3  # LLAMA_TOKEN_ATTR_CONTROL
_SPECIAL = 1 << 3 | 1 << 4  # LLAMA_TOKEN_ATTR_CONTROL, _USER_DEFINED
_EMPTY = b"[EMPTY_"  # what the engine writes in place of an empty text
_LONGEST_INPUT = 2**31 - 1


@dataclass(frozen=True)
class _Scan:
    """One walk over all ids, since each needs a call into the engine."""

    usable: int
    banned: frozenset[Token]
    eog: frozenset[Token]
    control: frozenset[Token]


class Vocabulary:
    """Turn text into ids and ids into bytes, as the model's own header says."""

    def __init__(self, model: int) -> None:
        binding = library.load()
        self._handle: int = binding.llama_model_get_vocab(model)
        self._pieces: dict[tuple[Token, bool], bytes] = {}
        self.size: int = binding.llama_vocab_n_tokens(self._handle)
        self.bos = _id(binding.llama_vocab_bos(self._handle))
        self.eos = _id(binding.llama_vocab_eos(self._handle))
        self.eot = _id(binding.llama_vocab_eot(self._handle))
        self.add_bos: bool = binding.llama_vocab_get_add_bos(self._handle)

    @property
    def usable(self) -> int:
        """Give the highest id that has a real text, plus one; nothing beyond may be emitted."""
        return self._scan.usable

    @property
    def banned(self) -> frozenset[Token]:
        """Give the ids below `usable` that have no text of their own and may not be emitted."""
        return self._scan.banned

    @property
    def eog(self) -> frozenset[Token]:
        """Give every id that ends an answer: end of text, of turn, of message."""
        return self._scan.eog

    @property
    def control(self) -> frozenset[Token]:
        """Give the ids that stand for no text of a conversation: role marks and their like."""
        return self._scan.control

    @functools.cached_property
    def _scan(self) -> _Scan:
        every = range(self.size)

        def ask(name: str, result: Any, ids: Iterable[Token] = every) -> Iterator[Any]:
            return map(library.llama(name, result, *_TOKEN), repeat(self._handle), ids)

        attributes = np.fromiter(ask("llama_vocab_get_attr", ctypes.c_int), np.int32, self.size)
        # Whatever ends an answer is marked special in the header, or by the engine when it loads.
        marked = [*np.flatnonzero(attributes & _SPECIAL).tolist(), *self._ends()]
        eog = frozenset(compress(marked, ask("llama_vocab_is_eog", ctypes.c_bool, marked)))
        texts = ask("llama_vocab_get_text", ctypes.c_char_p)
        textless = {t for t, text in enumerate(texts) if not text or text.startswith(_EMPTY)}
        textless.update(np.flatnonzero(attributes & _UNUSED).tolist())
        without = frozenset(textless) - eog
        usable = next((t + 1 for t in reversed(every) if t not in without), 0)
        control = frozenset(np.flatnonzero(attributes & _CONTROL).tolist())
        return _Scan(usable, frozenset(t for t in without if t < usable), eog, control)

    def _ends(self) -> list[Token]:
        return [token for token in (self.eos, self.eot) if token is not None]

    @functools.cached_property
    def control_texts(self) -> frozenset[str]:
        """Give the texts that become control tokens where a template writes them."""
        return frozenset(filter(None, map(self.text, self.control)))

    def text(self, token: Token) -> str:
        """Give the text the header stores for an id, byte marks and all."""
        self._check(token)
        stored = library.llama("llama_vocab_get_text", ctypes.c_char_p, *_TOKEN)
        value: bytes = stored(self._handle, token) or b""
        return value.decode("utf-8", "replace")

    def piece(self, token: Token, special: bool = False) -> bytes:
        """Give the bytes an id stands for; a control token gives none unless `special`."""
        found = self._pieces.get((token, special))
        if found is None:
            self._check(token)
            found = self._pieces[token, special] = self._render(token, special)
        return found

    def detokenize(self, tokens: Iterable[Token], special: bool = False) -> bytes:
        """Join the bytes of several ids."""
        return b"".join(self.piece(int(token), special) for token in tokens)

    def tokenize(self, text: str, *, special: bool, bos: bool) -> list[Token]:
        """Turn text into ids.

        With `special` the text of control tokens becomes these tokens. With `bos` the header's
        wish is honoured: exactly one BOS in front if it asks for one, none added if it does not.
        Lone surrogates become U+FFFD.
        """
        ids = self._encode(_utf8(text), special)
        return self.with_bos(ids) if bos else ids

    def with_bos(self, ids: list[Token]) -> list[Token]:
        """Give ids that start with exactly as many BOS as the header asks for, never two."""
        if self.bos is None:
            return ids
        start = 0
        while start < len(ids) and ids[start] == self.bos:
            start += 1
        wanted = 1 if self.add_bos else min(start, 1)
        return [self.bos] * wanted + ids[start:]

    def _encode(self, data: bytes, special: bool) -> list[Token]:
        if not data:
            return []
        if len(data) > _LONGEST_INPUT:
            raise ValueError(f"a text of {len(data):,} bytes is too long to tokenise")
        # Never more tokens than bytes in practice; the engine says how many when it needs more.
        room = len(data) + 16
        count, buffer = self._encode_into(data, special, room)
        if count < 0:
            count, buffer = self._encode_into(data, special, -count)
        ids: list[Token] = buffer[:count]
        return ids

    def _encode_into(self, data: bytes, special: bool, room: int) -> tuple[int, Any]:
        buffer = (ctypes.c_int32 * room)()
        tokenize = library.load().llama_tokenize
        count: int = tokenize(self._handle, data, len(data), buffer, room, False, special)
        return count, buffer

    def _render(self, token: Token, special: bool) -> bytes:
        buffer = ctypes.create_string_buffer(64)
        render = library.load().llama_token_to_piece
        length: int = render(self._handle, token, buffer, len(buffer), 0, special)
        if length < 0:
            buffer = ctypes.create_string_buffer(-length)
            length = render(self._handle, token, buffer, len(buffer), 0, special)
        return buffer.raw[:length]

    def _check(self, token: Token) -> None:
        if not 0 <= token < self.size:
            raise ValueError(f"no token {token} in a vocabulary of {self.size}")


_TOKEN = (ctypes.c_void_p, ctypes.c_int32)


def _utf8(text: str) -> bytes:
    """Encode, with U+FFFD for half a character (a lone surrogate has no UTF-8)."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _id(value: int) -> Token | None:
    return value if value >= 0 else None
