"""Sampled Medusa drafts leave the target's law as it is: enumerated, and with mistakes caught."""

from collections.abc import Callable

import numpy as np
import pytest

from localspec.core.distribution import Distribution, point
from localspec.core.draft import Draft, DraftRequest
from localspec.core.rules import judge_block, judge_tokens
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tokens import Token, Tokens
from localspec.drafters.medusa import MedusaDrafter
from localspec.drafters.medusa_heads import Layer, MedusaHeads
from tests.core.cases import EXACT, SMALL_CASES, WRONG, Writing, writing_error
from tests.core.fakes import Markov

CASES = [case for case in SMALL_CASES if case.name in ("random", "target with zeros", "peaked")]
HEADS = 3
WARM = SamplingParams(temperature=0.7, top_k=0, top_p=1.0, min_p=0.0)


class LastRead:
    """A target's state that knows the last id read and nothing else."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.tokens: Tokens = np.empty(0, np.int32)

    def rows(self, begin: int, end: int) -> np.ndarray:
        return np.eye(self._size, dtype=np.float32)[self.tokens[begin:end]]


class OverMarkov:
    """Medusa heads for a small vocabulary, with the state at hand for every history of two ids."""

    name = "medusa"

    def __init__(self, source: Markov) -> None:
        size = source.size
        rng = np.random.default_rng(5)

        def draw(*shape: int) -> np.ndarray:
            return rng.standard_normal(shape).astype(np.float32)

        heads = MedusaHeads(
            (Layer(draw(HEADS, size, size), draw(HEADS, size)),), draw(size, size), np.arange(size)
        )
        self._states = LastRead(size)
        self._drafter = MedusaDrafter(self._states, heads, Sampler(WARM), size=size)

    def prefill(self, history: Tokens) -> None:
        """Need nothing."""

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draft as over a target that has read all but the last id."""
        self._states.tokens = history[:-1].copy()
        return self._drafter.propose(history, request)


class Dishonest(OverMarkov):
    """Draw head `i` by `drawn(laws, i)`, but report its own law."""

    def __init__(
        self, source: Markov, drawn: Callable[[list[Distribution], int], Distribution]
    ) -> None:
        super().__init__(source)
        self._drawn = drawn

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draft from other laws than reported."""
        laws: list[Distribution] = []

        def keep(law: Distribution, _place: int) -> Token:
            laws.append(law)
            return int(law.ids[0])

        super().propose(history, DraftRequest(request.limit, keep))
        drawn = [request.pick(self._drawn(laws, i), i) for i in range(len(laws))]
        return Draft(tuple(drawn), tuple(laws))


def _next_head(laws: list[Distribution], i: int) -> Distribution:
    return laws[(i + 1) % len(laws)]


def _first_head(laws: list[Distribution], _i: int) -> Distribution:
    return laws[0]


def _likeliest(laws: list[Distribution], i: int) -> Distribution:
    return point(int(laws[i].ids[laws[i].probs.argmax()]))


def _without_temperature(laws: list[Distribution], i: int) -> Distribution:
    weights = laws[i].probs ** WARM.temperature
    return Distribution(laws[i].ids, weights / weights.sum())


MUTANTS = {
    "drawn from the next head": _next_head,
    "drawn from the first head": _first_head,
    "argmax drawn, law reported": _likeliest,
    "temperature left out of the draw": _without_temperature,
}


@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_text_has_the_probability_that_the_target_gives_it(case, rule) -> None:
    """A01 B10: enumerated over every uniform, with laws that do not look at what was drawn."""
    assert writing_error(case, Writing(4, rule, drafter=OverMarkov)) < EXACT


@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
def test_the_mutants_skeleton_is_right_while_it_is_honest(rule) -> None:
    writing = Writing(3, rule, drafter=lambda source: Dishonest(source, lambda laws, i: laws[i]))
    assert max(writing_error(case, writing) for case in CASES) < EXACT


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("rule", [judge_tokens, judge_block], ids=["token", "block"])
def test_heads_that_draw_from_another_law_than_they_report_are_caught(name: str, rule) -> None:
    """B10 B12."""
    writing = Writing(4, rule, drafter=lambda source: Dishonest(source, MUTANTS[name]))
    assert any(writing_error(case, writing) > WRONG for case in CASES)
