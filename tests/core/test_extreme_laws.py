"""Rows and wishes at the edge: temperatures near zero, values that are no numbers, all banned."""

import numpy as np
import pytest

from localspec.core.sampling import Sampler, SamplingParams
from localspec.errors import PairRefused
from tests.core.fakes import ids

ROW = np.array([1.0, 30.0, -5.0, 29.0], np.float32)
NONE = ids([])
LAWS = [
    SamplingParams(temperature=0),
    SamplingParams(temperature=1, top_k=2),
    SamplingParams(temperature=1, top_k=0, top_p=0.9),
    SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0),
]


@pytest.mark.parametrize("temperature", [5e-324, 1e-320, 1e-38, 1e-9])
@pytest.mark.parametrize("top_k", [0, 2, 40])
def test_near_temperature_zero_only_the_likeliest_is_left(temperature, top_k) -> None:
    params = SamplingParams(temperature=temperature, top_k=top_k, top_p=1, min_p=0)
    law = Sampler(params).distribution(ROW, NONE)
    assert (law.ids.tolist(), law.probs.tolist()) == ([1], [1.0])


def test_equals_share_even_near_temperature_zero() -> None:
    params = SamplingParams(temperature=1e-320, top_k=0, top_p=1, min_p=0)
    law = Sampler(params).distribution(np.array([2, 2, 0], np.float32), NONE)
    assert (law.ids.tolist(), law.probs.tolist()) == ([0, 1], [0.5, 0.5])


@pytest.mark.parametrize("params", LAWS, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_row_without_numbers_is_refused_in_words(params, value) -> None:
    with pytest.raises(PairRefused, match="no numbers"):
        Sampler(params).distribution(np.full(200, value, np.float32), NONE)


@pytest.mark.parametrize("params", LAWS, ids=str)
def test_where_every_token_is_banned_nothing_is_emitted(params) -> None:
    with pytest.raises(PairRefused, match="every token is banned"):
        Sampler(params, banned=(0, 1, 2, 3)).distribution(ROW, NONE)
