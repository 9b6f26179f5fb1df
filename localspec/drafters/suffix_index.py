"""Where the last few tokens of a text stood before, kept as the text grows and shrinks at its end.

Knows ids and positions. Does not know drafts, histories of conversations, or what a model thinks.

One dictionary for each length of gram, from shortest to longest, leads from a gram to the last
place it was followed by a token, and every place keeps the places before it with the same grams,
one for each length that had any. A gram of length k + 1 is entered only once its last k tokens
stood somewhere twice: a text that never repeats costs one entry a token instead of one a length.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from localspec.core.tokens import Token

SHORTEST = 3
"""A pair of tokens such as `">` recurs everywhere; a draft from it is mostly refused."""

LONGEST = 8
"""Beyond this length the few candidates left are compared token by token."""

REACH = 64
"""How far back candidates that share the longest gram are compared."""

RECALL = 16
"""How many of the most recent places are looked at: bounds a lookup in a text of one word."""

_BITS = 24
_MASK = (1 << _BITS) - 1
_NONE = -1

WALL: Token = -1
"""Stands between two texts: no gram crosses it, and no copy should."""


@dataclass(frozen=True)
class Match:
    """The place to copy from, and why it is trusted.

    `start` is where the copied text begins; `length` how many tokens before it agree with the end
    of the text; `votes` of `candidates` places of that length go on with the same token.
    """

    start: int
    length: int
    votes: int
    candidates: int


class SuffixIndex:
    """The text, and every gram in it that a longer text could come back to.

    Grams never cross an id of `breaks` or a wall. What `find` gives depends on the text alone, not
    on how it was grown and cut.
    """

    def __init__(
        self, breaks: frozenset[Token] = frozenset(), *, shortest: int = SHORTEST, longest: int = 0
    ) -> None:
        longest = longest or max(LONGEST, shortest)
        if not 1 <= shortest <= longest <= REACH:
            raise ValueError(f"grams from {shortest} to {longest} tokens")
        self.text: list[Token] = []
        self.breaks = breaks | {WALL}
        self._shortest = shortest
        self._longest = longest
        self._key_masks = [(1 << (_BITS * k)) - 1 for k in range(shortest, longest + 1)]
        self._last: list[dict[int, int]] = [{} for _ in self._key_masks]
        self._before: list[tuple[int, ...]] = []
        self._keys = [0]
        self._runs = [0]

    def __len__(self) -> int:
        return len(self.text)

    def extend(self, tokens: Iterable[Token]) -> None:
        """Append ids."""
        for token in tokens:
            self.append(token)

    def append(self, token: Token) -> None:
        """Append one id."""
        self._enter()
        self._append(token)

    def separate(self) -> None:
        """End one text and begin another; how the first one ended is no hint for anything."""
        self._keys[-1] = self._runs[-1] = 0
        self.extend([WALL])

    def truncate(self, length: int) -> None:
        """Forget everything from `length` on; a wall cannot be taken back."""
        while len(self.text) > length:
            self.text.pop()
            self._keys.pop()
            self._runs.pop()
            self._leave()

    def find(self) -> Match | None:
        """Find the longest earlier match of the text's end, and the likeliest way it goes on.

        Among the most recent places of that length the most frequent next token wins, the more
        recent one if they tie, and the most recent place with that token is given.
        """
        run, key = self._runs[-1], self._keys[-1]
        if run < self._shortest or key & self._key_masks[0] not in self._last[0]:
            return None  # a longer gram is known only if its end is
        for level in range(min(run, self._longest) - self._shortest, -1, -1):
            place = self._last[level].get(key & self._key_masks[level], _NONE)
            if place != _NONE:
                return self._choose(self._places(level, place), self._shortest + level)
        return None

    def _places(self, level: int, place: int) -> list[int]:
        """Walk back over the most recent places of a gram."""
        places = [place]
        while len(places) < RECALL and level < len(before := self._before[places[-1]]):
            places.append(before[level])
        return places

    def _choose(self, places: list[int], length: int) -> Match:
        """Keep the places with the longest match and let them vote on the next token.

        A place alone may never have been entered under the longer grams it matches.
        """
        if len(places) == 1 or length == self._longest:
            lengths = [self._reach(place, length) for place in places]
            length = max(lengths)
            places = [p for p, reached in zip(places, lengths, strict=True) if reached == length]
        following = [self.text[place] for place in places]
        winner = max(following, key=following.count)
        at = places[following.index(winner)]
        return Match(at, length, following.count(winner), len(places))

    def _reach(self, place: int, length: int) -> int:
        """Count the tokens before `place` that agree with the text's end: at least `length`."""
        text, end = self.text, len(self.text)
        most = min(REACH, self._runs[-1], place)
        if text[place - most : place] == text[end - most :]:
            return most
        while length < most and text[place - length - 1] == text[end - length - 1]:
            length += 1
        return length

    def _append(self, token: Token) -> None:
        """Put one id at the end, and roll the gram that ends there."""
        self.text.append(token)
        broken = token in self.breaks
        key = (self._keys[-1] << _BITS) | (token & _MASK)
        self._keys.append(0 if broken else key & self._key_masks[-1])
        self._runs.append(0 if broken else min(self._runs[-1] + 1, REACH))

    def _enter(self) -> None:
        """Note the grams before the place where the next token will stand."""
        place = earlier = len(self.text)
        longer, found = self._runs[place] - self._shortest, []
        for level, last in enumerate(self._last):
            if level and self._first(level - 1, earlier):
                self._push(level, earlier)
            if level > longer:
                break
            key = self._keys[place] & self._key_masks[level]
            earlier = last.get(key, _NONE)
            last[key] = place
            if earlier == _NONE:
                break
            found.append(earlier)
        self._before.append(tuple(found))

    def _first(self, level: int, place: int) -> bool:
        """Say whether no earlier place has the gram that `place` has at this level."""
        return len(self._before[place]) <= level

    def _push(self, level: int, place: int) -> None:
        """Enter a place one gram longer, now that its shorter gram stood a second time."""
        if self._long_enough(level, place):
            self._last[level][self._keys[place] & self._key_masks[level]] = place

    def _leave(self) -> None:
        """Take back what `_enter` noted for the place now at the end."""
        place = len(self.text)
        found = self._before.pop()
        trail = list(zip((place, *found), (*found, _NONE), strict=True))[: len(self._last)]
        for level in range(len(trail) - 1, -1, -1):
            above, earlier = trail[level]
            self._erase(level, place, earlier)
            if level and self._first(level - 1, above):
                self._erase(level, above, _NONE)

    def _erase(self, level: int, place: int, earlier: int) -> None:
        """Make `earlier` the last place of the gram before `place` again."""
        if not self._long_enough(level, place):
            return
        key = self._keys[place] & self._key_masks[level]
        if earlier == _NONE:
            del self._last[level][key]
        else:
            self._last[level][key] = earlier

    def _long_enough(self, level: int, place: int) -> bool:
        """Say whether the text before `place` has a gram of this level without a break."""
        return self._runs[place] >= self._shortest + level
