"""Intervals against scipy, and against hand-made samples."""

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap

from localspec.core.statistics import independent_ratio, ratio_of_totals, wilson


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (5, 5), (46, 60), (1, 1000)])
def test_the_interval_of_a_proportion_is_wilsons(successes: int, trials: int) -> None:
    oracle = binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson(successes, trials) == pytest.approx((oracle.low, oracle.high), abs=1e-6)


def test_without_trials_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def _samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    below = rng.gamma(20, 0.1, 40)
    return below * rng.normal(1.5, 0.1, 40), below


def test_the_interval_of_a_ratio_of_totals_is_the_bootstraps() -> None:
    """Cannot flake: both generators are seeded; 3 % covers the two bootstraps' own noise."""
    above, below = _samples()
    estimate = ratio_of_totals(above, below)
    oracle = bootstrap(
        (above, below),
        lambda a, b, axis: a.sum(axis) / b.sum(axis),
        paired=True,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert estimate.value == pytest.approx(above.sum() / below.sum())
    assert (estimate.low, estimate.high) == pytest.approx((oracle.low, oracle.high), rel=0.03)


def test_the_interval_of_unpaired_samples_is_wider_than_of_paired_ones() -> None:
    above, below = _samples()
    paired, unpaired = ratio_of_totals(above, below), independent_ratio(above, below)
    assert unpaired.value == pytest.approx(above.mean() / below.mean())
    assert unpaired.high - unpaired.low > paired.high - paired.low


def test_the_interval_of_unpaired_samples_is_the_bootstraps() -> None:
    """Cannot flake: both generators are seeded; 3 % covers the two bootstraps' own noise."""
    above, below = _samples()
    estimate = independent_ratio(above, below)
    oracle = bootstrap(
        (above, below),
        lambda a, b, axis: a.mean(axis) / b.mean(axis),
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert (estimate.low, estimate.high) == pytest.approx((oracle.low, oracle.high), rel=0.03)


def test_weights_count_a_pair_as_often_as_its_tokens() -> None:
    weighted = ratio_of_totals([1.0, 4.0], [1.0, 2.0], weights=[3.0, 1.0])
    assert weighted.value == pytest.approx((3 + 4) / (3 + 2))


def test_constant_ratios_have_an_interval_of_no_width() -> None:
    estimate = ratio_of_totals([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((2.0, 2.0, 2.0))
