"""The one place where steps become rates: acceptance, tokens per pass, speed, speed-up.

Knows events. Has no clock of its own: seconds come with the steps.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from localspec.core.events import Event, Origin, Prefill, Step
from localspec.core.statistics import BOOTSTRAP_ROUNDS, Estimate
from localspec.core.tokens import Token

RECENT_BASELINES = 12


@dataclass
class Baseline:
    """Plain decoding, measured: seconds of passes that guessed nothing.

    A pass after one of another width takes longer, as the engine makes its graph anew: those
    uneven ones count only while there are no others. Survives from one answer to the next of a
    conversation; `age` counts tokens since the last sample.
    Units: seconds per token.
    """

    samples: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_BASELINES))
    taken: int = 0
    age: int | None = None
    _uneven: bool = True
    _end: int = -1
    _plain: bool = False

    def add(self, step: Step) -> bool:
        """Take a plain pass in, or grow older by a round's tokens.

        Say if plain decoding would have taken it as it was: not after a drafted round.
        """
        plain, follows = step.drafted == 0, step.position == self._end
        even = plain and follows and self._plain
        own = plain and (self._plain or not follows)
        self._plain, self._end = plain, step.position + len(step.tokens)
        if plain and (even or self._uneven):
            if even and self._uneven:
                self.samples.clear()
                self._uneven = False
            self.samples.append(step.seconds)
            self.taken += 1
            self.age = 0
        elif self.age is not None:
            self.age += len(step.tokens)
        return own

    @property
    def seconds(self) -> float | None:
        """Give the median of the recent samples; None before the first."""
        return float(np.median(self.samples)) if self.samples else None


@dataclass
class Tally:
    """Counters of one answer, and everything derived from them."""

    baseline: Baseline = field(default_factory=Baseline)
    prompt: int = 0
    reused: int = 0
    prefill_s: float = 0.0
    passes: int = 0
    emitted: int = 0
    drafted: int = 0
    judged: int = 0
    accepted: int = 0
    cut: int = 0
    draft_s: float = 0.0
    verify_s: float = 0.0
    other_s: float = 0.0
    plain_s: float = 0.0
    plain_tokens: int = 0
    tokens: list[Token] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list, repr=False)

    def add(self, event: Event) -> None:
        """Fold one event in."""
        if isinstance(event, Prefill):
            self.prompt, self.reused, self.prefill_s = event.tokens, event.reused, event.seconds
        elif isinstance(event, Step):
            self._add_step(event)

    def _add_step(self, step: Step) -> None:
        self.passes += 1
        self.emitted += len(step.tokens)
        self.drafted += step.drafted
        self.judged += step.judged
        self.accepted += step.accepted
        self.cut += step.cut
        self.draft_s += step.draft_s
        self.verify_s += step.verify_s
        self.other_s += step.other_s
        if self.baseline.add(step):
            self.plain_s += step.seconds
            self.plain_tokens += len(step.tokens)
        self.tokens.extend(step.tokens)
        self.origins.extend(step.origins)
        self.steps.append(step)

    def drop_last(self, count: int) -> None:
        """Take back tokens that a stop string cut off after their round."""
        if count:
            del self.tokens[-count:], self.origins[-count:]
            self.emitted -= count
            self.cut += count

    @property
    def decode_s(self) -> float:
        """Give the seconds of all rounds."""
        return self.draft_s + self.verify_s + self.other_s

    @property
    def tokens_per_s(self) -> float | None:
        """Give tokens per second of the decode phase; None before the first round."""
        return self.emitted / self.decode_s if self.decode_s > 0 else None

    @property
    def acceptance_rate(self) -> float | None:
        """Give accepted / judged; None before anything was judged."""
        return self.accepted / self.judged if self.judged else None

    @property
    def tokens_per_pass(self) -> float | None:
        """Give emitted / target passes."""
        return self.emitted / self.passes if self.passes else None

    @property
    def baseline_tps(self) -> float | None:
        """Give the measured plain tokens per second; None without a sample."""
        seconds = self.baseline.seconds
        return 1 / seconds if seconds else None

    @property
    def plain_estimate_s(self) -> float | None:
        """Give the seconds that plain decoding of this answer would have taken.

        Rounds that guessed nothing count as they were; the other tokens at the baseline.
        """
        seconds = self.baseline.seconds
        if seconds is None:
            return None
        return self.plain_s + (self.emitted - self.plain_tokens) * seconds

    @property
    def speedup(self) -> float | None:
        """Give plain seconds over this answer's; None without a baseline."""
        plain = self.plain_estimate_s
        return plain / self.decode_s if plain is not None and self.decode_s > 0 else None

    @property
    def saved_s(self) -> float | None:
        """Give the seconds that plain decoding of the same tokens would have taken more."""
        plain = self.plain_estimate_s
        return plain - self.decode_s if plain is not None else None

    def speedup_estimate(self) -> Estimate | None:
        """Give the speed-up with a bootstrap interval over rounds and over baseline samples."""
        value = self.speedup
        if value is None or len(self.baseline.samples) < 2 or not self.steps:
            return None
        rng = np.random.default_rng(0)
        plain = np.asarray(self.baseline.samples)
        middles = np.median(plain[rng.integers(0, len(plain), (BOOTSTRAP_ROUNDS, len(plain)))], 1)
        seconds = np.array([step.seconds for step in self.steps])
        own = np.array([step.seconds * plain for step, plain in self._owned()])
        guessed = np.array([float(len(step.tokens) * (not plain)) for step, plain in self._owned()])
        picks = rng.integers(0, len(seconds), (BOOTSTRAP_ROUNDS, len(seconds)))
        plain_s = own[picks].sum(axis=1) + middles * guessed[picks].sum(axis=1)
        ratios = plain_s / seconds[picks].sum(axis=1)
        low, high = np.percentile(ratios, [2.5, 97.5])
        return Estimate(value, float(low), float(high))

    def _owned(self) -> Iterator[tuple[Step, bool]]:
        """Give each round, and if plain decoding would have taken it as it was."""
        fresh = Baseline()
        return ((step, fresh.add(step)) for step in self.steps)


