"""Let the target write chats, many at a time, and keep every token with its hidden state.

Resumable: chats are numbered, each is drawn from its own stream of the seed, and finished ones are
kept in shards. An answer ends where it starts to loop: a small model would fill the data with it.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from localspec.core.sampling import Sampler, SamplingParams
from localspec.engine import Model
from localspec.engine.template import ChatTemplate
from localspec.errors import PairRefused
from localspec.measure.loops import loop_start
from tools.train_head.chats import Phrases
from tools.train_head.parallel import ParallelContext

GREEDY, COOL, WARM = 0.0, 0.4, 0.8
MIX = ((0.45, GREEDY), (0.70, COOL), (1.0, WARM))
INVENTION = SamplingParams(temperature=1.0, top_k=60, top_p=1.0, min_p=0.0)
QUESTION_TOKENS = 96
SHARD = 64
LOOK_EVERY = 8
WINDOW, STALE = 48, 0.8
MARK = "\u2045here\u2046"


@dataclass(frozen=True)
class Plan:
    """How much to write, and how. Units: `seconds` of this call; 0 has no limit."""

    seed: int = 0
    chats: int = 10**9
    seconds: float = 0.0
    slots: int = 32
    room: int = 768
    answer_tokens: int = 320
    threads: int = 1


@dataclass(frozen=True)
class Ask:
    """A prompt to be continued, and the law its continuation is drawn from."""

    prompt: list[int]
    law: SamplingParams
    limit: int


@dataclass(frozen=True)
class Reply:
    """What was written after a prompt; `hidden` row i is the state that wrote `ids[i]`."""

    ids: list[int]
    hidden: NDArray[np.float16] = field(repr=False)


@dataclass(frozen=True)
class Record:
    """One answer for training; `greedy` ones stand for what temperature 0 writes."""

    chat: int
    prompt: list[int]
    reply: Reply
    temperature: float


Chat = Generator[Ask, Reply, None]


class Writer:
    """Chats over one loaded target."""

    def __init__(self, model: Model, template: ChatTemplate, plan: Plan) -> None:
        self._model, self._template, self._plan = model, template, plan
        self._phrases = Phrases()
        vocabulary = model.vocabulary
        self._banned = tuple(sorted(vocabulary.banned))
        self._blank = self._before_question()

    def chat(self, number: int, kept: list[Record]) -> Chat:
        """Play one chat; what it says of use goes to `kept`."""
        rng = np.random.default_rng([self._plan.seed, number])
        question = self._phrases.opening(rng)
        if question is None:
            invented = yield Ask(self._blank, INVENTION, QUESTION_TOKENS)
            question = self._text(invented.ids)
        turns = [{"role": "user", "content": question}]
        for _turn in range(2):
            prompt = self._template.prompt_ids(self._model.vocabulary, turns)
            if not question.strip() or len(prompt) + 16 > self._plan.room:
                return
            u = rng.random()
            temperature = next(value for share, value in MIX if u < share)
            law = SamplingParams(temperature=temperature, min_p=0.0)
            limit = min(self._plan.answer_tokens, self._plan.room - len(prompt) - 1)
            reply = yield Ask(prompt, law, limit)
            if len(reply.ids) >= 4:
                kept.append(Record(number, prompt, reply, temperature))
            follow = self._phrases.follow_up(rng)
            if follow is None:
                return
            turns += [{"role": "assistant", "content": self._text(reply.ids)}]
            turns += [{"role": "user", "content": follow}]

    def ends(self, ids: list[int]) -> bool:
        """Say whether an answer is over."""
        return bool(ids) and ids[-1] in self._model.vocabulary.eog

    def sampler(self, law: SamplingParams) -> Sampler:
        """Give the law's transforms over this vocabulary."""
        return Sampler(law, self._model.vocabulary.usable, self._banned)

    def _text(self, ids: list[int]) -> str:
        return self._model.vocabulary.detokenize(ids).decode("utf-8", "replace").strip()

    def _before_question(self) -> list[int]:
        """Give the ids that stand before a user's words, where the target makes up a question."""
        text = self._template.render([{"role": "user", "content": MARK}])
        before = text.partition(MARK)[0]
        vocabulary = self._model.vocabulary
        return vocabulary.with_bos(vocabulary.tokenize(before, special=True, bos=False))


@dataclass
class _Slot:
    """One chat under way: what it asked last, and what has been written after it."""

    number: int
    chat: Chat
    ask: Ask
    rng: np.random.Generator
    sampler: Sampler
    kept: list[Record]
    ids: list[int] = field(default_factory=list)
    hidden: list[NDArray[np.float16]] = field(default_factory=list)

    @property
    def next_row(self) -> tuple[int, int]:
        """Give position and id of the token to decode next."""
        history = len(self.ask.prompt) + len(self.ids)
        return history - 1, (self.ids or self.ask.prompt)[-1]


