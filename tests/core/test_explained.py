"""Why a round ended as it did: the reasons agree with what the loop did, and cost it nothing."""

from collections.abc import Iterator

import numpy as np
import pytest

from localspec.core.distribution import Distribution
from localspec.core.events import Step
from localspec.core.explained import RecordingJudge, RoundReason, Way, explain, split
from localspec.core.generate import generate
from localspec.core.judge import IndependentJudge, make_judge
from localspec.core.options import GenerateOptions
from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from tests.core.fakes import MarkovDrafter, MarkovSequence, ScriptedDrafter, ids, random_markov
from tests.core.loop import speculate

SIZE = 6
LAW = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
GREEDY = SamplingParams(temperature=0.0)


def _options(rule: RuleName, *, seed: int = 3, keep: bool = True, law=LAW) -> GenerateOptions:
    return GenerateOptions(
        max_tokens=300, rule=rule, sampling=law, seed=seed, usable=SIZE, keep_laws=keep
    )


def _drafter(points: bool):
    if points:
        return ScriptedDrafter(lambda history, limit: [(history[-1] + 1) % SIZE, 0, 5][:limit])
    return MarkovDrafter(random_markov(SIZE, 8))


def _traced(rule: RuleName, *, points: bool = False, law=LAW) -> Iterator[tuple[Step, RoundReason]]:
    options = _options(rule, law=law)
    judge = RecordingJudge(make_judge(rule, options.seed, 2))
    speculation = speculate([_drafter(points)], gamma=4)
    target = MarkovSequence(random_markov(SIZE, 7))
    for event in generate(target, ids(1, 2), options, speculation=speculation, judge=judge):
        if isinstance(event, Step):
            yield event, explain(event, rule, judge.draws)


def _stands(reason: RoundReason) -> int:
    """Say how many guesses stand, from chances and draws alone."""
    below = [
        guess.draw is not None and guess.chance is not None and guess.draw < guess.chance
        for guess in reason.guesses
    ]
    if reason.way is Way.BLOCK:
        return max((i + 1 for i, passed in enumerate(below) if passed), default=0)
    return next((i for i, passed in enumerate(below) if not passed), len(below))


@pytest.mark.parametrize("rule", [RuleName.TOKEN, RuleName.BLOCK])
@pytest.mark.parametrize("law", [LAW, GREEDY], ids=["sampled", "greedy"])
def test_chances_and_draws_alone_tell_how_many_guesses_stood(rule: RuleName, law) -> None:
    rounds = list(_traced(rule, law=law))
    if law is LAW:
        assert {reason.way.value for _, reason in rounds} == {rule.value}
    for step, reason in rounds:
        if reason.way is not Way.POINTS:
            assert _stands(reason) == step.accepted
    assert any(step.accepted < step.drafted for step, _ in rounds)


@pytest.mark.parametrize("rule", [RuleName.TOKEN, RuleName.BLOCK])
@pytest.mark.parametrize("points", [False, True], ids=["laws", "points"])
def test_the_last_draw_and_its_law_give_the_targets_token(rule: RuleName, points: bool) -> None:
    for step, reason in _traced(rule, points=points):
        if reason.way is Way.POINTS:  # one draw both judges the guess and replaces it
            drawn = step.laws.target[step.accepted].sample(reason.draw)
        else:
            drawn = reason.source.sample(reason.draw)
        assert drawn == step.tokens[-1]
        assert reason.source.prob(step.tokens[-1]) > 0


def test_a_point_under_the_block_rule_stands_iff_the_draw_picked_it() -> None:
    rounds = [r for r in _traced(RuleName.BLOCK, points=True) if r[1].way is Way.POINTS]
    assert rounds
    for step, reason in rounds:
        for i, guess in enumerate(reason.guesses):
            picked = step.laws.target[i].sample(guess.draw) == step.guesses[i]
            assert picked == (i < step.accepted)
            assert guess.chance == guess.p


def test_the_coupled_rule_has_no_chances_and_no_draws() -> None:
    rounds = list(_traced(RuleName.COUPLED))
    assert all(reason.way is Way.COUPLED and reason.draw is None for _, reason in rounds)
    assert all(guess.chance is None for _, reason in rounds for guess in reason.guesses)


@pytest.mark.parametrize("rule", list(RuleName))
def test_looking_changes_no_token_of_the_text(rule: RuleName) -> None:
    seen = [token for step, _ in _traced(rule) for token in step.tokens]
    target, speculation = MarkovSequence(random_markov(SIZE, 7)), speculate([_drafter(False)])
    events = generate(target, ids(1, 2), _options(rule, keep=False), speculation=speculation)
    steps = [event for event in events if isinstance(event, Step)]
    assert [token for step in steps for token in step.tokens] == seen
    assert all(step.laws is None for step in steps)


def test_a_judge_that_nobody_looks_at_records_nothing() -> None:
    """Off means off: the ordinary judge draws straight from its generator."""
    judge = make_judge(RuleName.TOKEN, 1)
    assert isinstance(judge, IndependentJudge)
    assert type(judge.verify_uniform.__self__) is np.random.Generator


def test_a_step_without_laws_cannot_be_explained() -> None:
    with pytest.raises(ValueError, match="keep_laws"):
        explain(Step((1,), (), 0), RuleName.TOKEN, [0.5])


def test_accepted_and_replaced_mass_are_the_targets_law() -> None:
    """The article's example, and a thousand random pairs with different supports."""
    p = Distribution(np.arange(1, 6), np.array([0.42, 0.26, 0.16, 0.10, 0.06]))
    q = Distribution(np.arange(1, 6), np.array([0.20, 0.45, 0.10, 0.05, 0.20]))
    accepted, replaced = split(p, q)
    assert accepted == pytest.approx([0.20, 0.26, 0.10, 0.05, 0.06])
    assert replaced == pytest.approx([0.22, 0, 0.06, 0.05, 0])
    rng = np.random.default_rng(5)
    for _ in range(1000):
        one, other = (_random_law(rng) for _ in range(2))
        parts = np.add(*split(one, other))
        assert np.abs(parts - one.probs).max() < 1e-9


def _random_law(rng: np.random.Generator) -> Distribution:
    size = int(rng.integers(1, 40))
    support = np.sort(rng.choice(60, size, replace=False)).astype(np.int64)
    return Distribution(support, rng.dirichlet(np.full(size, 0.3)) * (1 - 1e-9 * size) + 1e-9)
