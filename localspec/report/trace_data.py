"""The data that the page's script works with, small enough for long answers.

Knows the trace and the shape the script expects. Words are kept once and named by number;
laws are rounded down, and what is left of 1 is worked out again by the script.
"""

import json
import math
from collections.abc import Mapping, Sequence

from localspec.core.theory import MAX_GAMMA
from localspec.report.trace_documents import TraceDocument, TraceLaw, TraceRound, TraceWritten
from localspec.report.trace_figures import Expectation, PassTimes
from localspec.report.trace_words import Words

DIGITS = 7
UNIT = 1e9
SCRIPTED = ("b_", "c_", "d_", "drafter_", "none")


class _Vocabulary:
    """Number texts as they come."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Give the number of a text."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


def page_data(
    document: TraceDocument, times: PassTimes, expected: Expectation, words: Words, start: int
) -> str:
    """Give the script's data as JSON that is safe inside a script element."""
    known = _Vocabulary()
    rounds = [_round(one, known) for one in document.rounds]
    laws = [_law(law, known) for one in document.rounds for law in one.laws]
    data = {
        "lang": words.lang,
        "text": {k: v for k, v in words.texts.items() if k.startswith(SCRIPTED)},
        "rule": document.rule,
        "start": start,
        "rounds": rounds,
        "laws": laws,
        "words": known.texts,
        "times": _times(times),
        "alpha": _short(expected.alpha),
        "c": _short(expected.cost_ratio),
        "gamma": expected.gamma,
        "dots": [[dot.gamma, _short(dot.speedup), dot.rounds] for dot in expected.dots],
    }
    return safe_json(data)


def safe_json(data: Mapping[str, object]) -> str:
    """Write JSON in which nothing can end the element it stands in, or start a comment there."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _round(one: TraceRound, known: _Vocabulary) -> list[object]:
    """Give drafter, way, baseline, guesses, the target's token, count of tokens, milliseconds."""
    guesses = [
        [
            known.number(guess.text),
            _short(guess.p),
            _short(guess.q),
            _short(guess.chance),
            _short(guess.draw),
            int(guess.judged),
            int(guess.accepted),
        ]
        for guess in one.drafted
    ]
    return [
        one.drafter,
        one.way,
        int(one.baseline),
        guesses,
        _written(one.replacement or one.bonus, known),
        len(one.token_ids),
        round(1000 * one.draft_s, 2),
        round(1000 * one.verify_s, 2),
    ]


def _written(written: TraceWritten | None, known: _Vocabulary) -> list[object] | None:
    if written is None:
        return None
    numbers = (written.p, written.chance, written.draw)
    return [known.number(written.text), *map(_short, numbers)]


def _law(law: TraceLaw, known: _Vocabulary) -> list[object]:
    q: Sequence[float] | int = 0 if law.q is None else [_below(value) for value in law.q]
    return [
        [known.number(text) for text in law.texts],
        [_below(value) for value in law.p],
        q,
        _below(law.rest_both or 0.0),
    ]


def _times(times: PassTimes) -> list[float] | None:
    """Give v(n) for every pass that the figure asks for."""
    if times.verify is None or times.one is None:
        return None
    return [round(times.verify(rows), 5) for rows in range(1, MAX_GAMMA + 2)]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _below(value: float) -> float:
    """Round a probability down, so that the sum of a law stays at most 1."""
    return math.floor(value * UNIT) / UNIT
