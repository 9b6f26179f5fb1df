"""Which older text the answer follows, and the words it puts in the place of others on the way.

Knows ids and positions in an index. Does not know drafts, models, or what a word is.

A text that is rewritten with changes leaves the copy for a few tokens and comes back to it. What
stood between is then known on both sides: these tokens in place of those. The next time the copy
comes to *those*, *these* will follow, until the text says otherwise.
"""

from collections.abc import Iterator
from typing import NamedTuple

from localspec.core.tokens import Token
from localspec.drafters.suffix_index import SuffixIndex

LONGEST_CHANGE = 8
"""Tokens on either side of a change that is remembered; longer ones are new text."""

REJOINED = 2
"""Tokens in a row that say, close to where a copy was left, that it goes on."""

DOUBTFUL = 1
"""What those tokens count as evidence: less than a match of as many tokens, which is never used."""

SETTLED = 16
"""Tokens of a copy before it is followed through changes: lines that are alike are no rewrite."""

MOST_CERTAIN = 3
"""How often a change must fail, at most, before it is no longer made."""

_CHOICES = 4


class Change(NamedTuple):
    """These tokens in place of those, and how far that is trusted: above 0 it is made."""

    old: list[Token]
    new: list[Token]
    trust: int = 1


class _Left(NamedTuple):
    """Where a copy was left: its place in the older text, and in the text that follows it."""

    place: int
    at: int
    copied: int


class Followed(NamedTuple):
    """Where the next token is expected in the older text (-1 for nowhere).

    `length` tokens agreed since the copy began or was taken up again, those of changes that were
    foreseen included, and `copied` since it began; `inside` tokens of `change` have been met.
    """

    place: int
    length: int
    copied: int
    change: Change | None = None
    inside: int = 0
    left: _Left | None = None


_NOWHERE = Followed(-1, 0, 0)


class Alignment:
    """Follow the text of an index token by token; what it knows depends on the text alone."""

    def __init__(self, index: SuffixIndex) -> None:
        self._index = index
        self._base = len(index)
        self._trail = [_NOWHERE]
        self._changes: dict[Token, tuple[Change, ...]] = {}
        self._log: list[tuple[int, Token, tuple[Change, ...]]] = []

    @property
    def now(self) -> Followed:
        """Give the copy that the text's end is in."""
        return self._trail[-1]

    def follow(self) -> None:
        """Take in the token that was appended to the index."""
        token = self._index.text[-1]
        if token in self._index.breaks:
            self._trail.append(_NOWHERE)
            return
        was = self._trail[-1]
        self._trail.append(self._on(was, token) if was.place >= 0 else self._back(was, token))

    def truncate(self, length: int) -> None:
        """Forget what the text from `length` on has told."""
        del self._trail[max(length - self._base, 0) + 1 :]
        while self._log and self._log[-1][0] >= length:
            _, first, before = self._log.pop()
            self._changes[first] = before

    def going_on(self, followed: Followed) -> Iterator[Token]:
        """Read on from there without end, changes made; beyond the text's end it reads itself."""
        text, own = self._index.text, list[Token]()
        place, change, inside = followed.place, followed.change, followed.inside
        while True:
            if change or (change := self._change_at(place)):
                words, place = change.new[inside:], place + len(change.old)
                change, inside = None, 0
            else:
                words = [text[place] if place < len(text) else own[place - len(text)]]
                place += 1
            own += words
            yield from words

    def _on(self, was: Followed, token: Token) -> Followed:
        """Go on with a copy, or leave it."""
        place, length, copied = was.place, was.length + 1, was.copied + 1
        if change := was.change or self._change_at(place):
            if token == change.new[was.inside]:
                if was.inside + 1 < len(change.new):
                    return Followed(place, length, copied, change, was.inside + 1)
                self._trust(change, 1)
                return Followed(place + len(change.old), length, copied)
            self._trust(change, -1)
        if not was.inside and token == self._index.text[place]:
            return Followed(place + 1, length, copied)
        at = len(self._index) - 1 - was.inside
        return Followed(-1, 0, 0, left=_Left(place, at, was.copied))

    def _back(self, was: Followed, token: Token) -> Followed:
        """Find the way back into the copy that was left, or into another."""
        left = was.left
        if left and (again := self._rejoined(left, token)):
            return again
        if match := self._index.find():
            return Followed(match.start, match.length, match.length)
        if left and len(self._index) - left.at > LONGEST_CHANGE + REJOINED:
            left = None
        return Followed(-1, 0, 0, left=left) if left else _NOWHERE

    def _rejoined(self, left: _Left, token: Token) -> Followed | None:
        text = self._index.text
        end = len(text) - REJOINED
        if end < left.at:
            return None
        for place in range(left.place, min(left.place + LONGEST_CHANGE + 1, left.at - 1)):
            if text[place + 1] == token and text[place] == text[end]:
                old, new = text[left.place : place], text[left.at : end]
                if left.copied >= SETTLED:
                    self._learn(old, new)
                copied = max(left.copied - len(old) - len(new), 0) + REJOINED
                return Followed(place + REJOINED, DOUBTFUL, copied)
        return None

    def _change_at(self, place: int) -> Change | None:
        """Give the change that would be made there; one that the older text has is not made."""
        text = self._index.text
        if place >= len(text):
            return None
        for change in self._changes.get(text[place], ()):
            if (
                change.trust > 0
                and text[place : place + len(change.old)] == change.old
                and text[place : place + len(change.new)] != change.new
            ):
                return change
        return None

    def _learn(self, old: list[Token], new: list[Token]) -> None:
        if not (0 < len(old) <= LONGEST_CHANGE and 0 < len(new) <= LONGEST_CHANGE):
            return
        if not self._index.breaks.isdisjoint(old):
            return
        known = next((it for it in self._changes.get(old[0], ()) if it.old == old), None)
        if known and known.new != new:
            self._trust(known, -1)
        if known is None or known.new == new or known.trust <= 1:
            self._trust(Change(old, new, known.trust if known and known.new == new else 0), 1)

    def _trust(self, change: Change, more: int) -> None:
        """Put a change first among those that begin alike, trusted that much more."""
        first = change.old[0]
        before = self._changes.get(first, ())
        self._log.append((len(self._index) - 1, first, before))
        others = [it for it in before if it.old != change.old]
        now = change._replace(trust=min(change.trust + more, MOST_CERTAIN))
        self._changes[first] = (now, *others)[:_CHOICES]
