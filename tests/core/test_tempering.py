"""The draft temperature: found where it helps, left alone where it does not, exact throughout."""

from dataclasses import dataclass

import numpy as np
import pytest

from localspec.core.distribution import Distribution, from_logits, point
from localspec.core.events import Laws
from localspec.core.rules import judge_block, judge_tokens
from localspec.core.sampling import Sampler
from localspec.core.tempering import GRID, DraftTemperature, overlaps, tempered
from localspec.drafters.model import ModelDrafter
from tests.core.cases import EXACT, PLAIN_SAMPLING, SMALL_CASES, Case, Writing, writing_error
from tests.core.fakes import Markov, MarkovSequence

IDS = np.arange(12)
ROUNDS = 400


def rows(sharpness: float, seed: int = 0):
    """Pairs of laws; the draft's is the target's to a power, and a little wrong."""
    rng = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        logits = rng.normal(0, 1.5, len(IDS))
        guess = sharpness * (logits + rng.normal(0, 0.3, len(IDS)))
        yield from_logits(IDS, logits), from_logits(IDS, guess)


def taught(sharpness: float) -> DraftTemperature:
    """Play rounds: each is drawn at the value in use, as a drafter would."""
    heat = DraftTemperature()
    for p, own in rows(sharpness):
        used = heat.value
        heat.learn(Laws((p, p), (tempered(own, used),)), 1, used)
    return heat


@pytest.mark.parametrize("sharpness", [1.8, 2.5])
def test_a_draft_that_is_too_sure_is_made_flatter(sharpness: float) -> None:
    heat = taught(sharpness)
    assert heat.value == pytest.approx(sharpness, rel=0.3)
    assert heat.gain > 0.02


@pytest.mark.parametrize("sharpness", [0.4, 0.6])
def test_a_draft_that_is_too_unsure_is_made_sharper(sharpness: float) -> None:
    heat = taught(sharpness)
    assert heat.value == pytest.approx(sharpness, rel=0.3)
    assert heat.gain > 0.02


def test_a_draft_that_fits_is_left_alone() -> None:
    assert taught(1.0).value == 1.0


def test_what_it_chooses_is_accepted_more_often() -> None:
    heat = taught(2.0)
    fresh = list(rows(2.0, seed=1))
    own = np.mean([p.overlap(q) for p, q in fresh])
    chosen = np.mean([p.overlap(tempered(q, heat.value)) for p, q in fresh])
    assert chosen - own == pytest.approx(heat.gain, abs=0.02)


def test_it_goes_back_when_the_text_no_longer_wants_it() -> None:
    heat = taught(2.5)
    for p, own in [pair for seed in range(1, 8) for pair in rows(1.0, seed)]:
        heat.learn(Laws((p, p), (tempered(own, heat.value),)), 1, heat.value)
    assert heat.value == 1.0


@pytest.mark.parametrize("used", [0.5, 2.0])
def test_a_tempered_law_teaches_the_same_as_the_draft_s_own(used: float) -> None:
    p, own = next(iter(rows(1.3)))
    assert overlaps(p, tempered(own, used), used) == pytest.approx(overlaps(p, own, 1.0))
    assert overlaps(p, own, 1.0)[GRID.index(1.0)] == pytest.approx(p.overlap(own))


def test_points_and_a_temperature_of_one_stay_as_they_are() -> None:
    law = from_logits(IDS, np.zeros(len(IDS)))
    assert tempered(law, 1.0) is law
    sure = point(3)
    assert tempered(sure, 2.0) is sure


@dataclass
class Fickle:
    """A temperature that jumps with every judged round, so that every branch has another one."""

    value: float = 2.0

    def learn(self, laws: Laws, judged: int, used: float) -> None:
        likely = laws.draft[judged - 1].probs.max() > 0.5
        self.value = 0.5 if likely == (used > 1) else 3.0


def fickle_drafter(draft: Markov) -> ModelDrafter:
    heat = Fickle()
    return ModelDrafter(MarkovSequence(draft), Sampler(PLAIN_SAMPLING), heat=heat)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
@pytest.mark.parametrize("case", SMALL_CASES, ids=str)
def test_the_targets_law_is_kept_at_any_draft_temperature(rule, case: Case) -> None:
    """B10, B12: the tempered law is the one that is drawn from and the one the rule is told."""
    assert writing_error(case, Writing(3, rule, drafter=fickle_drafter)) < EXACT


def test_a_law_so_sharp_that_ids_vanish_is_still_a_law() -> None:
    law = Distribution(np.array([1, 5]), np.array([1e-30, 1 - 1e-30]))
    sharp = tempered(law, 0.01)
    assert sharp.probs.sum() == pytest.approx(1.0)
    assert sharp.probs.all()
