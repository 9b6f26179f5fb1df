"""The page: one trace as one self-contained HTML file.

Knows the template and what it is filled with. Nothing in the page is fetched; model text enters
escaped, and the content policy lets no script run but the page's own.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from localspec import __version__
from localspec.core import theory
from localspec.core.theory import MAX_GAMMA
from localspec.report.trace_data import page_data
from localspec.report.trace_documents import TraceDocument, TraceRound
from localspec.report.trace_figures import (
    FEW_ROUNDS,
    FIVE,
    Expectation,
    expectation,
    pass_times,
    shares,
    telling_place,
)
from localspec.report.trace_markup import answer_spans, contained, visible
from localspec.report.trace_words import PAGE, Language, Words, load_words
from localspec.runtime.settings import HEADS, READY

SCRIPTS = ("base.js", "steps.js", "laws.js", "speed.js")
GUESSERS = ("model", "lookup", "ngram", "layerskip")
SOURCES = (
    "Leviathan, Kalman, Matias: Fast inference from transformers via speculative decoding, 2022",
    "Chen et al.: Accelerating large language model decoding with speculative sampling, 2023",
    "Sun et al.: Block verification accelerates speculative decoding, arXiv 2403.10444",
    "Daliri, Musco, Suresh: Coupling without communication and drafter-invariant speculative "
    "decoding, arXiv 2408.07978",
)


@dataclass(frozen=True)
class Busy:
    """A speed-up that was measured with so many requests at the same time."""

    streams: int
    speedup: float


@dataclass(frozen=True)
class PageOptions:
    """How the page is made; `samples`: passes of each size behind the measured times."""

    lang: Language = "en"
    busy: tuple[Busy, ...] = ()
    samples: int = 0


DEFAULT_PAGE = PageOptions()


def trace_page(document: TraceDocument, options: PageOptions = DEFAULT_PAGE) -> str:
    """Give the page of a trace as HTML."""
    words = load_words(options.lang)
    times = pass_times(document)
    expected = expectation(document, times)
    start = telling_place(document)
    script = "\n".join((PAGE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    # What a browser hashes is what stands between the tags, so the script enters as it is.
    return (
        _environment(words)
        .get_template("page.html.j2")
        .render(
            doc=document,
            page=options,
            css=(PAGE / "page.css").read_text(encoding="utf-8"),
            script=script,
            script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            data=page_data(document, times, expected, words, start),
            times=times,
            expected=expected,
            place=_place(document, start),
            chart=_chart(expected),
            who=_guessers(),
            five=FIVE,
            few=FEW_ROUNDS,
            sources=SOURCES,
            version=__version__,
        )
    )


def _environment(words: Words) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        t=words.say,
        num=words.number,
        pct=words.percent,
        chance=words.chance,
        lang=words.lang,
        answer=answer_spans,
        contained=contained,
        visible=visible,
        drafter_name=lambda names: ", ".join(
            words.texts.get(f"drafter_{name}", name) for name in names.split(",")
        ),
    )
    return environment


@dataclass(frozen=True)
class _Place:
    """The place that figure c shows first, with the round and the words around it."""

    index: int
    of: int
    lines: list[object]
    guessed: bool
    before: list[str]
    word: str
    after: list[str]
    origin: str
    round: TraceRound
    round_number: int


def _place(document: TraceDocument, start: int) -> _Place | None:
    """Find the round of a place; None for an answer without a token."""
    ends = list(accumulate(len(one.token_ids) for one in document.rounds))
    if not ends or ends[-1] == 0:
        return None
    number = next(i for i, end in enumerate(ends) if start < end)
    one = document.rounds[number]
    within = start - (ends[number] - len(one.token_ids))
    texts = [text for each in document.rounds for text in each.texts]
    law = one.laws[within]
    return _Place(
        index=start,
        of=ends[-1],
        lines=list(shares(law)),
        guessed=law.q is not None,
        before=texts[max(start - 14, 0) : start],
        word=texts[start],
        after=texts[start + 1 : start + 9],
        origin="draft" if within < one.accepted else "target",
        round=one,
        round_number=number + 1,
    )


@dataclass(frozen=True)
class _Chart:
    """Figure d in per cent of its area."""

    top: float
    ticks: list[float]
    paper: str
    machine: str
    dots: list[tuple[float, float, bool]]
    best: theory.CurvePoint


def _chart(expected: Expectation) -> _Chart:
    top = expected.top
    step = 0.5 if top <= 3 else 1.0 if top <= 6 else 2.0
    ticks = [step * i for i in range(int(top / step) + 1)]
    return _Chart(
        top=top,
        ticks=ticks,
        paper=_path([point.speedup for point in expected.curve(machine=False)], top),
        machine=_path([p.speedup for p in expected.curve(machine=True)], top)
        if expected.verify
        else "",
        dots=[
            (100 * dot.gamma / MAX_GAMMA, 100 - 100 * dot.speedup / top, dot.few)
            for dot in expected.dots
        ],
        best=theory.best(expected.curve(machine=True)),
    )


def _path(values: Iterable[float], top: float) -> str:
    """Draw values at 0, 1, 2, … in a square of 100."""
    points = [
        f"{100 * i / MAX_GAMMA:.2f} {100 - 100 * value / top:.2f}" for i, value in enumerate(values)
    ]
    return "M" + "L".join(points)


def _guessers() -> list[tuple[str, bool]]:
    """Say which drafters run."""
    return [(name, name in READY) for name in GUESSERS] + [
        ("heads", any(name in READY for name in HEADS))
    ]
