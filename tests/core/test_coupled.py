"""The seed-coupled rule: the text is the target's own, its law is p, and drafts agree often."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from localspec.core.coupled import Noise, gumbel_noise, judge_coupled, pick_coupled
from localspec.core.distribution import Distribution, point
from localspec.core.judge import CoupledJudge, make_judge
from localspec.core.rules import Guess, RuleName
from tests.core.cases import CASES, EXACT, WRONG
from tests.core.fakes import Markov, constant, random_markov

PROPERTY = settings(deadline=None, derandomize=True, database=None)
TARGET = random_markov(4, 1)
SAMPLES = 20_000


def _clock_of(seconds: float) -> float:
    """Give the Gumbel noise that stands for an exponential clock ringing after `seconds`."""
    return -np.log(seconds)


def _pairwise_boundary(pick, law: Distribution, duel: tuple[int, int], rings_at: float) -> float:
    """Bisect for the ring time of the second at which the first, ringing at `rings_at`, loses."""
    winner, loser = duel

    def winner_is_first(other: float) -> bool:
        times = {winner: rings_at, loser: other}
        noise = np.array([_clock_of(times.get(int(t), 1e300)) for t in law.ids])
        return pick(law, 0, lambda _position, _ids: noise) == winner

    low, high = 1e-9, 1e9
    for _ in range(120):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if winner_is_first(middle) else (middle, high)
    return float(high)


def _race_error(pick, law: Distribution) -> float:
    """Give the largest error of the law of `pick` under exponential clocks, without sampling.

    `winner` ringing at e comes first iff each other rings after r e, with r found by bisection
    (and the same at another e). Exponential clocks then give the chance
    integral of exp(-e) prod exp(-r e) de = 1 / (1 + sum r).
    """
    worst = 0.0
    for winner in map(int, law.ids):
        others = [int(t) for t in law.ids if t != winner]
        ratios = [_pairwise_boundary(pick, law, (winner, other), 1.0) for other in others]
        early = [_pairwise_boundary(pick, law, (winner, other), 0.01) / 0.01 for other in others]
        worst = max(worst, *np.abs(np.subtract(ratios, early)) / ratios, 0.0)
        worst = max(worst, abs(1 / (1 + sum(ratios)) - law.prob(winner)))
    return worst


@pytest.mark.parametrize("last", range(4))
def test_the_law_of_the_coupled_pick_is_p(last: int) -> None:
    assert _race_error(pick_coupled, TARGET.law((0, last))) < EXACT


def test_a_pick_that_forgets_the_logarithm_is_caught() -> None:
    def wrong(law: Distribution, position: int, noise: Noise) -> int:
        return int(law.ids[(law.probs + noise(position, law.ids)).argmax()])

    assert _race_error(wrong, TARGET.law(())) > WRONG


@PROPERTY
@given(st.lists(st.floats(-5, 20), min_size=4, max_size=4, unique=True))
def test_the_pick_is_the_one_that_wins_every_duel(noise: list[float]) -> None:
    """With the pairwise boundaries this fixes the law for any number of ids."""
    law = TARGET.law((1, 2))
    values = np.array(noise)
    won = pick_coupled(law, 0, lambda _position, _ids: values)
    for other in range(4):
        duel = np.full(4, -1e9)
        duel[[won, other]] = values[[won, other]]
        assert pick_coupled(law, 0, lambda _position, _ids, n=duel: n) == won


def _plain_text(target: Markov, length: int, noise: Noise) -> list[int]:
    text: list[int] = []
    for position in range(length):
        text.append(pick_coupled(target.law(text), position, noise))
    return text


def _speculative_text(
    drafts: list[list[int]],
    noise: Noise,
    position_of: Callable[[int], int] = lambda written: written,
) -> list[int]:
    text = list[int]()
    for tokens in drafts:
        verdict = judge_coupled(
            Guess(tokens, [point(t) for t in tokens]),
            lambda i, before=tuple(text), tokens=tokens: TARGET.law([*before, *tokens[:i]]),
            position_of(len(text)),
            noise,
        )
        text += [*tokens[: verdict.accepted], verdict.following]
    return text


@PROPERTY
@given(
    seed=st.integers(0, 2**64),
    drafts=st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=12, max_size=12),
)
def test_any_draft_gives_the_text_of_plain_decoding(seed: int, drafts: list[list[int]]) -> None:
    text = _speculative_text(drafts, gumbel_noise(seed))
    assert text == _plain_text(TARGET, len(text), gumbel_noise(seed))


def test_noise_counted_from_the_start_of_the_round_is_caught() -> None:
    """Then the text depends on where the rounds begin, that is on the draft."""
    noise = gumbel_noise(5)
    text = _speculative_text([[0, 1]] * 12, noise, position_of=lambda written: 0)
    assert text != _plain_text(TARGET, len(text), noise)


@pytest.mark.parametrize("axis", ["seeds", "positions"])
def test_the_hash_noise_draws_from_p(axis: str) -> None:
    """Cannot flake: seeds and positions are the counters 0 .. 19,999, the same in every run."""
    law = constant(0.5, 0.3, 0.15, 0.05).law(())
    one = gumbel_noise(7)
    drawn = [
        pick_coupled(law, i, one) if axis == "positions" else pick_coupled(law, 3, gumbel_noise(i))
        for i in range(SAMPLES)
    ]
    assert chisquare(np.bincount(drawn, minlength=4), law.probs * SAMPLES).pvalue > 0.01


def test_neighbouring_positions_draw_independently() -> None:
    """Cannot flake: one seed, fixed. Noise that ignored the position would repeat each id."""
    law, noise = constant(0.5, 0.3, 0.2).law(()), gumbel_noise(11)
    drawn = np.array([pick_coupled(law, i, noise) for i in range(SAMPLES + 1)])
    pairs = np.bincount(drawn[:-1] * 3 + drawn[1:], minlength=9)
    assert chisquare(pairs, np.outer(law.probs, law.probs).ravel() * SAMPLES).pvalue > 0.01


@pytest.mark.parametrize("case", [c for c in CASES if c.gamma == 1], ids=str)
def test_acceptance_is_at_least_the_bound_of_the_paper(case) -> None:
    """Cannot flake: noise by counters. (1-TV)/(1+TV), with 4 standard errors of the count."""
    p, q, noise = case.target.law(()), case.draft.law(()), gumbel_noise(1)
    tries = 4000
    agreed = sum(pick_coupled(p, i, noise) == pick_coupled(q, i, noise) for i in range(tries))
    distance = max(0.0, 1 - p.overlap(q))
    bound = (1 - distance) / (1 + distance)
    assert agreed / tries >= bound - 4 * np.sqrt(bound * (1 - bound) / tries) - 1e-9
    assert agreed / tries <= p.overlap(q) + 4 * np.sqrt(0.25 / tries)


def test_noise_is_finite_and_the_same_for_an_id_whatever_is_asked_with_it() -> None:
    noise = gumbel_noise(3)
    many = noise(9, np.arange(200_000))
    assert np.isfinite(many).all()
    assert noise(9, np.array([77, 4]))[0] == many[77]
    assert noise(10, np.array([77]))[0] != many[77]
    assert gumbel_noise(4)(9, np.array([77]))[0] != many[77]


def test_the_coupled_judge_serves_draft_and_target_from_one_noise() -> None:
    judge, law = make_judge(RuleName.COUPLED, 12), TARGET.law(())
    assert isinstance(judge, CoupledJudge)
    picks = [judge.pick(law, i) for i in range(5)]
    verdict = judge.judge(Guess(picks, [law] * 5), lambda i: law, 0)
    assert (verdict.accepted, verdict.following) == (5, judge.pick(law, 5))
