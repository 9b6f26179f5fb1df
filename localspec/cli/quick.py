"""`check --quick`: does the draft fit the target and both this machine; headers and memory only.

Knows findings. Measures nothing and loads no weights, so it says nothing about speed.
"""

from dataclasses import dataclass

from localspec.cli.room import Headers, headers_of, loads, need
from localspec.errors import PairRefused
from localspec.measure.machine import available_bytes
from localspec.pairs.compat import compare
from localspec.pairs.header import Header, read_header
from localspec.pairs.memory import Room, show_bytes
from localspec.report.documents import CheckDocument, CheckFinding, VerdictInfo
from localspec.runtime.heads import kind_of
from localspec.runtime.settings import EAGLE3, RunSettings

MEMORY = "memory"
UNKNOWN = "headers and memory only; whether it pays is measured without --quick"


@dataclass(frozen=True)
class Quick:
    """What was found; `mode` is how the draft would run, None without a draft."""

    findings: tuple[CheckFinding, ...]
    mode: str | None
    refusal: str = ""

    @property
    def fits(self) -> bool:
        """Tell whether the pair can run here."""
        return not self.refusal


def quick_check(settings: RunSettings, free_bytes: int | None = None) -> Quick:
    """Look at headers and memory; `free_bytes` is this machine's free memory if not given.

    Raises: NotHere, PairRefused for a file that cannot be read at all.
    """
    headers = headers_of(settings)
    if headers is None:
        raise PairRefused(f"{settings.files.target.name} says nothing of its layers")
    findings: list[CheckFinding] = []
    mode, refusal = None, ""
    guessing = headers.draft or _named_head(settings)
    if guessing is not None:
        fit = compare(headers.target, guessing)
        findings += [CheckFinding(id=f.id, ok=f.ok, detail=f.detail) for f in fit.findings]
        mode, refusal = str(fit.mode), fit.refusal.detail if fit.refusal else ""
    memory = memory_finding(settings, headers, free_bytes)
    if not memory.ok and not refusal:
        refusal = memory.detail
    return Quick((*findings, memory), mode, refusal)


def _named_head(settings: RunSettings) -> Header | None:
    """Read the header of an EAGLE-3 head that the user named, under either option."""
    named = settings.head
    if named is None and settings.draft_required:
        named = dict(settings.files.heads).get(EAGLE3)
    return read_header(named) if named and kind_of(named) == EAGLE3 else None


def memory_finding(
    settings: RunSettings, headers: Headers, free_bytes: int | None = None
) -> CheckFinding:
    """Hold what both models need against what is free."""
    free = available_bytes() if free_bytes is None else free_bytes
    needed, (load, _) = need(settings, headers), loads(settings, headers)
    detail = f"{needed}; at {load.n_ctx} tokens of context, {show_bytes(free)} is free"
    return CheckFinding(id=MEMORY, ok=needed.total <= Room(free).usable, detail=detail)


def quick_document(quick: Quick) -> CheckDocument:
    """Put the findings into the document `localspec/check/1`; nothing in it is measured."""
    use = (quick.mode or None) if quick.fits else None
    reason = UNKNOWN if quick.fits else quick.refusal
    return CheckDocument(
        findings=list(quick.findings),
        costs=None,
        predicted=[],
        verdict=VerdictInfo(use=use, gamma=None, speedup=None, reason=reason),
    )


def quick_lines(quick: Quick) -> list[str]:
    """Write the findings for people, the verdict last."""
    lines = [f"  {'ok' if f.ok else '! '}  {f.id}: {f.detail}" for f in quick.findings]
    verdict = f"It fits ({UNKNOWN})." if quick.fits else f"It cannot run: {quick.refusal}"
    return [*lines, "", verdict]
