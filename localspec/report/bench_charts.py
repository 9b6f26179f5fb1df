"""The charts of a bench as SVG that follows the page's colours, light or dark.

Knows the document. Each figure is drawn with placeholder colours, which become CSS variables; text
stays text. No date and no random ids, so that the same document gives the same bytes.
"""

import re
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from localspec.core.counted import counted
from localspec.report.bench_documents import ArmInfo, BenchDocument, KindInfo
from localspec.report.bench_text import arm_name, stream_names, stream_rows
from localspec.report.documents import Interval

INK, GRID, FAINT = "#010203", "#010204", "#010205"
SERIES = ("#010211", "#010212", "#010213", "#010214", "#010215", "#010216")
VARIABLES = {
    INK: "var(--ink)",
    GRID: "var(--grid)",
    FAINT: "var(--faint)",
    **{colour: f"var(--s{number})" for number, colour in enumerate(SERIES, 1)},
}
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "localspec",
    "font.family": "sans-serif",
    "font.size": 11.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
WIDTH = 7.2
Draw = Callable[[Axes], None]


def colours(document: BenchDocument) -> dict[str, str]:
    """Give each drafter its colour, the same in every chart."""
    names = [arm.drafter for kind in document.kinds for arm in kind.arms]
    names += [point.drafter for point in document.expected]
    return {name: SERIES[i % len(SERIES)] for i, name in enumerate(dict.fromkeys(names))}


def cost_chart(document: BenchDocument) -> str:
    """Draw the staircase: what a pass over n rows costs, in passes over one."""
    costs = document.costs
    if costs is None:
        return ""
    contexts = sorted({point.context for point in costs.target})

    def draw(axes: Axes) -> None:
        for number, context in enumerate(contexts):
            points = sorted((p for p in costs.target if p.context == context), key=lambda p: p.rows)
            one = points[0].median_s
            rows = [point.rows for point in points]
            heights = [point.median_s / one for point in points]
            label = f"after {counted(context, 'token')}"
            if number == 0:
                spread = [point.iqr_s / one / 2 for point in points]
                axes.bar(rows, heights, 0.72, color=SERIES[0], alpha=0.8, label=label)
                axes.errorbar(rows, heights, spread, fmt="none", ecolor=INK, elinewidth=1)
            else:
                colour = SERIES[number % len(SERIES)]
                axes.plot(rows, heights, "o", color=colour, markersize=4, label=label)
        axes.set_xlabel("rows in a pass")
        axes.set_ylabel("cost, in one-row passes")
        axes.set_xticks([p.rows for p in costs.target if p.context == contexts[0]])
        axes.legend(loc="upper left")
        axes.grid(axis="x", visible=False)

    return _svg(draw, 3.0)


def kinds_chart(document: BenchDocument) -> str:
    """Draw every arm's speed-up with its interval, kind by kind."""
    kinds = [*document.kinds, *(document.overall if len(document.kinds) > 1 else ())]
    colour = colours(document)
    measured = [arm for kind in kinds for arm in kind.arms if arm.speedup is not None]
    names = list(dict.fromkeys(map(arm_name, measured)))
    if not names:
        return ""

    def draw(axes: Axes) -> None:
        axes.axvline(1.0, color=INK, linewidth=1)
        axes.axvspan(0.95, 1.05, color=FAINT, alpha=0.35, linewidth=0)
        for number, name in enumerate(names):
            found = [(at, arm) for at, kind in enumerate(kinds) for arm in _named(kind, name)]
            if not found:
                continue
            shift = (number - (len(names) - 1) / 2) * 0.72 / max(len(names), 1)
            values = [arm.speedup.value for _, arm in found if arm.speedup]
            reach = _reach([arm.speedup for _, arm in found if arm.speedup])
            axes.errorbar(
                values,
                [at + shift for at, _ in found],
                xerr=reach,
                fmt="osD^vP"[number % 6],
                color=colour[found[0][1].drafter],
                capsize=2,
                markersize=5,
                label=name,
            )
        axes.set_yticks(range(len(kinds)), [_kind_label(kind, kinds) for kind in kinds])
        axes.invert_yaxis()
        axes.set_xlabel("times as fast as plain decoding, 95 % interval; grey: no difference")
        axes.legend(loc="best")

    return _svg(draw, 1.2 + 0.5 * len(kinds))


def _kind_label(kind: KindInfo, kinds: Sequence[KindInfo]) -> str:
    several = len({each.temp for each in kinds}) > 1
    return f"{kind.kind}, {kind.temp:g}" if several else kind.kind


def _named(kind: KindInfo, name: str) -> list[ArmInfo]:
    return [arm for arm in kind.arms if arm_name(arm) == name and arm.speedup is not None]


def _reach(intervals: Sequence[Interval]) -> list[list[float]]:
    low = [max(each.value - (each.low or each.value), 0.0) for each in intervals]
    high = [max((each.high or each.value) - each.value, 0.0) for each in intervals]
    return [low, high]


