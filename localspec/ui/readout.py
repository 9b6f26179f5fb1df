"""The live line, the line that stays, and the sentence that says it did not pay.

Knows tallies and words. Does not know terminals besides a width.
"""

from collections import deque
from dataclasses import dataclass, field

from localspec.core.counted import counted
from localspec.core.events import FinishReason, Step
from localspec.core.tally import Tally
from localspec.ui.cells import clip, fit_fields

WINDOW_S = 1.0
UNKNOWN_SPEEDUP = "× …"
NO_DRAFT = "nothing guessed"
SETTLED = 8
LOSS = 0.97
ENOUGH_DRAFTED = 24
LEAST_SAVED_S = 0.05


@dataclass
class SpeedWindow:
    """Tokens per second of about the last second, by the rounds' own clock.

    Whole rounds only, so bursts do not show; the whole answer while it is younger.
    """

    _now: float = 0.0
    _total: int = 0
    _marks: deque[tuple[float, int]] = field(default_factory=lambda: deque([(0.0, 0)]))

    def add(self, step: Step) -> None:
        """Take a round in."""
        self._now += step.seconds
        self._total += len(step.tokens)
        self._marks.append((self._now, self._total))
        while len(self._marks) > 2 and self._marks[1][0] <= self._now - WINDOW_S:
            self._marks.popleft()

    @property
    def tokens_per_s(self) -> float | None:
        """Give the speed; None before the first round."""
        since, before = self._marks[0]
        span = self._now - since
        return (self._total - before) / span if span > 0 else None


@dataclass
class Readout:
    """The live line of one answer."""

    tally: Tally
    window: SpeedWindow = field(default_factory=SpeedWindow)
    gamma: int | None = None

    def add(self, step: Step) -> None:
        """Take a round in; the tally has it already."""
        self.window.add(step)
        if not step.baseline:
            self.gamma = step.drafted

    def line(self, width: int) -> str:
        """Give the line for a terminal of that width; it loses fields from the right."""
        tally, speed = self.tally, self.window.tokens_per_s
        if speed is None:
            return clip(" reading the prompt …", width - 1)
        fields = [f" {number(speed)} tok/s"]
        if not tally.drafted:
            known = tally.passes >= SETTLED
            return fit_fields([*fields, *[NO_DRAFT] * known], width=width - 1)
        rest = [
            percent("accepted", tally.acceptance_rate),
            f"{tally.tokens_per_pass or 0:.1f}/pass",
            f"γ {self.gamma}",
        ]
        variants = [[*fields, plain, *rest] for plain in _against_plain(tally, speed)]
        return fit_fields(*variants, width=width - 1)


def summary(tally: Tally, finish: FinishReason, width: int) -> str:
    """Give the line that stays below an answer; it loses words, then fields from the right."""
    stopped = [" stopped"] if finish is FinishReason.INTERRUPTED else []
    if not tally.passes:
        return fit_fields([*stopped, "nothing was written yet"], width=width)
    speed = tally.tokens_per_s
    tokens = counted(tally.emitted, "token")
    fields = [*stopped, f"{'' if stopped else ' '}{tokens} in {seconds(tally.decode_s)}"]
    fields += [f"{number(speed)} tok/s"] if speed else []
    if not tally.drafted:
        return fit_fields([*fields, NO_DRAFT], width=width)
    fields.append(UNKNOWN_SPEEDUP if tally.speedup is None else f"{tally.speedup:.2f}× plain")
    rate = percent("accepted", tally.acceptance_rate)
    long = f"accepted {tally.accepted:,} of {tally.judged:,} judged ({rate.split(' ', 1)[1]})"
    ends = [[long, *_saved(tally)], [rate, *_saved(tally)], [rate]]
    return fit_fields(*[[*fields, *end] for end in ends], width=width)


def _saved(tally: Tally) -> list[str]:
    if tally.saved_s is None or abs(tally.saved_s) < LEAST_SAVED_S:
        return []
    return [f"{'saved' if tally.saved_s >= 0 else 'lost'} {seconds(abs(tally.saved_s))}"]


def verdict(tally: Tally) -> str:
    """Say in words and numbers that guessing did not pay; empty if it did, or is not known yet."""
    plain = tally.baseline.seconds
    if plain is None or tally.drafted < ENOUGH_DRAFTED or (tally.speedup or 1) >= LOSS:
        return ""
    rounds = [step for step in tally.steps if step.drafted]
    extra = sum(step.seconds for step in rounds) - plain * len(rounds)
    cost, saved = extra / tally.drafted, tally.accepted * plain / tally.drafted
    if cost <= saved:
        return ""
    return (
        f"Guessing did not pay here: a draft token costs {cost * 1e3:.1f} ms and saves "
        f"{saved * 1e3:.1f} ms ({tally.speedup:.2f}× plain). /plain leaves it off."
    )


def _against_plain(tally: Tally, speed: float) -> tuple[str, ...]:
    """Compare a speed with plain decoding: in full, shorter, and without the measured number."""
    plain = tally.baseline.seconds
    if plain is None:
        return (UNKNOWN_SPEEDUP,)
    times = f"{speed * plain:.2f}× plain"
    measured, age = number(1 / plain), ago(tally.baseline.age or 0)
    return f"{times} ({measured}, measured {age})", f"{times} ({measured}, {age})", times


def ago(tokens: int) -> str:
    """Say how many tokens ago something was measured."""
    return f"{tokens:,} tok ago" if tokens else "just now"


def number(value: float) -> str:
    """Write a speed with as many digits as mean something."""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def seconds(value: float) -> str:
    """Write a duration."""
    if value < 100:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60:02d} s"


def percent(word: str, value: float | None) -> str:
    """Write a rate; a dash while there is none."""
    return f"{word} –" if value is None else f"{word} {value * 100:.0f} %"