def acceptance_by_position(steps: Iterable[Step]) -> list[float]:
    """Give, for each drafted place, accepted there / rounds that judged it."""
    judged: Counter[int] = Counter()
    accepted: Counter[int] = Counter()
    for step in steps:
        judged.update(range(step.judged))
        accepted.update(range(step.accepted))
    return [accepted[place] / judged[place] for place in sorted(judged)]


def by_drafter(steps: Iterable[Step]) -> dict[str, "Account"]:
    """Give each drafter's own account."""
    accounts: dict[str, Account] = {}
    for step in steps:
        if step.drafted:
            accounts.setdefault(step.drafter, Account()).add(step)
    return accounts


def shares_of_saving(tally: Tally) -> dict[str, float]:
    """Give each drafter's part of the seconds saved; empty where nothing was saved.

    A drafter that cost more than it gave has a negative part; the parts sum to 1.
    """
    plain_s = tally.baseline.seconds
    saved = {name: it.saved_s(plain_s) or 0.0 for name, it in by_drafter(tally.steps).items()}
    whole = sum(saved.values())
    return {name: value / whole for name, value in saved.items()} if whole > 0 else {}


@dataclass
class Account:
    """What one drafter did, and what it cost. `temperature`: of its last draft."""

    rounds: int = 0
    drafted: int = 0
    judged: int = 0
    accepted: int = 0
    emitted: int = 0
    draft_s: float = 0.0
    seconds: float = 0.0
    temperature: float = 1.0

    def add(self, step: Step) -> None:
        """Fold a round of this drafter in."""
        self.rounds += 1
        self.drafted += step.drafted
        self.judged += step.judged
        self.accepted += step.accepted
        self.emitted += len(step.tokens)
        self.draft_s += step.draft_s
        self.seconds += step.seconds
        self.temperature = step.draft_temperature

    @property
    def acceptance_rate(self) -> float | None:
        """Give accepted / judged of this drafter."""
        return self.accepted / self.judged if self.judged else None

    def saved_s(self, plain_s: float | None) -> float | None:
        """Give the seconds its rounds saved, at `plain_s` seconds for a plain token."""
        return None if plain_s is None else self.emitted * plain_s - self.seconds
