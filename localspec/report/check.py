"""A check put into its document. Knows candidates and the document's names; prints nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localspec.measure.check import Candidate, Checked, best_by_kind
from localspec.measure.predict import Predicted
from localspec.report.bench import cost_curve
from localspec.report.documents import (
    CheckCandidate,
    CheckDocument,
    CheckFinding,
    CheckKind,
    PredictedPoint,
    VerdictInfo,
)

REFUSED = "cannot run"


@dataclass(frozen=True)
class Looked:
    """What headers and memory say of one draft. `refusal`: why it cannot run, if it cannot."""

    path: Path | None
    findings: tuple[CheckFinding, ...]
    memory_bytes: int | None
    refusal: str = ""


def check_document(checked: Checked, looked: Sequence[Looked]) -> CheckDocument:
    """Put a check into the document `localspec/check/1`."""
    by_path = {each.path: each for each in looked}
    best = checked.candidates[0] if checked.candidates else None
    refused = [each for each in looked if each.refusal]
    return CheckDocument(
        findings=[finding for each in looked for finding in _findings(each, len(looked) > 1)],
        costs=cost_curve(checked.costs),
        predicted=[_point(point) for point in best.screened.points] if best else [],
        verdict=_verdict(checked),
        candidates=[
            *(_candidate(each, by_path.get(each.path)) for each in checked.candidates),
            *(_refused(each) for each in refused),
        ],
    )


def _findings(looked: Looked, several: bool) -> list[CheckFinding]:
    name = f"{looked.path.name}: " if several and looked.path else ""
    return [
        CheckFinding(id=found.id, ok=found.ok, detail=f"{name}{found.detail}")
        for found in looked.findings
    ]


def _verdict(checked: Checked) -> VerdictInfo:
    best = checked.best
    if best is not None:
        name = best.path.name if best.path else best.drafter
        return VerdictInfo(
            use=best.drafter,
            gamma=best.best.gamma,
            speedup=best.best.speedup.value,
            reason=f"{name} pays: {best.reason}",
        )
    if not checked.candidates:
        reason = "nothing could be measured: no draft can run, or the answers were empty"
    else:
        first = checked.candidates[0]
        name = first.path.name if first.path else first.drafter
        reason = f"leave it off ({first.word.value}); the best, {name}: {first.reason}"
    return VerdictInfo(use=None, gamma=None, speedup=None, reason=reason)


def _candidate(found: Candidate, looked: Looked | None) -> CheckCandidate:
    return CheckCandidate(
        drafter=found.drafter,
        file=found.path.name if found.path else None,
        bytes=found.path.stat().st_size if found.path else None,
        memory_bytes=looked.memory_bytes if looked and found.path else None,
        cost_ratio=found.cost_ratio,
        acceptance_rate=found.screened.acceptance,
        predicted=[_point(point) for point in found.screened.points],
        kinds=[_kind(kind, point) for kind, point in best_by_kind(found.screened).items()],
        word=found.word.value,
        reason=found.reason,
    )


def _refused(looked: Looked) -> CheckCandidate:
    return CheckCandidate(
        drafter="model",
        file=looked.path.name if looked.path else None,
        bytes=looked.path.stat().st_size if looked.path else None,
        memory_bytes=looked.memory_bytes,
        cost_ratio=None,
        acceptance_rate=None,
        predicted=[],
        kinds=[],
        word=REFUSED,
        reason=looked.refusal,
    )


def _point(point: Predicted) -> PredictedPoint:
    speed = point.speedup
    return PredictedPoint(gamma=point.gamma, speedup=speed.value, low=speed.low, high=speed.high)


def _kind(kind: str, point: Predicted) -> CheckKind:
    speed = point.speedup
    return CheckKind(
        kind=kind, gamma=point.gamma, speedup=speed.value, low=speed.low, high=speed.high
    )
