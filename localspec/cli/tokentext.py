"""Which token a text is: looked up in a file's header, so that no model has to be loaded.

Knows how vocabularies spell a space and a line end. Does not tokenize.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from localspec.errors import OptionError
from localspec.pairs.header import read_header
from localspec.pairs.vocabulary import read_vocabulary


def token_finder(path: Path) -> Callable[[str], int]:
    """Give the function that finds the id whose text is exactly the given one."""
    texts = cache(lambda: _ids(path))

    def find(text: str) -> int:
        for spelled in _spellings(text.encode("utf-8", "surrogateescape")):
            if spelled in texts():
                return texts()[spelled]
        raise OptionError(
            f"--logit-bias: {text!r} is not one token of {path.name}", "give ids: 42=-5"
        )

    return find


def _ids(path: Path) -> dict[bytes, int]:
    texts = read_vocabulary(read_header(path)).texts
    return {text: token for token, text in reversed(list(enumerate(texts)))}


def _spellings(text: bytes) -> tuple[bytes, ...]:
    """Spell a text as vocabularies do: with Ġ and Ċ, with ▁, or as it is."""
    return ("".join(map(byte_letter, text)).encode(), text.replace(b" ", "▁".encode()), text)


def byte_letter(byte: int) -> str:
    """Give the letter that byte-level vocabularies write for a byte.

    Source: the bytes_to_unicode table of GPT-2.
    """
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    if byte in own:
        return chr(byte)
    others = [value for value in range(256) if value not in own]
    return chr(256 + others.index(byte))
