"""A tune put into its document. Knows candidates and the document's names; prints nothing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from localspec.core.statistics import Estimate
from localspec.measure.identity import MachineIdentity
from localspec.measure.tune.candidates import Layout
from localspec.measure.tune.quality import Quality
from localspec.measure.tune.result import Tried, Tuned, sentence
from localspec.report.bench_documents import MachineInfo
from localspec.report.documents import Interval, OptionValue
from localspec.report.tune_documents import (
    TuneBest,
    TuneCandidate,
    TuneDocument,
    TuneGiven,
    TuneLayout,
    TuneLeftOut,
    TuneQuality,
)
from localspec.runtime.settings import NONE, PairFiles


@dataclass(frozen=True)
class TuneFacts:
    """What the document says besides the measurements."""

    pair: str
    given: PairFiles
    machine: MachineIdentity
    options: Mapping[str, OptionValue]
    saved: Path | None = None


def tune_document(facts: TuneFacts, tuned: Tuned) -> TuneDocument:
    """Put a tune into the document `localspec/tune/1`."""
    given = facts.given
    return TuneDocument(
        pair=facts.pair,
        machine=MachineInfo(**asdict(facts.machine)),
        options=dict(facts.options),
        given=TuneGiven(
            target=str(given.target),
            draft=str(given.draft) if given.draft else None,
            tokens_per_s=tuned.given_tps,
        ),
        candidates=[_candidate(each) for each in tuned.tried],
        best=_best(tuned.best),
        verdict=sentence(tuned),
        saved=str(facts.saved) if facts.saved else None,
        drafters=list(tuned.drafters),
        left_out=[TuneLeftOut(drafter=e.drafter, reason=e.reason) for e in tuned.left_out],
        notes=list(tuned.notes),
        warnings=list(tuned.warnings),
        complete=not tuned.stopped,
        stopped=tuned.stopped,
    )


def _candidate(tried: Tried) -> TuneCandidate:
    arrangement = tried.arrangement
    return TuneCandidate(
        target_layout=_layout(arrangement.target, tried.files.target if tried.files else None),
        draft_layout=_draft(tried),
        drafter=arrangement.drafter,
        gamma=arrangement.gamma or None,
        predicted=_interval(arrangement.predicted.speedup),
        measured=_measured(tried),
        tokens_per_s=tried.tokens_per_s,
        word=tried.word.value if tried.word else None,
        quality=_quality(tried.quality),
        beyond_max_kl=tried.loses_too_much,
    )


def _best(tried: Tried | None) -> TuneBest | None:
    if tried is None:
        return None
    arrangement, speed = tried.arrangement, _measured(tried)
    assert speed is not None
    return TuneBest(
        target_layout=_layout(arrangement.target, tried.files.target if tried.files else None),
        draft_layout=_draft(tried),
        drafter=arrangement.drafter,
        gamma=arrangement.gamma or None,
        tokens_per_s=tried.tokens_per_s,
        speedup_over_given_plain=speed,
        quality=_quality(tried.quality),
    )


def _draft(tried: Tried) -> TuneLayout | None:
    arrangement = tried.arrangement
    if arrangement.draft is None or arrangement.drafter == NONE:
        return None
    files = tried.files
    return _layout(arrangement.draft, files.draft or files.skipped if files else None)


def _layout(layout: Layout, path: Path | None) -> TuneLayout:
    return TuneLayout(
        name=layout.name,
        file=str(path) if path else None,
        made_from=layout.source.name if layout.recipe else None,
        bytes=layout.bytes,
    )


def _measured(tried: Tried) -> Interval | None:
    if tried.speedup is None:
        return None
    found = tried.interval
    return Interval(
        value=tried.speedup, low=found.low if found else None, high=found.high if found else None
    )


def _interval(estimate: Estimate) -> Interval:
    return Interval(value=estimate.value, low=estimate.low, high=estimate.high)


def _quality(found: Quality | None) -> TuneQuality | None:
    if found is None:
        return None
    values: dict[str, float] = {}
    for name, estimate in (
        ("kl_mean", found.kl_mean),
        ("kl_p99", found.kl_p99),
        ("top1_agreement", found.top1),
        ("perplexity_ratio", found.perplexity_ratio),
    ):
        values |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return TuneQuality(tokens=found.tokens, **values)
