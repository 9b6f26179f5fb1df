"""Model text in a page: shown as it is, and unable to do anything there.

Knows which characters HTML cannot hold and which turn the direction of what follows. Does not
know what the text says.
"""

from collections.abc import Iterable, Iterator

from markupsafe import Markup, escape

from localspec.report.trace_documents import TraceRound

PICTURES = {"\n": "↵", "\t": "⇥"}
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    """Give a token's text as it can be shown: control characters by their pictures.

    HTML cannot hold most of them; line ends and tabs get a picture, too.
    """
    return "".join(PICTURES.get(char, _harmless(char)) for char in text)


def _harmless(char: str) -> str:
    code = ord(char)
    if code < 0x20 and char not in PICTURES:
        return chr(0x2400 + code)
    return f"\\x{code:02x}" if 0x7F <= code < 0xA0 else char


def in_line(text: str) -> str:
    """Give running text: line ends stay, other control characters become pictures."""
    return "".join(map(_harmless, text))


def contained(texts: Iterable[str]) -> Markup:
    """Join tokens; one that turns the direction of writing does so for itself alone."""
    return Markup("").join(
        Markup("<bdi>{}</bdi>").format(in_line(text)) if TURNING & set(text) else in_line(text)
        for text in texts
    )


def answer_spans(rounds: Iterable[TraceRound]) -> Markup:
    """Give the answer's tokens as spans by origin; the script finds them by their order."""
    return Markup("").join(_spans(rounds))


def _spans(rounds: Iterable[TraceRound]) -> Iterator[Markup]:
    for one in rounds:
        accepted = one.accepted
        for index, text in enumerate(one.texts):
            names = ["d" if index < accepted else "t"]
            names += ["n"] if "\n" in text else []
            names += ["x"] if TURNING & set(text) else []
            yield Markup(f'<span class="{" ".join(names)}">{escape(in_line(text))}</span>')
