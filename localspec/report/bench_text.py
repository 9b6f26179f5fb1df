"""A bench as CSV and as Markdown. Knows the document alone."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO

from localspec.core.counted import counted
from localspec.report.bench_documents import (
    ArmInfo,
    BenchDocument,
    KindInfo,
    SampleInfo,
    StreamInfo,
)
from localspec.report.documents import Interval


def bench_csv(document: BenchDocument) -> str:
    """Give the raw samples, one line each."""
    out = StringIO()
    names = list(SampleInfo.model_fields)
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for sample in document.samples:
        values = {name: _safe(value) for name, value in sample.model_dump().items()}
        writer.writerow(values)
    return out.getvalue()


def _safe(value: object) -> object:
    """Keep a spreadsheet from running a file's name as a formula."""
    risky = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if risky else value


def bench_markdown(document: BenchDocument) -> str:
    """Give the tables as Markdown."""
    machine, costs = document.machine, document.costs
    files = ", ".join(f"{file.role} `{file.name}`" for file in document.pair.files)
    lines = [
        f"# Bench of {_cell(document.pair.name)}",
        "",
        f"{_cell(document.verdict.reason)}",
        "",
        f"{files}; {machine.processor}, {counted(machine.allowed, 'processor')}; {machine.engine}; "
        f"{document.measured_at}",
        "",
    ]
    if not document.complete:
        lines += [f"**Incomplete** ({document.stopped}).", ""]
    lines += _speed_table(document)
    if costs:
        lines += ["", *_cost_table(document)]
    lines += ["", *(f"- {_cell(warning)}" for warning in document.warnings)]
    lines += _streams_table(document)
    return "\n".join(lines).rstrip() + "\n"


def arm_names(kinds: Sequence[KindInfo]) -> list[str]:
    """Give the columns: every arm that any kind has, once."""
    return list(dict.fromkeys(arm_name(arm) for kind in kinds for arm in kind.arms))


def arm_name(arm: ArmInfo | StreamInfo) -> str:
    """Name an arm as a column."""
    return arm.drafter if arm.gamma is None else f"{arm.drafter} γ{arm.gamma}"


def use_of(kind: KindInfo) -> str:
    """Say in a word or two what to use."""
    verdict = kind.verdict
    if verdict.use:
        return verdict.use if verdict.gamma is None else f"{verdict.use}, γ {verdict.gamma}"
    return "nothing" if kind.word in ("slower", "no clear difference") else kind.word


def _speed_table(document: BenchDocument) -> list[str]:
    names = arm_names(document.kinds)
    head = ["text", "temp", "plain tok/s", *names, "use"]
    rows = [head, ["---"] * len(head)]
    for kind in [*document.kinds, *document.overall]:
        plain = kind.plain.tokens_per_s
        arms = {arm_name(arm): arm for arm in kind.arms}
        cells = [_speed(arms.get(name)) for name in names]
        speed = f"{plain:.1f}" if plain else "-"
        rows.append([_cell(kind.kind), f"{kind.temp:g}", speed, *cells, use_of(kind)])
    return [f"| {' | '.join(row)} |" for row in rows]


def _speed(arm: ArmInfo | None) -> str:
    if arm is None or arm.speedup is None:
        return "-"
    predicted = f", predicted {arm.predicted_speedup:.2f}" if arm.predicted_speedup else ""
    return f"{_speedup(arm.speedup)}{predicted}"


def _speedup(found: Interval) -> str:
    known = found.low is not None and found.high is not None
    return f"{found.value:.2f}×{f' ({found.low:.2f}-{found.high:.2f})' if known else ''}"


def _cost_table(document: BenchDocument) -> list[str]:
    assert document.costs is not None
    shortest = min(point.context for point in document.costs.target)
    points = [point for point in document.costs.target if point.context == shortest]
    one = points[0].median_s
    rows = [["rows", "ms", "of one row"], ["---"] * 3]
    rows += [
        [str(p.rows), f"{1e3 * p.median_s:.2f} ± {5e2 * p.iqr_s:.2f}", f"{p.median_s / one:.2f}"]
        for p in points
    ]
    return [f"| {' | '.join(row)} |" for row in rows]


def _streams_table(document: BenchDocument) -> list[str]:
    if not document.streams:
        return []
    names = stream_names(document)
    head = ["at once", "plain tok/s", *names]
    rows = [head, ["---"] * len(head)]
    for count, points in stream_rows(document):
        cells = [_speedup(points[name].speedup) if name in points else "-" for name in names]
        rows.append([str(count), f"{first(points).plain_tokens_per_s:.1f}", *cells])
    table = [f"| {' | '.join(row)} |" for row in rows]
    return ["", "## Several at once", "", _cell(document.streams_verdict), "", *table]


def stream_names(document: BenchDocument) -> list[str]:
    """Give the arms that were measured with several sequences at once."""
    return list(dict.fromkeys(arm_name(point) for point in document.streams))


def stream_rows(document: BenchDocument) -> list[tuple[int, dict[str, StreamInfo]]]:
    """Give each number of sequences with its arms by name."""
    counts = dict.fromkeys(point.streams for point in document.streams)
    return [
        (count, {arm_name(each): each for each in document.streams if each.streams == count})
        for count in counts
    ]


def first(points: Mapping[str, StreamInfo]) -> StreamInfo:
    """Give any arm of a number of sequences; plain is the same for all."""
    return next(iter(points.values()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
