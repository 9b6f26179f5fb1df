"""The page's words in one language, and how that language writes numbers.

Knows the word files beside the template. Does not know what is said with them.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PAGE = Path(__file__).parent / "page"
LANGUAGES = ("en", "tr")
Language = Literal["en", "tr"]


@dataclass(frozen=True)
class Words:
    """One language."""

    lang: str
    texts: dict[str, str]

    def say(self, key: str, **values: object) -> str:
        """Give a sentence with its values put in.

        Raises: KeyError for a sentence or a value that is missing.
        """
        return self.texts[key].format(**values)

    def number(self, value: float | None, digits: int = 2) -> str:
        """Write a number with the language's decimal mark; a dash for what is not known."""
        if value is None:
            return self.texts["none"]
        text = f"{value:.{digits}f}"
        return text.replace(".", ",") if self.lang == "tr" else text

    def percent(self, value: float | None) -> str:
        """Write a share in per cent, the sign where the language puts it."""
        if value is None:
            return self.texts["none"]
        whole = f"{100 * value:.0f}"
        return f"%{whole}" if self.lang == "tr" else f"{whole}\N{NARROW NO-BREAK SPACE}%"

    def chance(self, value: float | None) -> str:
        """Write a probability: three decimals, and never 0 or 1 for what is not."""
        if value is None:
            return self.texts["none"]
        if 0 < value < 0.0005:
            return f"<{self.number(0.001, 3)}"
        if 0.9995 <= value < 1:
            return f">{self.number(0.999, 3)}"
        return self.number(value, 3)


def load_words(lang: Language) -> Words:
    """Read the words of a language."""
    text = (PAGE / f"{lang}.json").read_text(encoding="utf-8")
    return Words(lang, json.loads(text))