def gamma_chart(document: BenchDocument) -> str:
    """Draw the speed-up by gamma: lines as replay expects it, marks as it was measured."""
    if not document.expected:
        return ""
    colour = colours(document)
    arms = [arm for kind in document.overall for arm in kind.arms if arm.gamma and arm.speedup]

    def draw(axes: Axes) -> None:
        axes.axhline(1.0, color=INK, linewidth=1)
        for name in dict.fromkeys(point.drafter for point in document.expected):
            points = [point for point in document.expected if point.drafter == name]
            gammas = [point.gamma for point in points]
            axes.plot(
                gammas,
                [p.speedup.value for p in points],
                color=colour[name],
                label=f"{name}, expected",
            )
            axes.fill_between(
                gammas,
                [p.speedup.low or p.speedup.value for p in points],
                [p.speedup.high or p.speedup.value for p in points],
                color=colour[name],
                alpha=0.15,
                linewidth=0,
            )
        for arm in arms:
            _mark(axes, arm, colour[arm.drafter])
        axes.set_xlabel("γ: tokens drafted per pass")
        axes.set_ylabel("times as fast as plain")
        handles, labels = axes.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))
        axes.legend(once.values(), once.keys(), loc="best")

    return _svg(draw, 3.0)


def _mark(axes: Axes, arm: ArmInfo, colour: str) -> None:
    """Put a measured arm where its gamma is."""
    if arm.gamma is None or arm.speedup is None:
        return
    axes.errorbar(
        [arm.gamma],
        [arm.speedup.value],
        yerr=_reach([arm.speedup]),
        fmt="o",
        color=colour,
        capsize=3,
        label=f"{arm.drafter}, measured",
    )


def acceptance_chart(document: BenchDocument) -> str:
    """Draw the acceptance rate of each drafted place."""
    colour = colours(document)
    arms = [arm for kind in document.overall for arm in kind.arms if arm.acceptance_by_position]
    if not arms:
        return ""

    def draw(axes: Axes) -> None:
        for number, arm in enumerate(arms):
            places = range(1, len(arm.acceptance_by_position) + 1)
            axes.plot(
                places,
                arm.acceptance_by_position,
                marker="osD^vP"[number % 6],
                color=colour[arm.drafter],
                label=arm_name(arm),
            )
        most = max(len(arm.acceptance_by_position) for arm in arms)
        axes.set_xticks(range(1, most + 1))
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("place in the draft")
        axes.set_ylabel("accepted / judged")
        axes.legend(loc="best")

    return _svg(draw, 2.6)


def time_chart(document: BenchDocument) -> str:
    """Draw where the time of each arm's rounds went."""
    arms = [arm for kind in document.overall for arm in kind.arms if arm.time is not None]
    if not arms:
        return ""

    def draw(axes: Axes) -> None:
        left = [0.0] * len(arms)
        for number, part in enumerate(("draft", "verify", "other")):
            shares = [100 * float(getattr(arm.time, part)) for arm in arms]
            axes.barh(
                range(len(arms)),
                shares,
                0.6,
                left=left,
                color=(SERIES[0], SERIES[1], FAINT)[number],
                label=part,
            )
            left = [a + b for a, b in zip(left, shares, strict=True)]
        axes.set_yticks(range(len(arms)), [arm_name(arm) for arm in arms])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the time of a round")
        axes.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.3))
        axes.grid(axis="y", visible=False)

    return _svg(draw, 1.3 + 0.4 * len(arms))


def streams_chart(document: BenchDocument) -> str:
    """Draw each drafter's speed-up by the number of sequences decoded together."""
    if not document.streams:
        return ""
    colour, rows = colours(document), stream_rows(document)

    def draw(axes: Axes) -> None:
        axes.axhline(1.0, color=INK, linewidth=1)
        axes.axhspan(0.95, 1.05, color=FAINT, alpha=0.35, linewidth=0)
        for number, name in enumerate(stream_names(document)):
            mine = [(at, points[name]) for at, (_, points) in enumerate(rows) if name in points]
            axes.errorbar(
                [at for at, _ in mine],
                [point.speedup.value for _, point in mine],
                yerr=_reach([point.speedup for _, point in mine]),
                fmt=f"{'osD^vP'[number % 6]}-",
                color=colour.get(mine[0][1].drafter, SERIES[number % 6]),
                capsize=3,
                label=name,
            )
        axes.set_xticks(range(len(rows)), [str(count) for count, _ in rows])
        axes.set_xlabel("sequences decoded together; grey: no difference")
        axes.set_ylabel("times as fast as plain")
        axes.legend(loc="best")
        axes.grid(axis="x", visible=False)

    return _svg(draw, 2.8)


def _svg(draw: Draw, height: float) -> str:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure.add_subplot())
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return themed(out.getvalue())


def themed(svg: str) -> str:
    """Keep the drawing alone, in the page's colours and at the page's width."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 role="img">', svg, count=1)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    return svg.replace("#000000", "var(--ink)")
