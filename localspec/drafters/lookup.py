"""Prompt lookup: the text so far stood here before, so it may go on as it did then.

Where the answer rewrites an older text, the words it replaces are replaced in the copy as well.

Knows the history and texts the answer may resemble. Does not know the model, the files the texts
came from, or what a token means; it is told which ids end a proposal.

Source: Saxena, "Prompt lookup decoding", 2023.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from localspec.core.distribution import Distribution, point
from localspec.core.draft import NO_DRAFT, Draft, DraftRequest
from localspec.core.tokens import Token, Tokens, common_prefix
from localspec.drafters.alignment import SETTLED, Alignment, Followed
from localspec.drafters.suffix_index import SHORTEST, Match, SuffixIndex


class LookupDrafter:
    """Copy what followed the longest earlier match of the history's end.

    `special` ids (control and end-of-generation) are part of no match and are never proposed.
    `expected` texts are searched like an older part of the history. A copy that runs off the end
    of the history goes on in itself, so a loop is drafted in full.
    """

    name = "lookup"

    def __init__(
        self,
        special: Iterable[Token] = (),
        *,
        expected: Sequence[Tokens] = (),
        shortest: int = SHORTEST,
    ) -> None:
        self._index = SuffixIndex(frozenset(special), shortest=shortest)
        for text in expected:
            self._index.extend(text.tolist())
            self._index.separate()
        self._base = len(self._index)
        self._alignment = Alignment(self._index)
        self._history = b""
        self.match: Match | None = None

    @property
    def match_length(self) -> int:
        """Give the length of the match behind the last proposal, 0 without one."""
        return self.match.length if self.match else 0

    @property
    def evidence(self) -> float:
        """Give the match's length, less where other places with it go on differently; 0 without."""
        match = self.match
        return match.length * match.votes / max(match.candidates, 1) if match else 0.0

    def prefill(self, history: Tokens) -> None:
        """Index the history: only what changed since the last call is touched.

        What was indexed is kept as bytes: between two passes of a small model every step counts.
        """
        now = history.tobytes()
        kept = len(self._history) // history.itemsize
        if not now.startswith(self._history):
            known = np.frombuffer(self._history, history.dtype)
            kept = common_prefix(known, history)
            self._index.truncate(self._base + kept)
            self._alignment.truncate(self._base + kept)
        self._history = now
        for token in history[kept:].tolist():
            self._index.append(token)
            self._alignment.follow()

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Copy at most `request.limit` ids from the place the history's end was found."""
        self.prefill(history)
        self.match, followed = self._place()
        if followed is None:
            return NO_DRAFT
        tokens: list[Token] = []
        laws: list[Distribution] = []
        for token in islice(self._alignment.going_on(followed), request.limit):
            law = point(token)
            if token in self._index.breaks or not request.keep_going(len(tokens), law):
                break
            tokens.append(token)
            laws.append(law)
        return Draft(tuple(tokens), tuple(laws))

    def _place(self) -> tuple[Match | None, Followed | None]:
        """Choose the copy that agrees for longest; nothing where it would end at once."""
        match, followed = self._index.find(), self._alignment.now
        if followed.copied >= SETTLED and (match is None or followed.length > match.length):
            match = Match(followed.place, followed.length, 1, 1)
        elif match:
            followed = Followed(match.start, match.length, 0)
        else:
            return None, None
        if next(self._alignment.going_on(followed)) in self._index.breaks:
            return None, None  # it is as good as none: nobody is asked about its guess
        return match, followed
