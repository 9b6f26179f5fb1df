"""The loop: guess, check in one pass, keep what stands. Plain decoding is the case of no guess.

Knows sequences, drafters, a judge and a policy. Does not know text, files, screens or which
drafters exist.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple, TypeVarTuple

from localspec.core.distribution import Distribution
from localspec.core.draft import (
    NO_DRAFT,
    Draft,
    Drafter,
    DraftRequest,
    Learner,
    admissible,
    is_foreign,
)
from localspec.core.events import Event, Finish, FinishReason, Laws, Notice, Origin, Prefill, Step
from localspec.core.judge import Judge, make_judge
from localspec.core.options import GenerateOptions
from localspec.core.policy import Plan, Policy
from localspec.core.rules import NO_GUESS, Guess, Verdict
from localspec.core.sampling import Sampler
from localspec.core.tokens import (
    Logits,
    Token,
    TokenBuffer,
    Tokens,
    TokenSequence,
    align,
    sync,
)
from localspec.errors import LocalspecError, OptionError

_Given = TypeVarTuple("_Given")


@dataclass
class Speculation:
    """Who guesses and who decides how much: lives as long as the conversation."""

    policy: Policy
    drafters: Sequence[Drafter] = ()
    clock: Callable[[], float] = perf_counter


def generate(
    target: TokenSequence,
    prompt: Tokens,
    options: GenerateOptions,
    *,
    speculation: Speculation,
    judge: Judge | None = None,
) -> Iterator[Event]:
    """Write an answer after `prompt`, one `Step` a target pass.

    Closing the generator at any point is safe: the next `sync` repairs both caches.
    Raises: OptionError when the prompt is empty or leaves no room for an answer.
    """
    _check_room(len(prompt), target.capacity)
    judge = judge or make_judge(options.rule, options.seed, len(prompt))
    answer = _Answer(target, options, speculation, judge, TokenBuffer(prompt))
    yield answer.prefill()
    while (reason := answer.finished()) is None:
        step = answer.round()
        if answer.notices:
            yield from answer.notices
            answer.notices.clear()
        yield step
    yield Finish(reason)


def _check_room(prompt: int, capacity: int) -> None:
    """Refuse a prompt that cannot be answered, before any work is done."""
    if prompt == 0:
        raise OptionError("the prompt is empty", "write something to answer")
    if prompt >= capacity:
        raise OptionError(
            f"the prompt has {prompt} tokens, the context holds {capacity}",
            "shorten it, or ask for a larger context with --ctx",
        )


@dataclass
class _Answer:
    """One answer being written: its history, and the parts of a round."""

    target: TokenSequence
    options: GenerateOptions
    speculation: Speculation
    judge: Judge
    history: TokenBuffer
    notices: list[Notice] = field(default_factory=list)
    _learning_s: float = 0.0

    def __post_init__(self) -> None:
        self._sampler = Sampler(self.options.sampling, self.options.usable, self.options.banned)
        self._drafters = {drafter.name: drafter for drafter in self.speculation.drafters}
        self._learners = [it for it in self.speculation.drafters if isinstance(it, Learner)]
        self._start = len(self.history)
        self._request = DraftRequest(0, self._pick)

    def prefill(self) -> Prefill:
        """Bring every cache to the prompt but for its last token, which the first round decodes."""
        clock = self.speculation.clock
        begun = clock()
        before = self.history.view[:-1]
        reused = align(self.target, before, 0)
        self.target.extend(before[reused:], 0)
        for drafter in tuple(self._drafters.values()):
            self._guarded(drafter, drafter.prefill, before)
        return Prefill(len(self.history), reused, clock() - begun)

    def finished(self) -> FinishReason | None:
        """Say why the answer is over, if it is."""
        written = len(self.history) - self._start
        if written and int(self.history.view[-1]) in self.options.ends:
            return FinishReason.STOP
        if self.options.max_tokens and written >= self.options.max_tokens:
            return FinishReason.LENGTH
        if len(self.history) >= self.target.capacity:
            return FinishReason.CONTEXT
        return None

    def round(self) -> Step:
        """Do one round: plan, draft, verify, judge, write.

        What learning takes is counted in the next round: it learns from this round's step. The
        engine's threads wait awake for the next pass for a tenth of a millisecond only, so nothing
        is built twice here, and a round without a guess goes through as little as can be.
        """
        clock = self.speculation.clock
        begun = clock()
        position = len(self.history)
        plan = self.speculation.policy.plan(position, self._room())
        draft = self._draft(plan)
        drafted_at = clock()
        readable = self._readable(draft)
        self.history.extend(readable)
        rows = sync(self.target, self.history.view, len(readable) + 1)
        verified_at = clock()
        laws = _TargetLaws(self._sampler, rows, self.history.view, position)
        guess = Guess(draft.tokens, draft.laws) if draft else NO_GUESS
        verdict = self.judge.judge(guess, laws, position)
        self._write(draft, verdict, position)
        done = clock()
        times = _Times(
            drafted_at - begun, verified_at - drafted_at, done - verified_at, plan.baseline
        )
        step = self._step(draft, verdict, laws, times)
        self._tell(step)
        self._learning_s = clock() - done
        return replace(step, laws=None) if step.laws and not self.options.keep_laws else step

    def _step(self, draft: Draft, verdict: Verdict, laws: "_TargetLaws", times: "_Times") -> Step:
        """Put the round into words: what was written, by whom, what was cut, and what it took."""
        position, judged = laws.position, min(verdict.accepted + 1, len(draft))
        written = tuple(self.history.view[position:].tolist())
        return Step(
            tokens=written,
            origins=(*(Origin.DRAFT,) * verdict.accepted, Origin.TARGET)[: len(written)],
            position=position,
            drafter=draft.drafter,
            draft_temperature=draft.temperature,
            drafted=len(draft),
            judged=judged,
            accepted=verdict.accepted,
            cut=verdict.accepted + 1 - len(written),
            draft_s=times.draft,
            verify_s=times.verify,
            other_s=times.other + self._learning_s,
            baseline=times.baseline,
            overlaps=tuple(laws(i).overlap(draft.laws[i]) for i in range(judged)) if draft else (),
            guesses=draft.tokens,
            laws=laws.kept(draft) if draft or self.options.keep_laws else None,
        )

    def _draft(self, plan: Plan) -> Draft:
        """Ask the planned drafters in turn; the first one that guesses anything is heard."""
        limit = min(plan.limit, self._room())
        if limit <= 0:
            return NO_DRAFT
        for i, name in enumerate(plan.order):
            drafter = self._drafters.get(name)
            if drafter is None:
                continue
            most = min(limit, plan.limits[i]) if plan.limits else limit
            request = self._requested(most)
            draft = self._guarded(drafter, drafter.propose, self.history.view, request)
            if draft and (draft := self._admissible(draft, most, name)):
                return draft
        return NO_DRAFT

    def _requested(self, limit: int) -> DraftRequest:
        """Give the request for at most `limit` tokens, the one of the last round if it fits."""
        if self._request.limit != limit:
            policy = self.speculation.policy
            self._request = DraftRequest(limit, self._pick, policy.keep_going, policy.worth_looking)
        return self._request

    def _pick(self, law: Distribution, i: int) -> Token:
        """Draw drafted token number `i` after the history."""
        return self.judge.pick(law, len(self.history) + i)

    def _admissible(self, draft: Draft, limit: int, name: str) -> Draft:
        """Keep what may be judged of a drafter's guess."""
        usable, ends = self.options.usable, self.options.ends
        return admissible(replace(draft, drafter=name), limit=limit, usable=usable, ends=ends)

    def _readable(self, draft: Draft) -> tuple[Token, ...]:
        """Give the drafted ids that the target can decode: all but a foreign last one."""
        if draft and is_foreign(draft.tokens[-1], self.options.usable):
            return draft.tokens[:-1]
        return draft.tokens

    def _guarded(
        self, drafter: Drafter, call: Callable[[*_Given], Draft | None], *given: *_Given
    ) -> Draft | None:
        """Run a drafter; one that fails is out for this answer, said once, and the text goes on."""
        try:
            return call(*given)
        except LocalspecError as failure:
            self._drafters.pop(drafter.name, None)
            self.notices.append(Notice(f"drafter {drafter.name} is off: {failure.message}"))
            return None

    def _write(self, draft: Draft, verdict: Verdict, position: int) -> None:
        """Make what stays the history, up to an end of text."""
        kept = (*draft.tokens[: verdict.accepted], verdict.following)
        if not self.options.ends.isdisjoint(kept):
            kept = kept[: next(i for i, t in enumerate(kept, 1) if t in self.options.ends)]
        self.history.truncate(position)
        self.history.extend(kept)

    def _tell(self, step: Step) -> None:
        """Let policy and drafters learn; they see the laws, which are not kept unless asked for."""
        self.speculation.policy.observe(step)
        for drafter in self._learners:
            if drafter.name in self._drafters:
                self._guarded(drafter, drafter.observe, step)

    def _room(self) -> int:
        """Count the tokens that may be drafted: the pass itself writes one more."""
        room = self.target.capacity - len(self.history) - 1
        if self.options.max_tokens:
            written = len(self.history) - self._start
            room = min(room, self.options.max_tokens - written - 1)
        return room


class _Times(NamedTuple):
    """What a round took, in seconds, and if it was to measure plain decoding."""

    draft: float
    verify: float
    other: float
    baseline: bool


class _TargetLaws:
    """The target's laws after each drafted token, each computed when first asked for."""

    def __init__(self, sampler: Sampler, rows: Logits, drafted: Tokens, position: int) -> None:
        self._sampler = sampler
        self._rows = rows
        self._drafted = drafted
        self.position = position
        self._known: dict[int, Distribution] = {}

    def __call__(self, i: int) -> Distribution:
        """Give the law after `i` drafted tokens; penalties see those tokens too."""
        if i not in self._known:
            before = self._drafted[: self.position + i]
            self._known[i] = self._sampler.distribution(self._rows[i], before)
        return self._known[i]

    def kept(self, draft: Draft) -> Laws:
        """Give the laws that were looked at, and all of the draft's."""
        return Laws(tuple(self._known[i] for i in sorted(self._known)), draft.laws)
