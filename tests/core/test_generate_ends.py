"""Where an answer ends: end of text, token limits, a full context; and who pays for time."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from localspec.core.events import FinishReason, Step
from localspec.core.generate import Speculation
from localspec.core.judge import IndependentJudge, make_judge
from localspec.core.options import GenerateOptions
from localspec.core.policy import BaselineSchedule, FixedPolicy
from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from localspec.errors import OptionError
from tests.core.fakes import (
    FakeClock,
    Markov,
    MarkovDrafter,
    MarkovSequence,
    ScriptedDrafter,
    constant,
    random_markov,
)
from tests.core.loop import run, speculate
from tests.core.mutants import DRAFT_MUTANTS

SIZE = 9
TARGET = random_markov(SIZE, 8)
GREEDY = GenerateOptions(max_tokens=30, sampling=SamplingParams(temperature=0), usable=SIZE)
PROMPT = (1, 2)
PLAIN = run(MarkovSequence(TARGET), PROMPT, GREEDY).tokens


def _oracle(text: list[int], prompt: int = len(PROMPT)) -> ScriptedDrafter:
    """Guess the text itself, and go on guessing behind its end."""
    longer = [*text, *[0] * 40]
    return ScriptedDrafter(lambda history, n: longer[len(history) - prompt :][:n])


def _ending_at(place: int) -> tuple[MarkovSequence, list[int]]:
    """Make a target that counts up to 8, its end of text, and starts `place` tokens before it."""
    table = np.zeros((SIZE, SIZE, SIZE), np.float32)
    for last in range(SIZE):
        table[:, last, (last + 1) % SIZE] = 9
    return MarkovSequence(Markov(table)), list(range(8 - place, SIZE))


@pytest.mark.parametrize("place", range(8))
@pytest.mark.parametrize("rule", list(RuleName))
def test_an_end_of_text_at_any_place_of_a_draft_ends_the_answer(place: int, rule: RuleName) -> None:
    """D01, D02, D07: nothing behind it is written, shown or counted; the next answer is fine."""
    target, text = _ending_at(place)
    options = replace(GREEDY, ends=frozenset({8}), rule=rule)
    prompt = (0, (7 - place) % SIZE)
    written = run(target, prompt, options, speculate([_oracle([*text, 0, 1, 2, 3])], gamma=8))
    assert written.tokens == text
    assert written.reason is FinishReason.STOP
    assert (written.tally.drafted, written.tally.cut) == (place + 1, 1)
    assert run(target, (*prompt, *text, 3), options).tokens == [4, 5, 6, 7, 8]


def test_an_end_of_text_that_plain_decoding_meets_is_met_by_speculation() -> None:
    """D02: declare an id that was really written to be the end."""
    for end in set(PLAIN):
        options = replace(GREEDY, ends=frozenset({end}))
        written = run(MarkovSequence(TARGET), PROMPT, options, speculate([_oracle(PLAIN)]))
        assert written.tokens == PLAIN[: PLAIN.index(end) + 1]


@pytest.mark.parametrize(
    ("stop", "limit", "expected", "reason"),
    [(3, 5, 3, "stop"), (5, 3, 3, "length"), (4, 4, 4, "stop"), (8, 2, 2, "length")],
)
def test_the_earliest_of_end_and_limit_wins(stop, limit, expected, reason) -> None:
    """D05: with both inside one block of six."""
    target, text = _ending_at(stop - 1)
    options = replace(GREEDY, max_tokens=limit, ends=frozenset({8}))
    drafter = _oracle([*text, 0, 1])
    written = run(target, (0, (8 - stop) % SIZE), options, speculate([drafter], gamma=6))
    assert (len(written.tokens), written.reason) == (expected, reason)


@pytest.mark.parametrize("gamma", [1, 4, 16])
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_never_more_than_max_tokens(limit: int, gamma: int) -> None:
    """O04: a budget is counted token by token, inside a block that crosses it too."""
    options = replace(GREEDY, max_tokens=limit)
    drafter = _oracle(PLAIN)
    written = run(MarkovSequence(TARGET), PROMPT, options, speculate([drafter], gamma=gamma))
    assert written.tokens == PLAIN[:limit]
    assert written.tally.cut == 0


@pytest.mark.parametrize("gamma", range(1, 17))
def test_an_answer_fills_the_context_to_its_last_place_and_no_further(gamma: int) -> None:
    """G02, G04, G05: prompts of 20 to 1 tokens before the end of a context of 32."""
    for prompt in range(12, 32):
        target = MarkovSequence(TARGET, capacity=32)
        options, ids = replace(GREEDY, max_tokens=0), tuple(i % SIZE for i in range(prompt))
        plain = run(MarkovSequence(TARGET, capacity=32), ids, options)
        drafter = _oracle(plain.tokens, prompt)
        written = run(target, ids, options, speculate([drafter], gamma=gamma))
        assert written.tokens == plain.tokens
        assert (len(written.tokens), written.reason) == (32 - prompt, FinishReason.CONTEXT)


class GreedyPolicy(FixedPolicy):
    """Ignore the room that is left."""

    def plan(self, position: int, room: int):
        """Ask for gamma anyway."""
        return super().plan(position, 1000)


def test_a_policy_that_ignores_the_room_cannot_overfill_the_context() -> None:
    """G04: the loop clamps the block itself."""
    target = MarkovSequence(TARGET, capacity=12)
    speculation = speculate([_oracle(PLAIN)], policy=GreedyPolicy(8, ("script",)))
    written = run(target, PROMPT, replace(GREEDY, max_tokens=7), speculation)
    assert written.tokens == PLAIN[:7]


@pytest.mark.parametrize("prompt", [128, 200])
def test_a_prompt_without_room_for_an_answer_is_refused_with_both_numbers(prompt: int) -> None:
    """G02: before any work is done."""
    target = MarkovSequence(TARGET, capacity=128)
    with pytest.raises(OptionError, match=f"{prompt} tokens, the context holds 128"):
        run(target, (1,) * prompt, GREEDY)
    assert target.decoded == 0


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(OptionError, match="empty"):
        run(MarkovSequence(TARGET), (), GREEDY)


def test_a_prompt_of_one_token_is_answered() -> None:
    assert len(run(MarkovSequence(TARGET), (1,), GREEDY).tokens) == 30


# ---- seconds and plain passes -----------------------------------------------------------------


def test_seconds_go_to_draft_target_and_rest() -> None:
    clock = FakeClock()

    def slow(history: list[int], limit: int) -> list[int]:
        clock.advance(0.25)
        return [0] * limit

    target = MarkovSequence(TARGET, on_pass=clock.advance)
    speculation = Speculation(FixedPolicy(3, ("script",)), [ScriptedDrafter(slow)], clock)
    written = run(target, (1, 2, 3), replace(GREEDY, max_tokens=6), speculation)
    first = written.tally.steps[0]
    assert written.tally.prefill_s == 2.0
    assert (first.draft_s, first.verify_s, first.other_s) == (0.25, 4.0, 0.0)
    assert written.tally.decode_s == pytest.approx(clock.now - 2.0)


def test_plain_passes_come_first_and_then_every_so_many_rounds() -> None:
    policy = FixedPolicy(2, ("script",), schedule=BaselineSchedule(every=3))
    speculation = speculate([_oracle(PLAIN)], policy=policy)
    written = run(MarkovSequence(TARGET), PROMPT, replace(GREEDY, max_tokens=27), speculation)
    marks = [step.baseline for step in written.tally.steps]
    assert marks == [True, True, *[False] * 3, True, True, *[False] * 3, True, True, False]
    assert written.tokens == PLAIN[:27]
    assert len(written.tally.baseline.samples) == 3


def test_a_policy_without_drafters_plans_nothing() -> None:
    assert FixedPolicy(4, ()).plan(10, 10).limit == 0
    assert FixedPolicy(4, ("a",)).plan(10, 2).limit == 2


# ---- real random streams ----------------------------------------------------------------------

LAW = (0.55, 0.3, 0.15)
DRAWS = 20_000


def _p_value(temperature: float, rule: RuleName, drafter) -> float:
    """Give the p-value of one long answer's ids against the law they should have."""
    options = GenerateOptions(
        max_tokens=DRAWS,
        rule=rule,
        sampling=SamplingParams(temperature, top_k=0, top_p=1.0, min_p=0.0),
        seed=20,
    )
    target = MarkovSequence(constant(*LAW), capacity=DRAWS + 10)
    written = run(target, (0, 0), options, speculate([drafter], gamma=3))
    weights = np.array(LAW) ** (1 / temperature)
    counts = np.bincount(written.tokens, minlength=3)
    return float(chisquare(counts, weights / weights.sum() * DRAWS).pvalue)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.5])
