"""A bench on the terminal: speeds by kind of text, the cost of a pass, the verdict and why.

Knows the document. Returns lines; printing is left to the command.
"""

from collections.abc import Iterator, Sequence

from localspec.core.counted import counted
from localspec.report.bench_documents import ArmInfo, BenchDocument, KindInfo, StreamInfo
from localspec.report.bench_text import arm_name, arm_names, stream_names, stream_rows, use_of
from localspec.report.documents import CostCurve, Interval
from localspec.ui.cells import clip, width_of
from localspec.ui.tables import bar, folded, table

TOO_NOISY = "too noisy to say"
WIDEST_BAR = 36
NARROW_BAR = 20
MARGIN = 2
LABEL = 10


def bench_lines(
    document: BenchDocument, width: int, *, unicode: bool = True, detail: bool = False
) -> list[str]:
    """Give the whole screen of a bench."""
    times = "×" if unicode else "x"
    lines = _speeds(document, width, times) if document.kinds else []
    if document.costs:
        lines += ["", *cost_lines(document.costs, width, unicode=unicode)]
    if document.streams:
        lines += ["", *streams_lines(document, width, unicode=unicode)]
    lines += ["", *_facts(document, width, times)]
    if detail:
        lines += ["", *_reasons(document.kinds, width)]
    lines += ["", *wrapped(f"Verdict: {document.verdict.reason}", width)]
    for kind in document.overall:
        lines += _overall(kind, width)
    if document.streams_verdict:
        lines += labelled("at once", document.streams_verdict, width)
    if not document.complete:
        lines.append(f"  ! incomplete: {document.stopped}; this is what there is so far")
    lines += [line for each in document.warnings for line in wrapped(f"! {each}", width)]
    return lines if unicode else [_ascii(line) for line in lines]


def _ascii(line: str) -> str:
    return line.replace("±", "+-").replace("γ", "g").replace("·", "|").replace("×", "x")


def _speeds(document: BenchDocument, width: int, times: str) -> list[str]:
    kinds = [*document.kinds, *(document.overall if len(document.kinds) > 1 else ())]
    names = arm_names(document.kinds)
    several = len({kind.temp for kind in kinds}) > 1
    rows = [["", "plain", *names, "use"]]
    for kind in kinds:
        arms = {arm_name(arm): arm for arm in kind.arms}
        plain = kind.plain.tokens_per_s
        rows.append(
            [
                f"{kind.kind}, temp {kind.temp:g}" if several else kind.kind,
                f"{plain:.1f} tok/s" if plain else "-",
                *(_speed(arms.get(name), times) for name in names),
                use_of(kind),
            ]
        )
    last = frozenset({0, len(rows[0]) - 1})
    return folded(rows, width, left=last)


def _speed(arm: ArmInfo | StreamInfo | None, times: str) -> str:
    if arm is None or arm.speedup is None:
        return "-"
    said = f"{arm.speedup.value:.2f}{_spread(arm.speedup)}{times}"
    return f"({said})" if arm.word == TOO_NOISY else said


