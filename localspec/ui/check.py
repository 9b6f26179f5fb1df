"""A check on the terminal: findings, the cost of passes, the candidates and the verdict.

Knows the document. Returns lines; printing is left to the command.
"""

from localspec.pairs.memory import show_bytes
from localspec.report.documents import CheckCandidate, CheckDocument
from localspec.ui.bench import cost_lines, labelled, wrapped
from localspec.ui.tables import table

LONGEST_NAME = 32


def check_lines(document: CheckDocument, width: int, *, unicode: bool = True) -> list[str]:
    """Give the whole screen of a check."""
    lines = [
        line
        for found in document.findings
        for line in labelled("ok" if found.ok else "!", f"{found.id}: {found.detail}", width)
    ]
    if document.costs:
        lines += ["", *cost_lines(document.costs, width, unicode=unicode)]
    lines += ["", *_candidates(document.candidates, width)]
    for each in document.candidates:
        lines += labelled("", f"{_name(each)}: {each.word}. {each.reason}", width)
    lines += ["", *wrapped(f"Verdict: {document.verdict.reason}", width)]
    return lines if unicode else [line.replace("γ", "g").replace("×", "x") for line in lines]


def _name(candidate: CheckCandidate) -> str:
    """Shorten a file's name in its middle, where names of one family are alike."""
    name = candidate.file or candidate.drafter
    if len(name) <= LONGEST_NAME:
        return name
    head = (LONGEST_NAME - 1) // 2
    return f"{name[:head]}…{name[head + 1 - LONGEST_NAME :]}"


def _candidates(candidates: list[CheckCandidate], width: int) -> list[str]:
    rows = [["drafter", "memory", "cost", "best γ", "expected", *_kinds(candidates)]]
    for each in candidates:
        if not each.predicted:
            continue
        best = max(each.predicted, key=lambda point: (point.speedup, -point.gamma))
        kinds = {kind.kind: f"{kind.speedup:.2f}×" for kind in each.kinds}
        rows.append(
            [
                _name(each),
                show_bytes(each.memory_bytes) if each.memory_bytes else "",
                f"{each.cost_ratio:.2f}" if each.cost_ratio is not None else "",
                str(best.gamma),
                f"{best.speedup:.2f} ({best.low:.2f}-{best.high:.2f})×",
                *(kinds.get(kind, "") for kind in _kinds(candidates)),
            ]
        )
    return table(rows, width, left=frozenset({0})) if len(rows) > 1 else []


def _kinds(candidates: list[CheckCandidate]) -> list[str]:
    return list(dict.fromkeys(kind.kind for each in candidates for kind in each.kinds))