@pytest.mark.parametrize("rule", [RuleName.TOKEN, RuleName.BLOCK])
def test_long_answers_have_the_targets_frequencies(temperature: float, rule: RuleName) -> None:
    """B10: 20,000 ids against p at each temperature. Cannot flake: the seed is fixed."""
    assert _p_value(temperature, rule, MarkovDrafter(constant(0.3, 0.3, 0.4))) > 0.01


def test_a_draft_that_ignored_its_temperature_is_seen_in_the_frequencies() -> None:
    """B10's negative control. Cannot flake: the seed is fixed."""
    wrong = DRAFT_MUTANTS["temperature 0.5 drawn, 1 reported"](constant(0.3, 0.3, 0.4))
    assert _p_value(1.0, RuleName.TOKEN, wrong) < 1e-6


def test_draft_and_verdict_draw_from_streams_of_their_own() -> None:
    judge, other = make_judge(RuleName.TOKEN, 4, 10), make_judge(RuleName.TOKEN, 4, 11)
    assert isinstance(judge, IndependentJudge)
    assert isinstance(other, IndependentJudge)
    streams = [judge.draft_uniform, judge.verify_uniform, other.draft_uniform]
    drawn = [tuple(stream() for _ in range(4)) for stream in streams]
    assert len(set(drawn)) == 3
    assert make_judge(RuleName.TOKEN, 4, 10).draft_uniform() == drawn[0][0]


def test_a_round_shows_how_much_both_laws_overlap() -> None:
    options = GenerateOptions(max_tokens=8, sampling=SamplingParams(1.0, 0, 1.0, 0.0))
    drafter = MarkovDrafter(constant(0.3, 0.3, 0.4))
    written = run(MarkovSequence(constant(*LAW)), (0,), options, speculate([drafter]))
    shown = [o for step in written.tally.steps for o in step.overlaps]
    assert shown == pytest.approx([0.3 + 0.3 + 0.15] * len(shown))
    assert isinstance(written.events[1], Step)
