"""Stretches of chats as an EAGLE-3 head reads them: pairs of a token and the state before it.

At place p of a chat stand token p + 1 and the states behind token p; what is to be guessed is token
p + 2, by the law that the target had for it. Knows shards and held-out chats. Does not know torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localspec.errors import NotHere
from tools.train_head.dataset import HELD_OUT, Halves, kept_shards
from tools.train_head.states import states_file


@dataclass(frozen=True)
class Windows:
    """Some stretches of equal length, side by side.

    Shapes: tokens and answers (windows, span); states (windows, span, 3 * width) and hidden
    (windows, span, width). `answers` is the token to be guessed, or -1 where none was written by
    the target; `hidden` is the state that wrote it.
    """

    tokens: NDArray[np.int64]
    states: Halves = field(repr=False)
    answers: NDArray[np.int64]
    hidden: Halves = field(repr=False)


@dataclass(frozen=True)
class Chat:
    """A prompt and its answer in a shard: where they begin and end, and the answer's states."""

    shard: int
    begin: int
    prompt: int
    answer: int
    hidden: int
    greedy: bool

    @property
    def places(self) -> int:
        """Give the number of pairs with something to guess after them."""
        return self.prompt + self.answer - 2


@dataclass(frozen=True)
class _Shard:
    ids: NDArray[np.int64]
    states: Halves
    hidden: Halves


class Chats:
    """All kept chats with their states, which stay on the disk until they are read.

    Raises: NotHere when there is none.
    """

    def __init__(self, folder: Path, layers: tuple[int, ...]) -> None:
        self._shards: list[_Shard] = []
        self.train: list[Chat] = []
        self.held: list[Chat] = []
        for number, path in enumerate(kept_shards(folder)):
            self._read(number, path, layers)
        if not self.train:
            raise NotHere(f"too few chats in {folder} to train on", "write more: --chats")
        self._ends = np.cumsum([chat.answer for chat in self.train])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def trained_ids(self) -> NDArray[np.int64]:
        """Give all ids of answers that are trained on."""
        return np.concatenate([self._answer(chat) for chat in self.train])

    def used_ids(self) -> NDArray[np.int64]:
        """Give every id that stands in a chat, ascending."""
        return np.unique(np.concatenate([shard.ids for shard in self._shards]))

    def draw(self, rng: np.random.Generator, count: int, span: int) -> Windows:
        """Draw stretches of chats to train on; every token of an answer is as likely as another."""
        rows = rng.integers(0, len(self), count)
        back = rng.integers(0, span, count)
        picked = np.searchsorted(self._ends, rows, side="right")
        chats = [self.train[i] for i in picked]
        within = rows - self._ends[picked] + [chat.answer for chat in chats]
        starts = [
            chat.prompt + int(inside) - 2 - int(before)
            for chat, inside, before in zip(chats, within, back, strict=True)
        ]
        return self._windows(chats, starts, span)

    def first(self, chats: Sequence[Chat], span: int) -> Windows:
        """Give the beginning of each answer, with the end of its prompt before it."""
        return self._windows(chats, [chat.prompt - 2 - span // 2 for chat in chats], span)

    def _windows(self, chats: Sequence[Chat], starts: Sequence[int], span: int) -> Windows:
        each = [
            self._window(chat, min(max(start, 0), max(chat.places - span, 0)), span)
            for chat, start in zip(chats, starts, strict=True)
        ]
        return Windows(*(np.stack(part) for part in zip(*each, strict=True)))

    def _window(self, chat: Chat, start: int, span: int) -> tuple[NDArray[np.generic], ...]:
        """Cut one stretch out; what lies behind the chat's end is zeros with nothing to guess."""
        shard, count = self._shards[chat.shard], min(span, chat.places - start)
        at = chat.begin + start
        answers = shard.ids[at + 2 : at + 2 + count].copy()
        wrote = np.arange(start + 2, start + 2 + count) - chat.prompt
        answers[wrote < 0] = -1
        hidden = shard.hidden[chat.hidden + np.maximum(wrote, 0)]
        parts = (shard.ids[at + 1 : at + 1 + count], shard.states[at : at + count], answers, hidden)
        return tuple(
            _filled(part, span, fill) for part, fill in zip(parts, (0, 0, -1, 0), strict=True)
        )

    def _read(self, number: int, path: Path, layers: tuple[int, ...]) -> None:
        with np.load(path) as found:
            stored = {name: found[name] for name in found.files}
        states = np.load(states_file(path, layers), mmap_mode="r")
        self._shards.append(_Shard(stored["ids"].astype(np.int64), states, stored["hidden"]))
        begin = hidden = 0
        for i, chat in enumerate(stored["chat"].tolist()):
            prompt, answer = int(stored["prompt"][i]), int(stored["answer"][i])
            greedy = bool(stored["temperature"][i] == 0)
            side = self.train if chat % HELD_OUT else self.held
            side.append(Chat(number, begin, prompt, answer, hidden, greedy))
            begin, hidden = begin + prompt + answer, hidden + answer

    def _answer(self, chat: Chat) -> NDArray[np.int64]:
        at = chat.begin + chat.prompt
        return self._shards[chat.shard].ids[at : at + chat.answer]


def _filled(part: NDArray[np.generic], span: int, fill: int) -> NDArray[np.generic]:
    full = np.full((span, *part.shape[1:]), fill, part.dtype)
    full[: len(part)] = part
    return full
