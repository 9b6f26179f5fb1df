"""Replay gives a draft's round lengths from a plain answer, without a speculative run."""

import numpy as np
import pytest

from localspec.core.generate import generate
from localspec.core.options import GenerateOptions
from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tally import Tally
from localspec.measure.predict import Overheads, predicted_point, replayed_pairing
from localspec.measure.replay import (
    Chances,
    Rounds,
    Transcript,
    model_chances,
    model_rounds,
    point_chances,
    point_rounds,
)
from tests.core.fakes import Markov, MarkovDrafter, MarkovSequence, ScriptedDrafter, ids, markov
from tests.core.loop import speculate
from tests.measure.scripted import DRAFT_S, known_costs, true_speedup

WHOLE = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
TOKENS, ANSWERS = 250, 24


def _sources() -> tuple[Markov, Markov]:
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(8, 0.5), (8, 8)) * 0.99 + 0.00125
    q = 0.7 * p + 0.3 * rng.dirichlet(np.full(8, 0.5), (8, 8))
    return markov(p), markov(q / q.sum(-1, keepdims=True))


def _transcript(source: Markov, seed: int, tokens: int = TOKENS) -> Transcript:
    rng = np.random.default_rng(seed)
    written, probs = [1, 2], []
    for _ in range(tokens):
        law = source.law(written)
        token = law.sample(rng.random())
        probs.append(law.prob(token))
        written.append(token)
    return Transcript("code", ids(1, 2), np.array(written[2:], np.int32), np.array(probs))


def _live_tau(source: Markov, draft: Markov, gamma: int) -> float:
    tally = Tally()
    for seed in range(4 * ANSWERS):
        options = GenerateOptions(TOKENS, RuleName.TOKEN, WHOLE, seed)
        how = speculate([MarkovDrafter(draft)], gamma=gamma)
        for event in generate(MarkovSequence(source), ids(1, 2), options, speculation=how):
            tally.add(event)
    assert tally.tokens_per_pass is not None
    return tally.tokens_per_pass


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [1, 3, 6])
def test_replayed_tokens_per_pass_equal_live_ones_within_1_percent(gamma: int) -> None:
    source, draft = _sources()
    rounds: list[Rounds] = []
    for seed in range(4 * ANSWERS):
        told = _transcript(source, seed)
        chances = model_chances(MarkovSequence(draft), Sampler(WHOLE), told)
        rounds.append(model_rounds(chances, gamma))
    replayed = sum(each.tokens for each in rounds) / sum(each.count for each in rounds)
    assert replayed == pytest.approx(_live_tau(source, draft, gamma), rel=0.01)


def test_a_perfect_draft_is_always_accepted_and_a_hopeless_one_never() -> None:
    source, _ = _sources()
    told = _transcript(source, 1, 40)
    perfect = model_chances(MarkovSequence(source), Sampler(WHOLE), told)
    assert perfect.accept == pytest.approx(np.ones(40))
    assert model_rounds(perfect, 3).count == pytest.approx(10)
    other = markov(np.eye(8)[[(t + 1) % 8 for t in range(8)]][None].repeat(8, 0))
    stubborn = Transcript("code", ids(1, 2), np.full(20, 2, np.int32), np.ones(20))
    never = model_chances(MarkovSequence(other), Sampler(WHOLE), stubborn)
    assert never.accept.tolist() == [0.0] * 20
    assert model_rounds(never, 3).count == 20


def test_chunks_of_any_size_give_the_same_chances() -> None:
    source, draft = _sources()
    told = _transcript(source, 2, 50)
    found = [
        model_chances(MarkovSequence(draft), Sampler(WHOLE), told, chunk=chunk).accept.tolist()
        for chunk in (1, 7, 64)
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_a_copying_drafter_is_replayed_as_it_would_run(gamma: int) -> None:
    script = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4]
    told = Transcript("code", ids(0), np.array(script, np.int32), np.ones(len(script)))

    def guess(history: list[int], limit: int) -> list[int]:
        at = len(history) - 1
        right = script[at : at + limit]
        return [t if (at + i) % 4 else 0 for i, t in enumerate(right)]

    drafter = ScriptedDrafter(guess)
    rounds = point_rounds(point_chances(drafter, told, most=8), gamma)
    at, count = 0, 0
    while at < len(script):
        limit = min(gamma, len(script) - at - 1)
        drafted = guess([0, *script[:at]], limit)
        accepted = next((i for i, t in enumerate(drafted) if t != script[at + i]), len(drafted))
        at, count = at + accepted + 1, count + 1
    assert rounds.count == pytest.approx(count)


def test_replay_predicts_the_true_speedup_of_known_costs() -> None:
    costs, over = known_costs(), Overheads(0.0005, 0.0005)
    rounds, pairs = [], []
    for _ in range(6):
        told = Transcript("code", ids(1), np.zeros(48, np.int32), np.ones(48))
        chances = Chances(np.full(48, 0.8), np.arange(47, -1, -1), 1)
        rounds.append(model_rounds(chances, 3))
        pairs.append(replayed_pairing(rounds[-1], "model", costs, over))
        assert len(told.history) == 49
    found = predicted_point(3, rounds, pairs)
    assert found.speedup.value == pytest.approx(true_speedup([0.8], 3, 48, DRAFT_S), rel=1e-6)
