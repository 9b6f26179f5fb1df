"""Token bytes into text while they arrive: whole characters only, and nothing behind a stop string.

Knows bytes, characters and who wrote them. Does not know screens, turns or what ended the answer
besides a stop string.
"""

import codecs
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from localspec.core.events import Origin
from localspec.core.tokens import Token

REPLACEMENT = "\ufffd"


@dataclass(frozen=True)
class Span:
    """Text written by one side; a character made of several tokens belongs to the last of them."""

    text: str
    origin: Origin


class StopMatcher:
    """Hold text back while it may become a stop string; cut at the first one that completes.

    Looks at characters one by one, so how they were grouped into tokens or rounds cannot matter.
    """

    def __init__(self, stops: Iterable[str] = ()) -> None:
        self._stops = tuple(sorted({stop for stop in stops if stop}, key=len, reverse=True))
        self._held: list[Span] = []
        self._text = ""

    def feed(self, char: str, origin: Origin) -> tuple[list[Span], bool]:
        """Take one character; give what may be shown, and whether a stop string is complete."""
        if not self._stops:
            return [Span(char, origin)], False
        self._held.append(Span(char, origin))
        self._text += char
        for stop in self._stops:
            if self._text.endswith(stop):
                return self._release(len(stop)), True
        return self._release(self._undecided()), False

    def flush(self) -> list[Span]:
        """Give what was held back: the answer is over and it did not become a stop string."""
        return self._release(0)

    def _undecided(self) -> int:
        """Count the last characters that may still become a stop string."""
        longest = min(len(self._text), max(map(len, self._stops)) - 1)
        for length in range(longest, 0, -1):
            end = self._text[-length:]
            if any(stop.startswith(end) for stop in self._stops):
                return length
        return 0

    def _release(self, keep: int) -> list[Span]:
        """Let go of all but the last `keep` characters."""
        cut = len(self._held) - keep
        out, self._held = self._held[:cut], self._held[cut:]
        self._text = self._text[cut:]
        return out


@dataclass
class TextStream:
    """Turn the tokens of one answer into spans, and stop at stop strings.

    `piece` gives a token's bytes; tokens in `silent` (ends of generation) have no text. `invalid`
    counts bytes that were no UTF-8: each run of them is shown as one U+FFFD, none is dropped.
    """

    piece: Callable[[Token], bytes]
    silent: frozenset[Token] = frozenset()
    stops: Sequence[str] = ()
    stopped: bool = False
    invalid: int = 0
    _decoder: codecs.IncrementalDecoder = field(init=False, repr=False)
    _matcher: StopMatcher = field(init=False, repr=False)
    _origin: Origin = field(default=Origin.TARGET, init=False)
    _genuine: bytes = field(default=b"", init=False, repr=False)
    _parts: list[str] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._matcher = StopMatcher(self.stops)

    @property
    def text(self) -> str:
        """Give everything shown so far."""
        return "".join(self._parts)

    def feed(
        self, tokens: Sequence[Token], origins: Sequence[Origin]
    ) -> tuple[tuple[Span, ...], int]:
        """Take a round's tokens; give what may be shown and how many tokens fell behind a stop."""
        shown: list[Span] = []
        for index, (token, origin) in enumerate(zip(tokens, origins, strict=True)):
            if token in self.silent:
                continue
            shown.extend(self._take(self.piece(token), origin))
            if self.stopped:
                return self._say(shown), len(tokens) - index - 1
        return self._say(shown), 0

    def flush(self) -> tuple[Span, ...]:
        """Give what is still held: half a character becomes U+FFFD, half a stop string is text."""
        if self.stopped:
            return ()
        rest = self._decoder.decode(b"", final=True)
        self.invalid += rest.count(REPLACEMENT)
        shown = self._characters(rest, self._origin)
        if not self.stopped:
            shown.extend(self._matcher.flush())
        return self._say(shown)

    def _take(self, data: bytes, origin: Origin) -> list[Span]:
        """Decode a token's bytes; a character that is complete now is this token's."""
        self._origin = origin
        text = self._decoder.decode(data)
        self.invalid += text.count(REPLACEMENT) - self._real_replacements(data)
        return self._characters(text, origin)

    def _real_replacements(self, data: bytes) -> int:
        """Count U+FFFD that the model wrote itself, over the token's edge too."""
        mark = REPLACEMENT.encode()
        joined = self._genuine + data
        self._genuine = joined[-(len(mark) - 1) :]
        return joined.count(mark)

    def _characters(self, text: str, origin: Origin) -> list[Span]:
        shown: list[Span] = []
        for char in text:
            spans, self.stopped = self._matcher.feed(char, origin)
            shown.extend(spans)
            if self.stopped:
                break
        return shown

    def _say(self, spans: list[Span]) -> tuple[Span, ...]:
        merged = merge(spans)
        self._parts.extend(span.text for span in merged)
        return merged


def merge(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Join neighbours that the same side wrote."""
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1].origin is span.origin:
            merged[-1] = Span(merged[-1].text + span.text, span.origin)
        elif span.text:
            merged.append(span)
    return tuple(merged)