def _spread(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return ""
    return f" ±{(interval.high - interval.low) / 2:.2f}"


def cost_lines(costs: CostCurve, width: int, *, unicode: bool = True) -> list[str]:
    """Draw the staircase: what a pass over more rows costs, in passes over one."""
    shortest = min(point.context for point in costs.target)
    points = [point for point in costs.target if point.context == shortest]
    one = points[0].median_s
    top = max(point.median_s for point in points)
    times = "×" if unicode else "x"
    room = min(width - 34, WIDEST_BAR)
    rows = [["rows", "ms", f"of one row, after {counted(shortest, 'token')}", ""]]
    for point in points:
        drawn = bar(point.median_s, top, room, unicode=unicode) if room >= 4 else ""
        spread = "±" if unicode else "+-"
        rows.append(
            [
                str(point.rows),
                f"{1e3 * point.median_s:.1f} {spread}{5e2 * point.iqr_s:.1f}",
                f"{point.median_s / one:.2f}{times} {drawn}",
                "",
            ]
        )
    return table([row[:3] for row in rows], width, left=frozenset({2}))


def streams_lines(document: BenchDocument, width: int, *, unicode: bool = True) -> list[str]:
    """Give the speed-up by the number of sequences at once; the bars are those of the fastest."""
    times, names = "×" if unicode else "x", stream_names(document)
    best = [max(points.values(), key=_fastest) for _, points in stream_rows(document)]
    top = max(point.speedup.value for point in best)
    rows = [["at once", "plain, all", *names, "the fastest"]]
    for (count, points), fastest in zip(stream_rows(document), best, strict=True):
        cells = [_speed(points.get(name), times) for name in names]
        plain = f"{fastest.plain_tokens_per_s:.1f} tok/s"
        drawn = bar(fastest.speedup.value, top, NARROW_BAR, unicode=unicode)
        rows.append([str(count), plain, *cells, drawn])
    return folded(rows, width, left=frozenset({len(rows[0]) - 1}))


def _fastest(point: StreamInfo) -> float:
    return point.speedup.value


def _facts(document: BenchDocument, width: int, times: str) -> Iterator[str]:
    """Give what is said once: the draft's cost, prediction against measurement, the texts."""
    if document.costs and document.costs.cost_ratio is not None:
        said = f"a drafted token costs {document.costs.cost_ratio:.2f} of a one-row pass"
        yield from labelled("draft", said, width)
    for kind in document.overall:
        for arm in kind.arms:
            if arm.predicted_speedup is not None and arm.speedup is not None:
                gap = arm.speedup.value / arm.predicted_speedup - 1
                said = (
                    f"{arm_name(arm)}: {arm.predicted_speedup:.2f}{times} by the costs, measured "
                    f"{arm.speedup.value:.2f}{times} ({gap:+.0%})"
                )
                yield from labelled("predicted", said, width)
    yield from _texts(document, width)


def _texts(document: BenchDocument, width: int) -> Iterator[str]:
    compared = [
        (arm, arm.identical)
        for kind in document.overall
        for arm in kind.arms
        if arm.identical is not None
    ]
    if not compared:
        return
    same, of = (sum(getattr(found, n) for _, found in compared) for n in ("same", "of"))
    yield from labelled("text", f"identical to plain in {same} of {counted(of, 'answer')}", width)
    for arm, found in compared:
        for first in found.first_differences[:3]:
            gap = (
                f"; the two best logits were {first.gap:.3f} apart" if first.gap is not None else ""
            )
            said = f"{arm_name(arm)} differs in prompt {first.prompt + 1} at token "
            yield from labelled("", f"{said}{first.position + 1}{gap}", width)


def labelled(label: str, said: str, width: int) -> list[str]:
    """Give a label with what is said about it, folded."""
    lines = _folded(said, width - MARGIN - LABEL)
    heads = [label, *[""] * (len(lines) - 1)]
    return [f"  {head:<{LABEL}}{line}" for head, line in zip(heads, lines, strict=True)]


def _reasons(kinds: Sequence[KindInfo], width: int) -> Iterator[str]:
    for kind in kinds:
        yield from labelled(kind.kind, kind.verdict.reason, width)
        for help in kind.helps:
            yield from labelled("", f"would help: {help}", width)


def _overall(kind: KindInfo, width: int) -> list[str]:
    lines = labelled("overall", kind.verdict.reason, width)
    for help in kind.helps:
        lines += labelled("", f"would help: {help}", width)
    return lines


def wrapped(said: str, width: int) -> list[str]:
    """Fold a sentence."""
    return [f"  {line}" for line in _folded(said, width - MARGIN)]


def _folded(said: str, width: int) -> list[str]:
    """Break at spaces; a word longer than the line is clipped."""
    lines = [""]
    for word in said.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [clip(line, max(width, 8)) for line in lines]
