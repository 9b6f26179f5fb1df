"""What was odd about a bench, in sentences. Knows samples, probes and clocks."""

from collections.abc import Iterator, Sequence

from localspec.core.counted import counted
from localspec.measure.noise import CLOCK_LIMIT, DRIFT_LIMIT
from localspec.measure.sample import Sample


def oddities(
    replaced: Sequence[Sample], probes: Sequence[float], clocks: Sequence[float]
) -> Iterator[str]:
    """Say what was repeated and why, and what changed while we measured.

    Units: `probes` seconds of a plain pass, in order; `clocks` MHz.
    """
    by_others = [sample for sample in replaced if sample.affected == "others"]
    if by_others:
        most = max(sample.others or 0.0 for sample in by_others)
        yield (
            f"other programs used up to {most:.0%} of the processor during "
            f"{counted(len(by_others), 'answer')}; repeated"
        )
    delayed = len(replaced) - len(by_others)
    if delayed:
        yield f"{counted(delayed, 'answer')} far slower than the like; repeated"
    drift = probes[-1] / probes[0] - 1 if len(probes) > 1 else 0.0
    if abs(drift) > DRIFT_LIMIT:
        yield (
            f"a plain pass changed by {drift:+.0%} while we measured; plain and speculative "
            "answers took turns, so both saw it"
        )
    if len(clocks) > 1 and min(clocks) < (1 - CLOCK_LIMIT) * max(clocks):
        yield f"the processor's clock went between {min(clocks):.0f} and {max(clocks):.0f} MHz"
