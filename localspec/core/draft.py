"""What a drafter is: a function from the token history to a guess with its probabilities.

Knows the protocols. Does not know any drafter.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from localspec.core.distribution import Distribution, point
from localspec.core.tokens import Token, Tokens

if TYPE_CHECKING:
    from localspec.core.events import Step

Pick = Callable[[Distribution, int], Token]
"""Draw drafted token number `i` (from 0) from its law."""

KeepGoing = Callable[[int, Distribution], bool]
"""Say, before the draw, whether to draft number `i` (from 0) whose law is known."""

WorthLooking = Callable[[int], bool]
"""Say, before its pass is paid for, whether the law of number `i` is worth knowing."""


@dataclass(frozen=True)
class Draft:
    """Drafted ids, each with the very law it was drawn from.

    A deterministic drafter gives point masses. `drafter` is filled in by the loop. `temperature`
    is that of `tempering`, 1 where the laws are the drafter's own.
    """

    tokens: tuple[Token, ...] = ()
    laws: tuple[Distribution, ...] = field(default=(), repr=False)
    drafter: str = ""
    temperature: float = 1.0

    def __len__(self) -> int:
        return len(self.tokens)


NO_DRAFT = Draft()


def admissible(
    draft: Draft, *, limit: int, usable: int | None, ends: Collection[Token] = ()
) -> Draft:
    """Cut a draft down to what can be judged, so that no drafter can break a text.

    An end of text, or an id that the target lacks, is the last of the draft and stays in it: a
    drawn id must be judged. The p of a foreign id is 0, so the rules reject it and draw from the
    right residual. Laws that cannot have given their ids are replaced by points, which is exact
    for a guess of any origin.
    """
    tokens = draft.tokens[: max(limit, 0)]
    last = (i for i, token in enumerate(tokens, 1) if token in ends or is_foreign(token, usable))
    length = next(last, len(tokens))
    tokens, laws = tokens[:length], draft.laws[:length]
    honest = len(laws) == len(tokens) and all(
        law.prob(token) > 0 for token, law in zip(tokens, laws, strict=True)
    )
    if honest and length == len(draft) == len(draft.laws):
        return draft
    laws = laws if honest else tuple(point(t) for t in tokens)
    return replace(draft, tokens=tokens, laws=laws)


def is_foreign(token: Token, usable: int | None) -> bool:
    """Say whether the target cannot read an id: one without text, or of another vocabulary."""
    return token < 0 or (usable is not None and token >= usable)


@dataclass(frozen=True)
class DraftRequest:
    """How much to draft, how to draw, and when to stop early.

    `worth_looking` may be asked before each draft pass but the first, `keep_going` after it.
    """

    limit: int
    pick: Pick
    keep_going: KeepGoing = field(default=lambda _i, _law: True)
    worth_looking: WorthLooking = field(default=lambda _i: True)


class Drafter(Protocol):
    """Guess the tokens after a history. Same history and same draws, same draft.

    One that is a `Learner` too may learn from the answer so far.
    """

    @property
    def name(self) -> str:
        """Give the name used in options, counters and reports."""
        ...

    def prefill(self, history: Tokens) -> None:
        """Take the prompt in, so that the first proposal costs no more than any other."""
        ...

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Guess at most `request.limit` ids, perhaps none."""
        ...


@runtime_checkable
class Learner(Protocol):
    """A drafter whose drafts depend on more than the history: it is told of every round."""

    def observe(self, step: "Step") -> None:
        """Learn what the target made of the last proposal."""
        ...
