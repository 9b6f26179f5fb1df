"""The transforms of a row of logits, against a slow dense reference written here."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from localspec.core.coupled import gumbel_noise, pick_coupled
from localspec.core.sampling import PENALTY_WINDOW, Sampler, SamplingParams
from tests.core.fakes import ids

PROPERTY = settings(deadline=None, derandomize=True, database=None, max_examples=300)
OPEN = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)


def _penalised(logit: float, count: int, params: SamplingParams) -> float:
    if count == 0:
        return logit
    scaled = logit / params.repeat_penalty if logit > 0 else logit * params.repeat_penalty
    return scaled - count * params.frequency_penalty - params.presence_penalty


def dense_reference(
    sampler: Sampler, row: NDArray[np.float32], history: list[int]
) -> NDArray[np.float64]:
    """Give the probability of every id, one plain Python step after another."""
    params = sampler.params
    usable = len(row) if sampler.usable is None else sampler.usable
    recent = history[-PENALTY_WINDOW:]
    logits = {}
    for token in range(usable):
        biased = np.float32(row[token]) + np.float32(params.logit_bias.get(token, 0.0))
        logits[token] = float(np.float32(_penalised(biased, recent.count(token), params)))
    alive = [t for t in logits if t not in sampler.banned and logits[t] > -np.inf]
    ranked = sorted(alive, key=lambda t: (-logits[t], t))
    if params.temperature <= 0:
        return np.eye(len(row))[ranked[0]]
    if params.top_k:
        ranked = ranked[: params.top_k]
    weights = [np.exp(logits[t] - logits[ranked[0]]) for t in ranked]
    kept, mass = [], 0.0
    for token, weight in zip(ranked, weights, strict=True):
        if params.top_p < 1 and mass >= params.top_p * sum(weights):
            break
        mass += weight
        kept.append(token)
    kept = [t for t, w in zip(kept, weights, strict=False) if w >= params.min_p] or ranked[:1]
    probs = np.zeros(len(row))
    for token in kept:
        probs[token] = np.exp((logits[token] - logits[ranked[0]]) / params.temperature)
    return probs / probs.sum()


def _dense(sampler: Sampler, row: NDArray[np.float32], history: list[int]) -> NDArray[np.float64]:
    probs = np.zeros(len(row))
    law = sampler.distribution(row, ids(*history))
    probs[law.ids] = law.probs
    return probs


PARAMS = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.3, 0.7, 1.0, 1.5]),
    top_k=st.integers(0, 45),
    top_p=st.sampled_from([0.213, 0.5171, 0.9037, 1.0]),
    min_p=st.sampled_from([0.0, 0.0513, 0.3171]),
    repeat_penalty=st.sampled_from([1.0, 1.1, 1.3]),
    presence_penalty=st.sampled_from([0.0, 0.5]),
    frequency_penalty=st.sampled_from([0.0, 0.25]),
    logit_bias=st.dictionaries(st.integers(0, 45), st.floats(-4, 4, width=16), max_size=3),
)


@st.composite
def _requests(draw) -> tuple[Sampler, NDArray[np.float32], list[int]]:
    size = draw(st.integers(3, 40))
    usable = draw(st.none() | st.integers(2, size))
    banned = draw(st.lists(st.integers(1, (usable or size) - 1), max_size=2, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    row = rng.normal(0, 2, size).astype(np.float32)
    if draw(st.booleans()):
        row = np.round(row)
    history = rng.integers(0, size, draw(st.integers(0, 90))).tolist()
    return Sampler(draw(PARAMS), usable, tuple(banned)), row, history


@PROPERTY
@given(_requests())
def test_every_mix_of_transforms_equals_the_slow_reference(request_) -> None:
    """C02: one pipeline, penalties, bias, top-k, top-p, min-p and temperature in its order."""
    sampler, row, history = request_
    expected = dense_reference(sampler, row, history)
    got = _dense(sampler, row, history)
    assert got.sum() == pytest.approx(1.0, abs=1e-12)
    assume(_not_on_an_edge(sampler, row, history))
    assert got == pytest.approx(expected, abs=1e-12)


def _not_on_an_edge(sampler: Sampler, row: NDArray[np.float32], history: list[int]) -> bool:
    """Leave out rows where a rounding error of 1e-12 in a threshold would decide."""
    params = sampler.params
    near = [
        replace(params, top_p=params.top_p * scale, min_p=params.min_p * scale)
        for scale in (1 - 1e-9, 1 + 1e-9)
        if params.top_p < 1 or params.min_p > 0
    ]
    masks = [dense_reference(replace(sampler, params=p), row, history) > 0 for p in (params, *near)]
    return all((mask == masks[0]).all() for mask in masks)


@PROPERTY
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 700), st.booleans())
def test_top_k_by_blocks_keeps_what_a_full_sort_keeps(
    seed: int, k: int, size: int, ties: bool
) -> None:
    row = np.random.default_rng(seed).normal(0, 3, size).astype(np.float32)
    row = np.round(row) if ties else row
    law = Sampler(SamplingParams(1.0, k, 1.0, 0.0)).distribution(row, ids())
    ranked = sorted(range(size), key=lambda t: (-row[t], t))[:k]
    assert law.ids.tolist() == sorted(ranked)


def test_the_support_is_ascending_and_free_of_impossible_ids() -> None:
    row = np.array([1.0, -np.inf, 900.0, 2.0, -np.inf], np.float32)
    for top_k in (0, 4, 5):
        law = Sampler(SamplingParams(0.3, top_k, 1.0, 0.0)).distribution(row, ids())
        assert law.ids.tolist() == [2]


def test_a_banned_id_is_impossible_even_where_top_k_reaches_it() -> None:
    """A04: no id without text, whatever its logit and however few others there are."""
    sampler = Sampler(SamplingParams(1.0, 4, 1.0, 0.0), usable=4, banned=(1, 3))
    law = sampler.distribution(np.array([0, 50, 1, 50, 99, 99], np.float32), ids())
    assert law.ids.tolist() == [0, 2]
    assert pick_coupled(law, 0, gumbel_noise(1)) in (0, 2)


def test_greedy_takes_the_first_of_equals_after_bans_and_bias() -> None:
    row = np.array([5, 7, 7, 9, 50], np.float32)
    greedy = SamplingParams(temperature=0)
    assert Sampler(greedy, usable=4).distribution(row, ids()).ids.tolist() == [3]
    assert Sampler(greedy, 4, (3,)).distribution(row, ids()).ids.tolist() == [1]
    biased = SamplingParams(temperature=0, logit_bias={0: 10.0, 99: 5.0})
    assert Sampler(biased, 4).distribution(row, ids()).ids.tolist() == [0]


def test_penalties_look_back_over_their_window_and_no_further() -> None:
    row = np.array([2.0, 2.0, -1.0], np.float32)
    sampler = Sampler(SamplingParams(1.0, 0, 1.0, 0.0, repeat_penalty=2.0))
    old = [0] + [2] * PENALTY_WINDOW
    assert _dense(sampler, row, old)[0] == pytest.approx(_dense(sampler, row, [2])[0])
    assert _dense(sampler, row, old[:-1])[0] < _dense(sampler, row, [2])[0]


def test_the_row_that_was_lent_is_never_written_to() -> None:
    row = np.arange(6, dtype=np.float32)
    row.flags.writeable = False
    params = SamplingParams(repeat_penalty=1.3, logit_bias={2: 1.0})
    assert Sampler(params, 5, (1,)).distribution(row, ids(1, 2, 5)).ids.size


def test_the_defaults_are_the_ones_written_down() -> None:
    """E03: a default that moves must be seen."""
    assert SamplingParams() == SamplingParams(0.7, 40, 0.95, 0.05, 1.0, 0.0, 0.0, {})
    assert not SamplingParams().penalised
    assert OPEN.greedy is False


def test_a_telling_greedy_law_says_by_how_much_the_likeliest_won() -> None:
    row = np.array([1.0, 4.5, 2.0, 4.0], np.float32)
    greedy = SamplingParams(temperature=0)
    history = np.array([0], np.int32)
    law = Sampler(greedy, telling=True).distribution(row, history)
    assert (int(law.ids[0]), law.margin) == (1, pytest.approx(0.5))
    assert Sampler(greedy).distribution(row, history).margin is None
    assert Sampler(greedy, telling=True).distribution(row[:1], history).margin == np.inf
