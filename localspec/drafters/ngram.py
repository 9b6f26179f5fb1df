"""Draft from an n-gram table of the user's own texts.

Knows the table and the history. Does not know how the table was made or where it is kept.
"""

from collections.abc import Iterable

import numpy as np

from localspec.core.distribution import Distribution, point
from localspec.core.draft import Draft, DraftRequest
from localspec.core.tokens import Token, Tokens
from localspec.drafters.ngram_table import NgramTable


class NgramDrafter:
    """Guess what followed the last few tokens in the texts the table was learnt from.

    `special` ids are never proposed, and no context reaches over one. With `greedy` each law is the
    point of the likeliest id: the draft for a target that takes its own likeliest.
    """

    name = "ngram"

    def __init__(
        self, table: NgramTable, special: Iterable[Token] = (), *, greedy: bool = False
    ) -> None:
        self._table = table
        self._special = frozenset(special)
        self._barred = np.array(sorted(self._special), np.int64)
        self._greedy = greedy

    def prefill(self, history: Tokens) -> None:
        """Do nothing: the table is all there is."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draw at most `request.limit` ids; stop where the table knows nothing."""
        context = self._context(history)
        tokens: list[Token] = []
        laws: list[Distribution] = []
        while len(tokens) < request.limit:
            law = self._law(context)
            if law is None or not request.keep_going(len(tokens), law):
                break
            token = request.pick(law, len(tokens))
            tokens.append(token)
            laws.append(law)
            context = [*context, token][1 - self._table.order :]
        return Draft(tuple(tokens), tuple(laws))

    def _context(self, history: Tokens) -> list[Token]:
        """Take the last tokens, from the last special one on."""
        context: list[Token] = []
        for token in reversed(history[1 - self._table.order :].tolist()):
            if token in self._special:
                break
            context.insert(0, token)
        return context

    def _law(self, context: list[Token]) -> Distribution | None:
        """Give the law to draw from: without special ids, and a point when greedy."""
        law = self._table.law(context)
        if law is None:
            return None
        if self._greedy:
            likeliest = int(law.ids[law.probs.argmax()])
            return None if likeliest in self._special else point(likeliest)
        return _without(law, self._barred)


def _without(
    law: Distribution, barred: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Distribution | None:
    """Take ids out of a law; None when nothing is left."""
    kept = ~np.isin(law.ids, barred)
    if kept.all():
        return law
    mass = law.probs[kept].sum()
    return Distribution(law.ids[kept], law.probs[kept] / mass) if mass > 0 else None
