"""A tune on the terminal: the arrangements, what they gain, what they lose, and what to do.

Knows the document. Returns lines; printing is left to the command.
"""

from collections.abc import Iterator

from localspec.core.counted import counted
from localspec.pairs.memory import show_bytes
from localspec.report.documents import Interval
from localspec.report.tune_documents import (
    TuneBest,
    TuneCandidate,
    TuneDocument,
    TuneLayout,
    TuneQuality,
)
from localspec.ui.bench import labelled, wrapped
from localspec.ui.tables import table

MOST_ROWS = 12
HEADINGS = ["target", "size", "draft", "γ", "predicted", "measured", "tok/s", "KL", "top 1"]


def tune_lines(
    document: TuneDocument, width: int, *, pair: str = "", unicode: bool = True
) -> list[str]:
    """Give the whole screen of a tune; `pair` is what names it on the command line."""
    lines = ["", *_rows(document, width), ""]
    lines += wrapped(f"Verdict: {document.verdict}", width)
    if document.best:
        lines += _best(document.best, width)
        lines += _next(document, width, pair)
    lines += labelled("drafters", _drafters(document), width)
    for note in document.notes:
        lines += labelled("note", note, width)
    lines += [line for each in document.warnings for line in wrapped(f"! {each}", width)]
    if not document.complete:
        lines += wrapped(f"! incomplete: {_stopped(document)}", width)
    return lines if unicode else [_ascii(line) for line in lines]


def _ascii(line: str) -> str:
    return line.replace("γ", "g").replace("×", "x").replace("±", "+-").replace("·", "|")


def _rows(document: TuneDocument, width: int) -> list[str]:
    given = document.given
    speed = f"{given.tokens_per_s:.1f}" if given.tokens_per_s else "-"
    rows = [HEADINGS, ["as given", "", "none", "", "1.00×", "1.00×", speed, "", ""]]
    shown = list(_shown(document.candidates))
    rows += [_row(each) for each in shown]
    lines = table(rows, width, left=frozenset({0, 2}))
    rest = len(document.candidates) - len(shown)
    return [*lines, f"  and {rest} more, expected to be slower"] if rest > 0 else lines


def _shown(candidates: list[TuneCandidate]) -> Iterator[TuneCandidate]:
    """Give what was measured, and of the rest the best of each target layout and each drafter."""
    seen: set[str] = set()
    drafters: set[str] = set()
    for each in candidates:
        name = each.target_layout.name
        new = name not in seen and len(seen) < MOST_ROWS
        if each.measured or new or each.drafter not in drafters:
            seen.add(name)
            drafters.add(each.drafter)
            yield each


def _row(each: TuneCandidate) -> list[str]:
    quality = each.quality
    return [
        each.target_layout.name,
        show_bytes(each.target_layout.bytes),
        _draft(each.drafter, each.draft_layout),
        str(each.gamma) if each.gamma else "",
        f"{each.predicted.value:.2f}×",
        _speed(each.measured),
        f"{each.tokens_per_s:.1f}" if each.tokens_per_s else "",
        f"{quality.kl_mean:.4f}{'!' if each.beyond_max_kl else ''}" if quality else "",
        f"{quality.top1_agreement:.1%}" if quality else "",
    ]


def _draft(drafter: str, layout: TuneLayout | None) -> str:
    if layout is None:
        return drafter
    return layout.name if drafter == "model" else f"{drafter} {layout.name}"


def _speed(interval: Interval | None) -> str:
    if interval is None:
        return ""
    if interval.low is None or interval.high is None:
        return f"{interval.value:.2f}×"
    return f"{interval.value:.2f} ±{(interval.high - interval.low) / 2:.2f}×"


def _best(best: TuneBest, width: int) -> Iterator[str]:
    """Say which files run, and what the new target loses."""
    target = best.target_layout
    if target.made_from:
        said = f"{target.made_from} requantised to {target.name}"
        yield from labelled("target", f"{said}, {show_bytes(target.bytes)}: {target.file}", width)
    if best.draft_layout and best.draft_layout.made_from:
        draft = best.draft_layout
        made = "the target" if best.drafter == "layerskip" else f"{draft.made_from} requantised to"
        said = f"{made} {draft.name}, {show_bytes(draft.bytes)}"
        yield from labelled("draft", f"{said}: {draft.file}", width)
    if best.quality:
        yield from labelled("quality", _lost(best.quality), width)
    elif target.made_from is None:
        yield from labelled("quality", "the target is the given file: nothing is lost", width)


def _drafters(document: TuneDocument) -> str:
    """Say in one line which were tried, and which were not."""
    tried = ", ".join(document.drafters) or "none"
    if not document.left_out:
        return f"tried {tried}"
    others = ", ".join(f"{each.drafter} ({each.reason})" for each in document.left_out)
    return f"tried {tried}; left out {others}"


def _lost(found: TuneQuality) -> str:
    return (
        f"against the given target over {counted(found.tokens, 'token')} of your text: "
        f"KL {found.kl_mean:.4f} (95 %: {found.kl_mean_low:.4f}-{found.kl_mean_high:.4f}), "
        f"99th percentile {found.kl_p99:.3f} ({found.kl_p99_low:.3f}-{found.kl_p99_high:.3f}), "
        f"same top token {found.top1_agreement:.1%} "
        f"({found.top1_agreement_low:.1%}-{found.top1_agreement_high:.1%}), "
        f"perplexity {_change(found.perplexity_ratio)} "
        f"({_change(found.perplexity_ratio_low)} to {_change(found.perplexity_ratio_high)})"
    )


def _change(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _next(document: TuneDocument, width: int, pair: str) -> list[str]:
    if document.saved is None:
        return []
    return labelled("use it", f"localspec chat {pair} --tuned", width)


def _stopped(document: TuneDocument) -> str:
    what = "the time is up" if document.stopped == "time" else "interrupted"
    return f"{what}; this is what there is so far"
