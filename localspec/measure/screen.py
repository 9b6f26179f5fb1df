"""What a drafter would gain, from plain answers, costs and replay: no speculative run.

Knows a loaded pair. Used to choose a gamma before a bench, and by `check`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from localspec.core.sampling import Sampler
from localspec.core.theory import MAX_GAMMA
from localspec.engine import Context, Model
from localspec.measure.arms import Arm, Kind, Slot
from localspec.measure.costs import Costs
from localspec.measure.heads import HeadOfTarget
from localspec.measure.live import LiveRunner
from localspec.measure.predict import (
    Overheads,
    Predicted,
    best_point,
    overheads,
    predicted_point,
    replayed_pairing,
)
from localspec.measure.replay import (
    CHUNK,
    Chances,
    Rounds,
    Transcript,
    head_chances,
    model_chances,
    model_rounds,
    point_chances,
    point_rounds,
    transcript_of,
)
from localspec.measure.sample import Sample, take
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import LOOKUP, MODEL

SHORTEST_ANSWER = 4


@dataclass(frozen=True)
class Screened:
    """What every gamma of a drafter is expected to give, overall and by kind."""

    drafter: str
    points: tuple[Predicted, ...]
    by_kind: Mapping[str, tuple[Predicted, ...]]
    acceptance: float | None

    @property
    def best(self) -> Predicted:
        """Give the fastest gamma."""
        return best_point(self.points)


@dataclass(frozen=True)
class Stored:
    """Plain answers to replay, and the overhead of a round that they showed."""

    transcripts: tuple[Transcript, ...]
    over: Overheads
    samples: tuple[Sample, ...] = ()


def plain_answers(
    runner: LiveRunner, kinds: Sequence[Kind], *, each: int, temperature: float, seed: int
) -> Stored:
    """Answer a few prompts of every kind plain, and keep log p of every token."""
    arm, samples = Arm(temperature=temperature), []
    for at in range(each):
        for kind in kinds:
            if at < len(kind.prompts):
                slot = Slot(-1, kind.name, at, kind.prompts[at], arm, seed + at)
                samples.append(take(slot, runner.answer(slot)))
    steps = [step for sample in samples for step in sample.steps]
    kept = [sample for sample in samples if sample.emitted >= SHORTEST_ANSWER]
    over = overheads(steps, steps)
    return Stored(tuple(map(transcript_of, kept)), over, tuple(samples))


def screen_model(
    draft: Model,
    shape: Context,
    sampler: Sampler,
    *,
    stored: Stored,
    costs: Costs,
    most: int = MAX_GAMMA,
) -> Screened:
    """Replay a draft model over the answers; `shape` is a context like the one it would get."""
    found = told_by_model(draft, shape, sampler, stored)
    rounds = {g: [model_rounds(each, g) for each in found] for g in range(1, most + 1)}
    return _screened(MODEL, rounds, stored, costs, share_accepted(found))


def told_by_model(draft: Model, shape: Context, sampler: Sampler, stored: Stored) -> list[Chances]:
    """Read every answer with a draft model; `shape` is a context like the one it would get."""
    longest = max(len(told.history) for told in stored.transcripts)
    found = []
    with _reading(draft, shape, longest) as reader:
        for told in stored.transcripts:
            reader.rewind(0)
            found.append(model_chances(reader, sampler, told))
    return found


def share_accepted(told: Sequence[Chances]) -> float | None:
    """Give the mean chance that a drafted token would have been accepted; None without any."""
    judged = [float(value) for chances in told for value in chances.accept]
    return sum(judged) / len(judged) if judged else None


def screen_lookup(
    runtime: Runtime, *, stored: Stored, costs: Costs, most: int = MAX_GAMMA
) -> Screened:
    """Replay lookup over the answers."""
    drafter = runtime.drafter(LOOKUP)
    found: list[list[Chances]] = [
        point_chances(drafter, told, most=most) for told in stored.transcripts
    ]
    firsts = [each.accept[0] for chances in found for each in chances if len(each.accept)]
    share = float(sum(firsts) / len(firsts)) if firsts else None
    rounds = {g: [point_rounds(each, g) for each in found] for g in range(1, most + 1)}
    return _screened(LOOKUP, rounds, stored, costs, share)


def screen_heads(
    target: Context, drafter: HeadOfTarget, *, stored: Stored, costs: Costs
) -> Screened:
    """Replay a head over the answers; the target reads them again for its states."""
    found: list[list[Chances]] = []
    for told in stored.transcripts:
        target.rewind(0)
        found.append(head_chances(drafter, target, told, chunk=target.max_rows))
    target.rewind(0)
    firsts = [each.accept[0] for chances in found for each in chances if len(each.accept)]
    share = float(sum(firsts) / len(firsts)) if firsts else None
    gammas = range(1, drafter.most + 1)
    rounds = {g: [point_rounds(each, g) for each in found] for g in gammas}
    return _screened(drafter.name, rounds, stored, costs, share)


@contextmanager
def _reading(model: Model, shape: Context, longest: int) -> Iterator[Context]:
    """Open a short context that gives many rows at once, for reading an answer in few passes."""
    options = replace(
        shape.options, n_ctx=min(longest + 1, shape.capacity), max_rows=CHUNK, strict_rows=None
    )
    with Context(model, options) as context:
        yield context


def _screened(
    drafter: str,
    rounds: Mapping[int, Sequence[Rounds]],
    stored: Stored,
    costs: Costs,
    acceptance: float | None,
) -> Screened:
    kinds = [told.kind for told in stored.transcripts]
    points, by_kind = [], {kind: list[Predicted]() for kind in dict.fromkeys(kinds)}
    for gamma, mine in rounds.items():
        pairs = [
            replace(replayed_pairing(each, drafter, costs, stored.over), stratum=kind)
            for each, kind in zip(mine, kinds, strict=True)
        ]
        points.append(predicted_point(gamma, mine, pairs))
        for kind, found in by_kind.items():
            places = [at for at, name in enumerate(kinds) if name == kind]
            found.append(
                predicted_point(gamma, [mine[at] for at in places], [pairs[at] for at in places])
            )
    return Screened(
        drafter, tuple(points), {kind: tuple(found) for kind, found in by_kind.items()}, acceptance
    )