def write_chats(writer: Writer, context: ParallelContext, folder: Path, plan: Plan) -> int:
    """Write chats until the plan is fulfilled; give the number of chats that are kept now."""
    shards = Shards(folder)
    numbers = (n for n in range(plan.chats) if n not in shards.done)
    slots: dict[int, _Slot] = {}
    end = monotonic() + plan.seconds if plan.seconds else None
    running = True
    while running or slots:
        stopping = end is not None and monotonic() > end
        if stopping:
            break
        for slot in range(plan.slots):
            if running and slot not in slots:
                opened = _open(writer, numbers, context, slot)
                running = opened is not None
                if opened:
                    slots[slot] = opened
        _advance(writer, context, slots, shards)
    shards.flush()
    return len(shards.done)


def _open(
    writer: Writer, numbers: Iterator[int], context: ParallelContext, slot: int
) -> _Slot | None:
    for number in numbers:
        kept: list[Record] = []
        chat = writer.chat(number, kept)
        ask = next(chat, None)
        if ask is not None:
            rng = np.random.default_rng([writer._plan.seed, number, 1])
            context.restart(slot, ask.prompt[:-1])
            return _Slot(number, chat, ask, rng, writer.sampler(ask.law), kept)
    return None


def _advance(
    writer: Writer, context: ParallelContext, slots: dict[int, _Slot], shards: "Shards"
) -> None:
    """Write one token in every slot."""
    if not slots:
        return
    order = list(slots)
    rows = context.step([(slot, *slots[slot].next_row) for slot in order])
    for i, slot in enumerate(order):
        state = slots[slot]
        history = np.array([*state.ask.prompt, *state.ids], np.int32)
        law = state.sampler.distribution(rows.logits[i], history)
        state.hidden.append(rows.hidden[i].astype(np.float16))
        state.ids.append(law.sample(state.rng.random()))
        if not _finished(writer, state):
            continue
        if not _follow(writer, context, slot, state):
            shards.add(state.number, state.kept)
            del slots[slot]


def _finished(writer: Writer, state: _Slot) -> bool:
    if writer.ends(state.ids) or len(state.ids) >= state.ask.limit:
        return True
    if len(state.ids) % LOOK_EVERY:
        return False
    kept = loop_start(state.ids)
    if kept is None and not _stale(state.ids):
        return False
    del state.ids[kept or len(state.ids) :], state.hidden[kept or len(state.ids) :]
    return True


def _stale(ids: list[int]) -> bool:
    """Say whether hardly anything in the last tokens is new: a loop with small changes."""
    if len(ids) < 2 * WINDOW:
        return False
    grams = [tuple(ids[i : i + 4]) for i in range(len(ids) - 3)]
    before = set(grams[:-WINDOW])
    return sum(gram in before for gram in grams[-WINDOW:]) >= STALE * WINDOW


def _follow(writer: Writer, context: ParallelContext, slot: int, state: _Slot) -> bool:
    """Hand an answer to its chat; take on what it asks next, if anything."""
    reply = Reply(state.ids, np.stack(state.hidden) if state.hidden else np.empty((0, 0)))
    try:
        ask = state.chat.send(reply)
    except StopIteration:
        return False
    state.ask, state.sampler = ask, writer.sampler(ask.law)
    state.ids, state.hidden = [], []
    context.restart(slot, ask.prompt[:-1])
    return True


class Shards:
    """Finished chats on disk, some dozens a file; a file appears whole or not at all."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._waiting: dict[int, list[Record]] = {}
        self.done = {int(n) for path in shard_files(folder) for n in np.load(path)["chats"]}

    def add(self, number: int, records: list[Record]) -> None:
        """Keep a chat."""
        self._waiting[number] = records
        self.done.add(number)
        if len(self._waiting) >= SHARD:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        records = [record for kept in self._waiting.values() for record in kept]
        if not records:
            return
        path = self._folder / f"chats-{len(shard_files(self._folder)):05d}.npz"
        temporary = path.with_suffix(".part.npz")
        np.savez(
            temporary,
            chats=np.array(list(self._waiting), np.int64),
            chat=np.array([r.chat for r in records], np.int64),
            temperature=np.array([r.temperature for r in records], np.float32),
            prompt=np.array([len(r.prompt) for r in records], np.int64),
            answer=np.array([len(r.reply.ids) for r in records], np.int64),
            ids=np.concatenate([np.array([*r.prompt, *r.reply.ids], np.int32) for r in records]),
            hidden=np.concatenate([r.reply.hidden for r in records]),
        )
        temporary.replace(path)
        self._waiting.clear()


def shard_files(folder: Path) -> list[Path]:
    """List the finished shards."""
    return sorted(p for p in folder.glob("chats-*.npz") if not p.name.endswith(".part.npz"))


def open_and_write(target: Path, folder: Path, plan: Plan) -> int:
    """Load the target and write chats after the plan.

    Raises: PairRefused for a target without a chat template.
    """
    with Model.load(target) as model:
        template = ChatTemplate.of(model)
        if template is None:
            raise PairRefused(f"{target.name} has no chat template, so it cannot chat")
        with (
            template,
            ParallelContext(model, plan.slots, plan.room, threads=plan.threads) as context,
        ):
            return write_chats(Writer(model, template, plan), context, folder, plan)
