"""Replay gives a draft's round lengths from a plain answer, without a speculative run."""

from dataclasses import replace

import numpy as np
import pytest

from localspec.core.events import Step
from localspec.core.generate import generate
from localspec.core.options import GenerateOptions
from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tally import Tally
from localspec.drafters.model import ModelDrafter
from localspec.measure.costs import CostPoint
from localspec.measure.predict import (
    Overheads,
    predicted_point,
    replayed_pairing,
    unread_ids,
)
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


def _rounds_with_rows_read(gamma: int, seed: int) -> tuple[list[Step], int]:
    """Answer live; give the rounds, and the rows that the draft read after the prompt's first."""
    source, draft = _sources()
    read: list[int] = []
    drafter = ModelDrafter(MarkovSequence(draft, on_pass=read.append), Sampler(WHOLE))
    options = GenerateOptions(TOKENS, RuleName.TOKEN, WHOLE, seed)
    how = speculate([drafter], gamma=gamma)
    events = generate(MarkovSequence(source), ids(1, 2), options, speculation=how)
    steps = [event for event in events if isinstance(event, Step)]
    return steps, sum(read) - 1


@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_what_a_draft_has_to_read_is_told_from_the_rounds(gamma: int) -> None:
    for seed in range(4):
        steps, read = _rounds_with_rows_read(gamma, seed)
        drafted = sum(step.drafted for step in steps)
        unread = unread_ids(steps)
        assert read == drafted + sum(unread)
        assert sum(unread) > 0


def test_a_head_reads_all_that_stood_again_and_another_drafters_tokens_too() -> None:
    def step(name: str, position: int, drafted: int, accepted: int) -> Step:
        tokens = tuple(range(accepted + 1))
        origins = ("draft",) * accepted + ("target",)
        return Step(tokens, origins, position, name, drafted=drafted, accepted=accepted)  # type: ignore[arg-type]

    head = [step("eagle3", 10, 3, 2), step("eagle3", 13, 3, 3), step("eagle3", 17, 2, 0)]
    assert unread_ids(head) == [0, 2, 3]
    mixed = [step("model", 10, 2, 2), step("", 13, 0, 0), step("model", 14, 2, 1)]
    assert unread_ids(mixed) == [0, 0, 2]
    assert unread_ids([*mixed, step("model", 40, 1, 1)]) == [0, 0, 2, 0]


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [1, 3])
def test_replay_expects_as_much_to_read_as_there_is_live(gamma: int) -> None:
    source, draft = _sources()
    expected = stood = accepted = unread = 0.0
    for seed in range(4 * ANSWERS):
        told = _transcript(source, seed)
        chances = model_chances(MarkovSequence(draft), Sampler(WHOLE), told)
        rounds = model_rounds(chances, gamma)
        expected += rounds.unread("model")
        stood += rounds.unread("eagle3")
        steps, _ = _rounds_with_rows_read(gamma, seed)
        unread += sum(unread_ids(steps))
        accepted += sum(each.accepted for each in steps[:-1])
    assert expected == pytest.approx(unread, rel=0.02)
    assert stood == pytest.approx(accepted, rel=0.02)


def test_unread_ids_make_the_promise_smaller_by_what_they_cost() -> None:
    costs, over = known_costs(), Overheads(0.0, 0.0)
    late = CostPoint(1, 64, DRAFT_S + 0.004, 0.0, 7, unread=1)
    slower = replace(costs, drafts={"model": (*costs.drafts["model"], late)})
    rounds = model_rounds(Chances(np.ones(48), np.arange(47, -1, -1), 1), 3)
    free, paid = (replayed_pairing(rounds, "model", each, over) for each in (costs, slower))
    assert paid.arm_s - free.arm_s == pytest.approx(11 * 0.004)
