"""A bench put into its document. Knows findings and the document's names; prints nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from localspec.core.statistics import Estimate
from localspec.measure.costs import CostPoint, Costs
from localspec.measure.findings import ArmFound, Findings, KindFound, loops_warning
from localspec.measure.identity import FileIdentity, MachineIdentity
from localspec.measure.result import BenchResult, Compared
from localspec.measure.sample import Sample
from localspec.measure.screen import Screened
from localspec.measure.streams import StreamsFound, streams_sentence
from localspec.report import documents
from localspec.report.bench_documents import (
    ArmInfo,
    BenchDocument,
    ExpectedPoint,
    FileInfo,
    FirstDifference,
    Identical,
    KindInfo,
    MachineInfo,
    PairInfo,
    PlainInfo,
    SampleInfo,
    StreamInfo,
    TimeSplit,
)
from localspec.report.documents import CostCurve, Interval, OptionValue, VerdictInfo


@dataclass(frozen=True)
class BenchFacts:
    """What is to be said of a bench besides what it measured."""

    pair: str
    target: FileIdentity
    draft: FileIdentity | None
    machine: MachineIdentity
    options: Mapping[str, OptionValue]
    measured_at: str
    expected: Sequence[Screened] = ()
    notes: Sequence[str] = field(default=())


def bench_document(
    facts: BenchFacts,
    result: BenchResult,
    found: Findings,
    *,
    streams: Sequence[StreamsFound] = (),
) -> BenchDocument:
    """Put a bench into the document `localspec/bench/1`."""
    stopped = next((each.result.stopped for each in streams if each.result.stopped), "")
    loops = loops_warning(found)
    return BenchDocument(
        machine=MachineInfo(**asdict(facts.machine)),
        pair=PairInfo(name=facts.pair, files=_files(facts)),
        options=dict(facts.options),
        costs=cost_curve(result.costs) if result.costs else None,
        kinds=[_kind(kind) for kind in found.kinds],
        overall=[_kind(kind) for kind in found.overall],
        expected=[point for screened in facts.expected for point in _expected(screened)],
        streams=[point for each in streams for point in _streams(each)],
        streams_verdict=streams_sentence(streams),
        verdict=_overall(found),
        warnings=[*facts.notes, *found.warnings, *([loops] if loops else [])],
        samples=[
            *(_sample(sample, kept=True) for sample in result.samples),
            *(_sample(sample, kept=False) for sample in result.replaced),
            *(
                _sample(sample, kept=True, streams=each.streams)
                for each in streams
                for sample in each.result.samples
            ),
        ],
        probes_s=list(result.probes),
        complete=result.complete and not stopped,
        stopped=stopped or result.stopped,
        measured_at=facts.measured_at,
    )


def _files(facts: BenchFacts) -> list[FileInfo]:
    files = [FileInfo(role="target", **asdict(facts.target))]
    return [*files, FileInfo(role="draft", **asdict(facts.draft))] if facts.draft else files


def cost_curve(costs: Costs) -> CostCurve:
    """Put cost curves into the document's shape; the draft's are those of the model."""
    ratio = costs.cost_ratio("model")
    return CostCurve(
        target=[_point(point) for point in costs.target],
        draft=[_point(point) for point in costs.drafts.get("model", ()) if not point.unread],
        cost_ratio=ratio,
    )


def _point(point: CostPoint) -> documents.CostPoint:
    return documents.CostPoint(
        rows=point.rows, context=point.context, median_s=point.median_s, iqr_s=point.iqr_s
    )


def interval(value: float | None, estimate: Estimate | None) -> Interval | None:
    """Give a number with its interval, if it has one."""
    if value is None:
        return None
    if estimate is None:
        return Interval(value=value)
    return Interval(value=value, low=estimate.low, high=estimate.high)


def _kind(kind: KindFound) -> KindInfo:
    return KindInfo(
        kind=kind.kind,
        temp=kind.temperature,
        prompts=kind.prompts,
        plain=PlainInfo(tokens_per_s=kind.plain_tps),
        arms=[_arm(arm) for arm in kind.arms],
        verdict=_verdict(kind),
        word=kind.word.value,
        helps=list(kind.helps),
        loops=kind.loops,
        affected=kind.quiet.affected,
    )


def _verdict(kind: KindFound) -> VerdictInfo:
    use = kind.use
    return VerdictInfo(
        use=use.arm.name if use else None,
        gamma=use.arm.gamma if use else None,
        speedup=use.speedup if use else None,
        reason=f"{kind.word.value}: {kind.reason}" if kind.reason else kind.word.value,
    )


def _overall(found: Findings) -> VerdictInfo:
    best = max(
        (kind.use for kind in found.overall if kind.use),
        key=lambda use: use.speedup or 0.0,
        default=None,
    )
    return VerdictInfo(
        use=best.arm.name if best else None,
        gamma=best.arm.gamma if best else None,
        speedup=best.speedup if best else None,
        reason=found.sentence,
    )


def _arm(found: ArmFound) -> ArmInfo:
    account = found.account
    return ArmInfo(
        drafter=found.arm.name,
        gamma=found.arm.gamma,
        temp=found.arm.temperature,
        tokens_per_s=found.tokens_per_s,
        speedup=interval(found.speedup, found.interval),
        word=found.word.value,
        predicted_speedup=found.predicted,
        acceptance_rate=found.acceptance_rate,
        acceptance_by_position=list(found.by_position),
        tokens_per_pass=found.tokens_per_pass,
        break_even_acceptance=account.break_even if account else None,
        time=TimeSplit(draft=account.draft, verify=account.verify, other=account.other)
        if account
        else None,
        identical=_identical(found.identical) if found.identical else None,
    )


def _identical(compared: Compared) -> Identical:
    return Identical(
        same=compared.same,
        of=compared.of,
        first_differences=[
            FirstDifference(prompt=d.prompt, position=d.position, gap=d.gap)
            for d in compared.differences
        ],
    )


def _expected(screened: Screened) -> list[ExpectedPoint]:
    return [
        ExpectedPoint(
            drafter=screened.drafter,
            gamma=point.gamma,
            tokens_per_pass=point.tokens_per_pass,
            speedup=Interval(
                value=point.speedup.value, low=point.speedup.low, high=point.speedup.high
            ),
        )
        for point in screened.points
    ]


def _streams(found: StreamsFound) -> Iterator[StreamInfo]:
    """Give a point for each arm that was measured with so many sequences."""
    for arm in found.arms:
        speedup = interval(arm.speedup, arm.interval)
        if speedup is None or found.plain_tps is None or arm.tokens_per_s is None:
            continue
        yield StreamInfo(
            streams=found.streams,
            drafter=arm.arm.name,
            gamma=arm.arm.gamma,
            prompts=len(found.result.pairings(arm.arm)),
            plain_tokens_per_s=found.plain_tps,
            tokens_per_s=arm.tokens_per_s,
            speedup=speedup,
            word=arm.word.value,
            acceptance_rate=arm.acceptance_rate,
            tokens_per_pass=arm.tokens_per_pass,
            identical=_identical(arm.identical) if arm.identical else None,
        )


def _sample(sample: Sample, *, kept: bool, streams: int = 1) -> SampleInfo:
    slot = sample.slot
    return SampleInfo(
        streams=streams,
        run=slot.run,
        kind=slot.kind,
        prompt=slot.index,
        drafter=slot.arm.name,
        gamma=slot.arm.gamma,
        temp=slot.arm.temperature,
        seed=slot.seed,
        tokens=sample.emitted,
        passes=len(sample.steps),
        drafted=int(sample.total("drafted")),
        judged=int(sample.total("judged")),
        accepted=int(sample.total("accepted")),
        prefill_s=sample.prefill_s,
        draft_s=sample.total("draft_s"),
        verify_s=sample.total("verify_s"),
        other_s=sample.total("other_s"),
        finish=sample.finish,
        loop_tokens=sample.loop_tokens,
        others=sample.others,
        attempts=sample.attempts,
        affected=sample.affected,
        kept=kept,
    )
