"""A conversation with a pair: a message in; rounds, text and finally a reply out.

Knows turns, text and counters. Does not know screens; an interrupted answer is kept as far as it
was said, and one of which nothing was said leaves no trace.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

from localspec.chat.conversation import Conversation, PromptBuilder
from localspec.chat.partners import Runtime
from localspec.chat.text import Span, TextStream
from localspec.core.events import Event, Finish, FinishReason, Notice, Prefill, Step
from localspec.core.tally import Tally
from localspec.core.tokens import Tokens
from localspec.errors import LocalspecError, OptionError


@dataclass(frozen=True)
class Reply:
    """A whole answer. `invalid` counts U+FFFD shown for bytes that were no UTF-8."""

    text: str
    finish: FinishReason
    tally: Tally
    invalid: int = 0


@dataclass(frozen=True)
class Comparison:
    """The last prompt answered twice; `first_difference` is a place in the answer, from 0."""

    speculative: Reply
    plain: Reply
    first_difference: int | None

    @property
    def identical(self) -> bool:
        """Say whether both wrote the same ids."""
        return self.first_difference is None

    @property
    def speedup(self) -> float | None:
        """Give plain seconds per token over speculative ones."""
        ours, plain = self.speculative.tally.tokens_per_s, self.plain.tally.tokens_per_s
        return ours / plain if ours and plain else None


@dataclass(frozen=True)
class Begun:
    """An answer begins; its counters are up to date whenever another event comes."""

    tally: Tally


@dataclass(frozen=True)
class Said:
    """What a round, or the end of the answer, added to the text; comes before its `Step`."""

    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        """Give the text without its origins."""
        return "".join(span.text for span in self.spans)


ReplyEvent = Begun | Prefill | Notice | Said | Step | Reply


@dataclass
class ChatSession:
    """Talk through a pair; `last` is the reply given last, however it ended."""

    runtime: Runtime
    conversation: Conversation = field(default_factory=Conversation)
    stops: Sequence[str] = ()
    last: Reply | None = None
    last_prompt: str = ""
    _asked: Tokens | None = field(default=None, repr=False)

    def reply(self, text: str) -> Iterator[ReplyEvent]:
        """Answer a message: rounds and their text as they come, the `Reply` last.

        Closing the generator is an interruption: what was said is kept.
        Raises: OptionError when the message is empty or does not fit; no turn is left then.
        """
        if not text.strip():
            raise OptionError("the message is empty", "write something to answer")
        self.last_prompt = text
        self.conversation.ask(text)
        answer = _Answer(self.runtime, self.stops)
        try:
            prompt = yield from self._prepare()
            yield from answer.run(prompt)
        finally:
            self._keep(answer)

    def again(self) -> Iterator[ReplyEvent]:
        """Answer the last message once more, with the next seed.

        Raises: OptionError when nothing was asked yet.
        """
        if not self.last_prompt:
            raise OptionError("nothing was asked yet")
        turns = self.conversation.turns
        if turns and turns[-1].prompt == self.last_prompt:
            self.conversation.undo()
        self.runtime.seed += 1
        return self.reply(self.last_prompt)

    def compare(self) -> Iterator[Step | Comparison]:
        """Answer the last prompt again without a draft: rounds, then the `Comparison`.

        Plain decoding is stopped after as many tokens; the conversation stays as it is.
        Raises: OptionError when there is no answer to compare with.
        """
        ours = self.last
        if ours is None or self._asked is None or not ours.tally.emitted:
            raise OptionError("nothing was answered yet", "ask something first")
        answer = _Answer(self.runtime, self.stops, plain=True, limit=ours.tally.emitted)
        for event in answer.run(self._asked):
            if isinstance(event, Step):
                yield event
            elif isinstance(event, Reply) and event.finish is not FinishReason.INTERRUPTED:
                yield Comparison(ours, event, first_difference(ours, event))

    def clear(self) -> None:
        """Begin a new conversation with the same system prompt."""
        self.conversation.clear()
        self.last, self._asked, self.last_prompt = None, None, ""

    def load(self, conversation: Conversation) -> None:
        """Take up a saved conversation; caches find their way from its text."""
        self.clear()
        self.conversation = conversation
        self.last_prompt = conversation.turns[-1].prompt if conversation.turns else ""

    def _prepare(self) -> Generator[Notice, None, Tokens]:
        """Make the prompt, and say aloud what the user would not expect of it."""
        runtime = self.runtime
        builder = PromptBuilder(runtime.vocabulary, runtime.template, runtime.capacity)
        self._asked, dropped = builder.fit(self.conversation, runtime.settings.max_tokens)
        if dropped:
            turns = "the oldest turn is" if dropped == 1 else f"the {dropped} oldest turns are"
            yield Notice(
                f"the context is full: {turns} no longer sent "
                f"({len(self._asked):,} of {runtime.capacity:,} tokens in use now)"
            )
        return self._asked

    def _keep(self, answer: "_Answer") -> None:
        """Make what was said the answer; forget a turn of which nothing was said."""
        finish = answer.finish or FinishReason.INTERRUPTED
        if answer.begun:
            self.last = answer.reply(finish)
        if answer.stream.text or finish is not FinishReason.INTERRUPTED:
            self.conversation.answer(answer.stream.text)
        else:
            self.conversation.undo()


@dataclass
class _Answer:
    """One answer being written: its text and its counters."""

    runtime: Runtime
    stops: Sequence[str] = ()
    plain: bool = False
    limit: int = 0

    def __post_init__(self) -> None:
        vocabulary = self.runtime.vocabulary
        self.stream = TextStream(vocabulary.piece, vocabulary.eog, self.stops)
        self.tally = Tally(baseline=self.runtime.baseline)
        self.finish: FinishReason | None = None
        self.begun = False

    def reply(self, finish: FinishReason) -> Reply:
        """Give the answer as far as it came."""
        return Reply(self.stream.text, finish, self.tally, self.stream.invalid)

    def run(self, prompt: Tokens) -> Iterator[ReplyEvent]:
        """Write; a cancelled prefill or round ends the answer without an error."""
        try:
            # From this call on `cancel` counts: who pressed before may set it again at `Begun`.
            events = self.runtime.generate(prompt, plain=self.plain)
            self.begun = True
            yield Begun(self.tally)
            yield from self._until_finished(events)
        except (KeyboardInterrupt, LocalspecError) as failure:
            if isinstance(failure, LocalspecError) and not self.runtime.cancel.is_set():
                raise
            self.finish = FinishReason.INTERRUPTED
        if rest := self.stream.flush():
            yield Said(rest)
        yield self.reply(self.finish or FinishReason.INTERRUPTED)

    def _until_finished(self, events: Iterator[Event]) -> Iterator[ReplyEvent]:
        for event in events:
            if isinstance(event, Finish):
                self.finish = event.reason
            elif isinstance(event, Step):
                yield from self._step(event)
            else:
                self.tally.add(event)
                yield event
            if self.finish is None and self.runtime.cancel.is_set():
                self.finish = FinishReason.INTERRUPTED
            if self.finish is not None:
                return

    def _step(self, step: Step) -> Iterator[ReplyEvent]:
        """Take a round in: the earliest event in it wins, a stop string before its limit."""
        self.tally.add(step)
        spans, behind = self.stream.feed(step.tokens, step.origins)
        self.tally.drop_last(behind)
        if self.stream.stopped:
            self.finish = FinishReason.STOP
        elif self.limit and self.tally.emitted >= self.limit:
            self.tally.drop_last(self.tally.emitted - self.limit)
            self.finish = FinishReason.LENGTH
        if spans:
            yield Said(spans)
        yield step


def first_difference(left: Reply, right: Reply) -> int | None:
    """Give the first place where two answers' ids differ; None when they are the same."""
    ours, theirs = left.tally.tokens, right.tally.tokens
    if ours == theirs:
        return None
    return next(
        (place for place, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]),
        min(len(ours), len(theirs)),
    )
