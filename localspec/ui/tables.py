"""Small aligned tables and bars that fit the terminal, in Unicode or plain ASCII.

Knows rows of text and numbers. Does not know what they were measured on.
"""

from collections.abc import Sequence

from localspec.core.theory import CurvePoint, best
from localspec.ui.cells import clip, width_of

GAP = 2
_EIGHTHS = " ▏▎▍▌▋▊▉"
WIDEST_BAR = 40
LEAST = 10


def table(rows: Sequence[Sequence[str]], width: int, *, left: frozenset[int]) -> list[str]:
    """Align rows; the first is the header. Columns in `left` are left-aligned, others right.

    Columns that do not fit are lost from the right; one of text is clipped while ten columns
    of it remain.
    """
    count = max(map(len, rows), default=0)
    cells = [[*row, *[""] * (count - len(row))] for row in rows]
    widths = [max(width_of(row[column]) for row in cells) for column in range(count)]
    while len(widths) > 1 and (over := sum(widths) + GAP * len(widths) - width) > 0:
        if len(widths) - 1 in left and widths[-1] - over >= LEAST:
            break
        widths.pop()
    return [_row(row, widths, left, width) for row in cells]


def folded(rows: Sequence[Sequence[str]], width: int, *, left: frozenset[int]) -> list[str]:
    """Align rows as `table` does; columns that do not fit follow below, behind the first again."""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    blocks: list[list[int]] = [[0]]
    for column, wide in enumerate(widths[1:], 1):
        used = sum(widths[each] + GAP for each in blocks[-1])
        if len(blocks[-1]) > 1 and used + wide + GAP > width:
            blocks.append([0])
        blocks[-1].append(column)
    lines: list[str] = []
    for block in blocks:
        own = frozenset(place for place, column in enumerate(block) if column in left)
        part = [[row[column] for column in block] for row in rows]
        lines += ["", *table(part, width, left=own)] if lines else table(part, width, left=own)
    return lines


def _row(row: Sequence[str], widths: Sequence[int], left: frozenset[int], width: int) -> str:
    parts = []
    for column, wide in enumerate(widths):
        space = " " * (wide - width_of(row[column]))
        parts.append(row[column] + space if column in left else space + row[column])
    return clip((" " * GAP + (" " * GAP).join(parts)).rstrip(), width)


def facts(pairs: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Align names and what is said about them; long sayings are cut at a field, never mid-way."""
    wide = max((width_of(name) for name, _ in pairs), default=0)
    lines = []
    for name, saying in pairs:
        indent = " " * (2 + wide + GAP)
        lead = f"  {name}{' ' * (wide - width_of(name) + GAP)}"
        for line in _wrapped(saying, max(width - width_of(indent), 12)):
            lines.append(clip((lead + line).rstrip(), width))
            lead = indent
    return lines


def _wrapped(saying: str, width: int) -> list[str]:
    """Break at ` · ` where a line would grow too long."""
    lines = [""]
    for field in saying.split(" · "):
        longer = f"{lines[-1]} · {field}" if lines[-1] else field
        if lines[-1] and width_of(longer) > width:
            lines.append(field)
        else:
            lines[-1] = longer
    return lines


def broken(text: str, width: int) -> list[str]:
    """Break a sentence between words; a word that is wider than a line stays whole."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and width_of(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def bar(value: float, top: float, width: int, *, unicode: bool = True) -> str:
    """Draw a share of `top` in at most `width` columns."""
    share = min(max(value / top, 0.0), 1.0) * width if top > 0 else 0.0
    if not unicode:
        return "#" * round(share)
    whole, rest = int(share), int((share - int(share)) * 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def curve_chart(points: Sequence[CurvePoint], width: int, *, unicode: bool = True) -> list[str]:
    """Draw the expected speed-up of every gamma; the best one is named."""
    top, chosen = max((point.speedup for point in points), default=1.0), best(points)
    gamma, times = ("γ", "×") if unicode else ("g", "x")
    room = min(width - 34, WIDEST_BAR)
    rows = [[gamma, "tokens/pass", "speed-up", ""]]
    for point in points:
        drawn = bar(point.speedup, top, room, unicode=unicode) if room >= 4 else ""
        note = " best" if point is chosen else ""
        saying = [str(point.gamma), f"{point.tokens_per_pass:.2f}", f"{point.speedup:.2f}{times}"]
        rows.append([*saying, drawn + note])
    return table(rows, width, left=frozenset({3}))
