"""What a bench found: a word, a number and a reason for each kind of text, and overall.

Knows results and the rule of the verdict. Does not know how it is shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from localspec.core.counted import counted
from localspec.core.events import Step
from localspec.core.statistics import Estimate
from localspec.core.tally import acceptance_by_position
from localspec.measure import noise
from localspec.measure.advice import Account, account_of, helps
from localspec.measure.arms import Arm
from localspec.measure.predict import overheads, predicted_speedup
from localspec.measure.result import BenchResult, Compared, tokens_per_s
from localspec.measure.verdict import Quiet, Word, judge

ENOUGH_JUDGED = 5


@dataclass(frozen=True)
class ArmFound:
    """One arm in one kind of text (or overall). `speedup` None without a pair of answers."""

    arm: Arm
    word: Word
    speedup: float | None
    interval: Estimate | None
    tokens_per_s: float | None
    predicted: float | None
    acceptance_rate: float | None
    by_position: tuple[float, ...]
    tokens_per_pass: float | None
    identical: Compared | None
    account: Account | None = None


@dataclass(frozen=True)
class KindFound:
    """One kind of text at one temperature. `use` None: leave drafting off (or nothing is known)."""

    kind: str
    temperature: float
    prompts: int
    plain_tps: float | None
    arms: tuple[ArmFound, ...]
    word: Word
    quiet: Quiet
    use: ArmFound | None = None
    reason: str = ""
    helps: tuple[str, ...] = ()
    loops: int = 0

    @property
    def best(self) -> ArmFound | None:
        """Give the fastest arm, whether it pays or not."""
        known = [found for found in self.arms if found.speedup is not None]
        return max(known, key=lambda found: found.speedup or 0.0, default=None)


@dataclass(frozen=True)
class Findings:
    """Everything a bench found."""

    kinds: tuple[KindFound, ...]
    overall: tuple[KindFound, ...]
    sentence: str
    warnings: tuple[str, ...] = field(default=())


def findings_of(result: BenchResult) -> Findings:
    """Judge what was measured so far."""
    temperatures = [arm.temperature for arm in result.design.plain_arms]
    kinds = tuple(
        _kind(result, kind.name, temperature)
        for temperature in temperatures
        for kind in result.design.kinds
        if any(sample.slot.kind == kind.name for sample in result.samples)
    )
    overall = tuple(_kind(result, None, temperature) for temperature in temperatures)
    warnings = (*result.warnings, *odd_texts(result))
    return Findings(kinds, overall, sentence(kinds), warnings)


def odd_texts(result: BenchResult) -> Iterator[str]:
    """Say which differences between texts are more than rounding."""
    odd = [difference for difference in result.differences if not difference.rounding]
    if odd:
        said = counted(len(odd), "text differs", plural="texts differ")
        yield (
            f"{said} from plain where the two best logits are {odd[0].gap:.2f} apart: "
            "more than rounding explains; please report it"
        )


def _kind(result: BenchResult, kind: str | None, temperature: float) -> KindFound:
    arms = [arm for arm in result.design.arms if arm.temperature == temperature]
    plain = result.of(Arm(temperature=temperature), kind)
    quiet = quietness(result, kind, temperature)
    found = tuple(arm_found(result, arm, kind, quiet=quiet) for arm in arms)
    bare = KindFound(
        kind or "overall",
        temperature,
        len({sample.slot.prompt.ids.tobytes() for sample in plain}),
        tokens_per_s(plain),
        found,
        Word.FEW,
        quiet,
        loops=sum(result.loops(name) for name in ([kind] if kind else _names(result))),
    )
    return _judged(bare, result)


def _names(result: BenchResult) -> list[str]:
    return [kind.name for kind in result.design.kinds]


def quietness(result: BenchResult, kind: str | None, temperature: float) -> Quiet:
    """Say how undisturbed the answers of a kind were."""
    mine = [
        sample
        for sample in result.samples
        if kind in (None, sample.slot.kind) and sample.arm.temperature == temperature
    ]
    plain = [s for s in mine if s.arm.plain and s.steps]
    costs = result.costs
    paces = [
        s.seconds / (sum(costs.step_s(step) for step in s.steps) if costs else len(s.steps))
        for s in plain
    ]
    affected = sum(bool(sample.affected) for sample in mine) / max(len(mine), 1)
    spread = noise.relative_spread(paces) if len(paces) > 1 else 0.0
    probes = result.probes or (1.0,)
    again = [s for s in result.replaced if kind in (None, s.slot.kind)]
    return Quiet(
        affected,
        spread,
        result.drift,
        max(probes) / min(probes) - 1,
        len(again) / max(len(mine), 1),
    )


def arm_found(result: BenchResult, arm: Arm, kind: str | None = None, *, quiet: Quiet) -> ArmFound:
    """Judge one arm, in one kind of text or over all."""
    steps = result.steps(arm, kind)
    plain = result.steps(result.plain_of(arm), kind)
    measured = result.speedup(arm, kind)
    value, interval = measured or (None, None)
    judged = sum(step.judged for step in steps)
    costs = result.costs
    return ArmFound(
        arm,
        judge(interval, quiet) if measured else Word.FEW,
        value,
        interval,
        tokens_per_s(result.of(arm, kind)),
        predicted_speedup(steps, costs, overheads(plain, steps)) if costs and steps else None,
        sum(step.accepted for step in steps) / judged if judged else None,
        _by_position(steps),
        sum(len(step.tokens) for step in steps) / len(steps) if steps else None,
        result.identical(arm, kind),
        account_of(steps, plain, costs) if steps and plain else None,
    )


def _by_position(steps: Sequence[Step]) -> tuple[float, ...]:
    """Give the acceptance rate of every place that was judged often enough to mean something."""
    places = acceptance_by_position(steps)
    counted_places = sum(
        sum(step.judged > place for step in steps) >= ENOUGH_JUDGED for place in range(len(places))
    )
    return tuple(places[:counted_places])


def _judged(kind: KindFound, result: BenchResult) -> KindFound:
    """Choose what to use, and say why."""
    best = kind.best
    if best is None or best.speedup is None:
        return replace(kind, reason="nothing was measured")
    word = best.word
    use = _preferred(kind, best) if word is Word.PAYS else None
    return replace(
        kind,
        word=word,
        use=use,
        reason=reason(use or best, kind.quiet),
        helps=tuple(helps(best.account, kind.arms, result.costs)) if word is not Word.NOISY else (),
    )


def _preferred(kind: KindFound, best: ArmFound) -> ArmFound:
    """Take a fixed arm rather than `auto` when `auto` is not clearly better than it."""
    if best.arm.gamma is not None or best.interval is None:
        return best
    fixed = [f for f in kind.arms if f.arm.gamma is not None and f.word is Word.PAYS]
    rival = max(fixed, key=lambda f: f.speedup or 0.0, default=None)
    close = rival is not None and (rival.speedup or 0.0) >= best.interval.low
    return rival if rival is not None and close else best


def reason(found: ArmFound, quiet: Quiet) -> str:
    """Give the numbers behind a word: interval, acceptance, break-even, where the time went."""
    if found.word is Word.NOISY:
        return quiet.reason()
    if found.word is Word.FEW or found.interval is None:
        return "one prompt says nothing of the next; give more text"
    said = [
        f"{found.arm.label}: {found.speedup:.2f} times as fast "
        f"(95 %: {found.interval.low:.2f}-{found.interval.high:.2f})"
    ]
    account = found.account
    if found.acceptance_rate is not None:
        said.append(f"accepted {found.acceptance_rate:.0%} of the judged guesses")
        if account and account.break_even is not None:
            said.append(f"it pays from {account.break_even:.0%}")
        elif account and account.drafted_rounds and not account.can_pay:
            said.append("at these costs no acceptance rate pays")
    if account:
        said.append(account.split())
    return "; ".join(said)


def sentence(kinds: Sequence[KindFound]) -> str:
    """Put the verdict in words a person can act on."""
    said = []
    pays = [kind for kind in kinds if kind.word is Word.PAYS and kind.use]
    if pays:
        numbers = " and ".join(f"{_times(k)}" for k in pays)
        ranges = ", ".join(_range(k) for k in pays)
        said.append(f"worth it for {_list(pays)}: {numbers} times as fast (95 %: {ranges}).")
    for word, lead in (
        (Word.SLOWER, "Slower, leave it off for"),
        (Word.UNCLEAR, "No clear difference, leave it off for"),
        (Word.NOISY, "Too noisy to say for"),
        (Word.FEW, "Too little text to say for"),
    ):
        group = [kind for kind in kinds if kind.word is word]
        if group:
            said.append(f"{lead} {_list(group)}.")
    if not said:
        return "nothing was measured."
    words = " ".join(said)
    return words[0].lower() + words[1:]


def _times(kind: KindFound) -> str:
    return f"{kind.use.speedup:.1f}" if kind.use and kind.use.speedup else "?"


def _range(kind: KindFound) -> str:
    interval = kind.use.interval if kind.use else None
    return f"{interval.low:.2f}-{interval.high:.2f}" if interval else "?"


def _list(kinds: Sequence[KindFound]) -> str:
    several = len({kind.temperature for kind in kinds}) > 1
    names = [
        f"{kind.kind} at temp {kind.temperature:g}" if several else kind.kind for kind in kinds
    ]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def loops_warning(findings: Findings) -> str | None:
    """Say how many answers were cut at a loop, if any."""
    loops = sum(kind.loops for kind in findings.kinds)
    return f"{counted(loops, 'answer')} fell into a loop; cut there" if loops else None
