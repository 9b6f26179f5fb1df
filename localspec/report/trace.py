"""A trace, put together round by round while the answer is written.

Knows steps, their reasons and how tokens spell. Keeps the likeliest tokens of each law and the sum
of the others, so that a long answer stays small. Does not know how a trace is shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localspec.chat.text import TextStream
from localspec.core.distribution import Distribution
from localspec.core.events import Laws, Step
from localspec.core.explained import GuessReason, RoundReason, explain
from localspec.core.rules import RuleName
from localspec.core.tokens import Token
from localspec.report.trace_documents import TraceGuess, TraceLaw, TraceRound, TraceWritten

Piece = Callable[[Token, bool], bytes]
"""Give a token's bytes; those of control tokens, too, when the second argument says so."""

DEFAULT_TOP = 8


@dataclass
class Tracer:
    """Turn steps into rounds; `text` is the answer so far.

    `usable`: ids from there on are the draft's alone and have no text here.
    """

    piece: Piece
    rule: RuleName
    silent: frozenset[Token] = frozenset()
    usable: int | None = None
    top: int = DEFAULT_TOP
    _stream: TextStream = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._stream = TextStream(lambda token: self.piece(token, False), self.silent)

    @property
    def text(self) -> str:
        """Give the text of all rounds; half a character at its end is not in it."""
        return self._stream.text

    def round(self, step: Step, draws: Sequence[float]) -> TraceRound:
        """Describe one target pass.

        Raises: ValueError for a step that kept no laws.
        """
        reason = explain(step, self.rule, draws)
        assert step.laws is not None
        written = None if step.cut else self._written(step, step.laws, reason)
        rejected = step.accepted < step.drafted
        return TraceRound(
            position=step.position,
            drafter=step.drafter,
            way=reason.way.value,
            baseline=step.baseline,
            drafted=[self._guess(step, step.laws, reason, i) for i in range(step.drafted)],
            replacement=written if rejected else None,
            bonus=None if rejected else written,
            token_ids=list(step.tokens),
            texts=self._texts(step),
            laws=[self._law(step, step.laws, i) for i in range(len(step.tokens))],
            draft_s=step.draft_s,
            verify_s=step.verify_s,
            other_s=step.other_s,
        )

    def label(self, token: Token) -> str:
        """Spell one token; bytes that are no whole character appear as their codes."""
        if token < 0 or (self.usable is not None and token >= self.usable):
            return f"#{token}"
        return self.piece(token, True).decode("utf-8", "backslashreplace")

    def _texts(self, step: Step) -> list[str]:
        """Give the text that each token added to the answer."""
        texts = []
        for token, origin in zip(step.tokens, step.origins, strict=True):
            spans, _ = self._stream.feed((token,), (origin,))
            texts.append("".join(span.text for span in spans))
        return texts

    def _guess(self, step: Step, laws: Laws, reason: RoundReason, place: int) -> TraceGuess:
        token = step.guesses[place]
        q = laws.draft[place].prob(token)
        nothing = GuessReason(p=0.0, q=q, chance=None, draw=None)
        looked_at = place < len(reason.guesses)
        why = reason.guesses[place] if looked_at else nothing
        return TraceGuess(
            id=token,
            text=self.label(token),
            p=why.p if looked_at else None,
            q=q,
            chance=why.chance,
            draw=why.draw,
            judged=looked_at,
            accepted=place < step.accepted,
        )

    def _written(self, step: Step, laws: Laws, reason: RoundReason) -> TraceWritten:
        token = step.tokens[-1]
        return TraceWritten(
            id=token,
            text=self.label(token),
            p=laws.target[step.accepted].prob(token),
            chance=reason.source.prob(token),
            draw=reason.draw,
        )

    def _law(self, step: Step, laws: Laws, place: int) -> TraceLaw:
        """Show the likeliest tokens of p and q, and whatever was guessed or written there."""
        p = laws.target[place]
        q = laws.draft[place] if place < step.drafted else None
        must = {step.tokens[place], *step.guesses[place : place + 1]}
        ids = _shown(p, q, must, self.top)
        at = np.array(ids, np.int64)
        mine = p.probs_at(at)
        if q is None:
            return self._law_of(ids, mine, None, (1.0 - mine.sum(), None, None))
        theirs = q.probs_at(at)
        both = p.overlap(q) - np.minimum(mine, theirs).sum()
        rests = (1.0 - mine.sum(), 1.0 - theirs.sum(), both)
        return self._law_of(ids, mine, theirs, rests)

    def _law_of(
        self,
        ids: list[Token],
        p: NDArray[np.float64],
        q: NDArray[np.float64] | None,
        rests: tuple[float, float | None, float | None],
    ) -> TraceLaw:
        rest_p, rest_q, rest_both = (None if r is None else max(float(r), 0.0) for r in rests)
        return TraceLaw(
            ids=ids,
            texts=[self.label(token) for token in ids],
            p=p.tolist(),
            q=None if q is None else q.tolist(),
            rest_p=rest_p or 0.0,
            rest_q=rest_q,
            rest_both=rest_both,
        )


def _shown(p: Distribution, q: Distribution | None, must: set[Token], top: int) -> list[Token]:
    """Choose tokens: the likeliest of p, half as many of q, and the ones that must be there."""
    chosen = {*_likeliest(p, top), *must}
    if q is not None:
        chosen |= set(_likeliest(q, max(top // 2, 1)))
    return sorted(chosen, key=lambda token: (-p.prob(token), -(q.prob(token) if q else 0.0), token))


def _likeliest(law: Distribution, count: int) -> list[Token]:
    order = np.argsort(-law.probs, kind="stable")[:count]
    return [int(token) for token in law.ids[order]]
