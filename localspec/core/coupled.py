"""Shared noise: the text depends on the seed and the target alone, whatever the draft.

Noise comes from a counter-based hash of (seed, position, token id), so target and draft look at
the same numbers without sharing a state. Never mixed with the independent rules.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from localspec.core.distribution import Distribution
from localspec.core.rules import Guess, TargetLaw, Verdict
from localspec.core.tokens import Token

Noise = Callable[[int, NDArray[np.int64]], NDArray[np.float64]]
"""Give standard Gumbel noise for ids at an absolute position."""

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix_int(value: int) -> int:
    """Scramble 64 bits (splitmix64's finaliser, Steele et al. 2014)."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble an array of 64-bit words as `_mix_int` does one."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def gumbel_noise(seed: int) -> Noise:
    """Make the noise of one seed.

    Source: Daliri, Musco and Suresh, "Coupling without communication and drafter-invariant
    speculative decoding", arXiv 2408.07978.
    """
    root = _mix_int((seed + _GOLDEN) & _MASK)

    def noise(position: int, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        key = np.uint64(_mix_int(root ^ ((position + 1) * _GOLDEN & _MASK)))
        words = _mix(_mix(ids.astype(np.uint64) * np.uint64(_GOLDEN) + key) ^ key)
        uniforms = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        gumbel: NDArray[np.float64] = -np.log(-np.log(uniforms))
        return gumbel

    return noise


def pick_coupled(law: Distribution, position: int, noise: Noise) -> Token:
    """Draw from `law` as the argmax of log-probability plus noise."""
    if law.is_point:
        return int(law.ids[0])
    scores = np.log(law.probs) + noise(position, law.ids)
    return int(law.ids[scores.argmax()])


def judge_coupled(guess: Guess, target: TargetLaw, position: int, noise: Noise) -> Verdict:
    """Accept a drafted token iff the target, with the same noise, would write it too."""
    for i, token in enumerate(guess.tokens):
        written = pick_coupled(target(i), position + i, noise)
        if written != token:
            return Verdict(i, written)
    last = len(guess.tokens)
    return Verdict(last, pick_coupled(target(last), position + last, noise))
