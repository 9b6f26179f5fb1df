"""The kept chats as one long row of hidden states with the ids they wrote.

Knows shards, the reduced vocabulary and which chats are held out. Does not know torch.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localspec.errors import NotHere
from tools.train_head.generate import shard_files

Halves = NDArray[np.float16]

HELD_OUT = 20
"""One chat in so many is never trained on."""


@dataclass(frozen=True)
class Rows:
    """Answers one behind the other; row i's state wrote `ids[i]`.

    Shapes: hidden (rows, width); ids, answer and greedy (rows,). `answer` numbers the answers, so
    that nobody reads over the end of one.
    """

    hidden: Halves = field(repr=False)
    ids: NDArray[np.int64] = field(repr=False)
    answer: NDArray[np.int64] = field(repr=False)
    greedy: NDArray[np.bool_] = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Dataset:
    """What is trained on, and what is held out."""

    train: Rows
    held: Rows


def load_chats(folder: Path) -> Dataset:
    """Read every shard.

    Raises: NotHere when there is none.
    """
    files = kept_shards(folder)
    parts: dict[bool, list[Rows]] = {False: [], True: []}
    for path in files:
        for held, rows in _split(path).items():
            parts[held].append(rows)
    return Dataset(_joined(parts[False]), _joined(parts[True]))


def kept_shards(folder: Path) -> list[Path]:
    """List the shards of a folder.

    Raises: NotHere when there is none.
    """
    files = shard_files(folder)
    if not files:
        raise NotHere(f"no chats in {folder}", "write some first: leave out --only-train")
    return files


def common_ids(ids: NDArray[np.int64], count: int, size: int) -> NDArray[np.int64]:
    """Give the `count` ids written most often, ascending; ties and the rest by id."""
    seen = np.bincount(ids, minlength=size)
    return np.sort(np.argsort(-seen, kind="stable")[:count])


def _split(path: Path) -> dict[bool, Rows]:
    shard = np.load(path)
    answers, prompts = shard["answer"], shard["prompt"]
    ends = np.cumsum(prompts + answers)
    ids = np.concatenate(
        [shard["ids"][end - n : end] for end, n in zip(ends, answers, strict=True)]
    ).astype(np.int64)
    number = np.repeat(np.arange(len(answers)), answers)
    held = (shard["chat"] % HELD_OUT == 0)[number]
    greedy = (shard["temperature"] == 0)[number]
    every = Rows(shard["hidden"], ids, number, greedy)
    return {side: _chosen(every, held == side) for side in (False, True)}


def _chosen(rows: Rows, kept: NDArray[np.bool_]) -> Rows:
    return Rows(rows.hidden[kept], rows.ids[kept], rows.answer[kept], rows.greedy[kept])


def _joined(parts: list[Rows]) -> Rows:
    """Put shards together; answers keep numbers of their own."""
    offset, answers = 0, []
    for part in parts:
        answers.append(part.answer + offset)
        offset += int(part.answer.max(initial=-1)) + 1
    return Rows(
        np.concatenate([part.hidden for part in parts]),
        np.concatenate([part.ids for part in parts]),
        np.concatenate(answers),
        np.concatenate([part.greedy for part in parts]),
    )
