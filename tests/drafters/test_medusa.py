"""Medusa heads guess from the state that belongs to the history, or not at all."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from localspec.core.distribution import Distribution
from localspec.core.draft import Draft, DraftRequest
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tokens import Tokens
from localspec.drafters.medusa import MedusaDrafter
from localspec.drafters.medusa_heads import Layer, MedusaHeads

WIDTH, SIZE, HEADS = 8, 40, 3
GREEDY = SamplingParams(temperature=0)
WARM = SamplingParams(temperature=0.9, top_k=0, top_p=1.0, min_p=0.0)


@dataclass
class Kept:
    """States of some positions of some ids."""

    tokens: Tokens
    states: dict[int, np.ndarray] = field(default_factory=dict)

    def rows(self, begin: int, end: int) -> np.ndarray | None:
        found = [self.states.get(at) for at in range(begin, end)]
        return None if any(row is None for row in found) else np.stack(found)


def ids(*tokens: int) -> Tokens:
    return np.array(tokens, np.int32)


def heads(*, shared: bool = True, layers: int = 1, seed: int = 3) -> MedusaHeads:
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    kept = np.array([3, 7, 8, 20, 31, 39])
    projection = draw(len(kept), WIDTH) if shared else draw(HEADS, len(kept), WIDTH)
    blocks = tuple(Layer(draw(HEADS, WIDTH, WIDTH), draw(HEADS, WIDTH)) for _ in range(layers))
    return MedusaHeads(blocks, projection, kept)


@pytest.fixture
def states() -> Kept:
    rng = np.random.default_rng(1)
    rows = {at: rng.standard_normal(WIDTH).astype(np.float32) for at in (3, 4, 5)}
    return Kept(ids(5, 6, 7, 8, 9, 10), rows)


def drafter(states: Kept, law: SamplingParams = GREEDY, **changes: int) -> MedusaDrafter:
    return MedusaDrafter(states, heads(), Sampler(law, **changes), size=SIZE)


def likeliest(law: Distribution, place: int) -> int:
    del place
    return int(law.ids[law.probs.argmax()])


def propose(made: MedusaDrafter, history: Tokens, limit: int = 8) -> Draft:
    return made.propose(history, DraftRequest(limit, likeliest))


def by_hand(found: MedusaHeads, hidden: np.ndarray, head: int) -> np.ndarray:
    x = hidden.astype(np.float64)
    for layer in found.layers:
        inner = layer.weight[head].astype(np.float64) @ x + layer.bias[head]
        x = x + inner / (1 + np.exp(-inner))
    projection = found.projection if found.projection.ndim == 2 else found.projection[head]
    return projection.astype(np.float64) @ x


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("count", [1, HEADS])
def test_each_head_gives_what_it_gives_by_hand(shared: bool, layers: int, count: int) -> None:
    found = heads(shared=shared, layers=layers)
    hidden = np.random.default_rng(9).standard_normal(WIDTH).astype(np.float32)
    logits = list(found.guesses(hidden, count))
    assert len(logits) == count
    for head in range(count):
        np.testing.assert_allclose(logits[head], by_hand(found, hidden, head), rtol=2e-4, atol=1e-5)


def test_the_state_behind_the_last_token_read_is_used(states: Kept) -> None:
    """The last id of a history is pending: the target has not read it yet."""
    history = ids(5, 6, 7, 8, 9, 10, 11)
    expected = [likeliest_id(states.states[5], head) for head in range(HEADS)]
    assert propose(drafter(states), history).tokens == tuple(expected)


def likeliest_id(hidden: np.ndarray, head: int) -> int:
    found = heads()
    return int(found.ids[by_hand(found, hidden, head).argmax()])


def test_a_rejected_tail_in_the_cache_does_not_matter(states: Kept) -> None:
    shorter = ids(5, 6, 7, 8, 9, 33)
    expected = [likeliest_id(states.states[4], head) for head in range(HEADS)]
    assert propose(drafter(states), shorter).tokens == tuple(expected)


@pytest.mark.parametrize(
    "history",
    [
        ids(5, 6, 7, 30, 9, 10, 11),  # edited before the state
        ids(5, 6, 7, 8),  # the state of position 2 is not kept
        ids(5, 6, 7, 8, 9, 10, 11, 12),  # the target has not read that far
        ids(5),
    ],
)
def test_without_the_right_state_nothing_is_guessed(states: Kept, history: Tokens) -> None:
    assert len(propose(drafter(states), history)) == 0


@pytest.mark.parametrize("limit", range(6))
def test_never_more_than_asked_nor_than_there_are_heads(states: Kept, limit: int) -> None:
    draft = propose(drafter(states), ids(5, 6, 7, 8, 9, 10, 11), limit)
    assert len(draft) == min(limit, HEADS)


def test_laws_are_those_of_the_heads_over_their_own_ids(states: Kept) -> None:
    draft = propose(drafter(states, WARM), ids(5, 6, 7, 8, 9, 10, 11))
    for head, law in enumerate(draft.laws):
        logits = by_hand(heads(), states.states[5], head) / 0.9
        expected = np.exp(logits - logits.max())
        assert law.ids.tolist() == heads().ids.tolist()
        np.testing.assert_allclose(law.probs, expected / expected.sum(), rtol=1e-3, atol=1e-6)


def test_what_one_head_drew_does_not_move_the_next_law(states: Kept) -> None:
    made, history = drafter(states, WARM), ids(5, 6, 7, 8, 9, 10, 11)
    first = made.propose(history, DraftRequest(3, lambda law, _i: int(law.ids[0])))
    last = made.propose(history, DraftRequest(3, lambda law, _i: int(law.ids[-1])))
    assert first.tokens != last.tokens
    for one, other in zip(first.laws, last.laws, strict=True):
        assert one.probs.tolist() == other.probs.tolist()


def test_ids_without_text_are_never_guessed(states: Kept) -> None:
    made = drafter(states, WARM, usable=31)
    assert all(law.ids.max() < 31 for law in propose(made, ids(5, 6, 7, 8, 9, 10, 11)).laws)


def test_the_policy_may_stop_it_before_a_draw(states: Kept) -> None:
    request = DraftRequest(3, likeliest, keep_going=lambda i, _law: i < 1)
    assert len(drafter(states).propose(ids(5, 6, 7, 8, 9, 10, 11), request)) == 1


def test_a_head_that_is_not_asked_costs_nothing(states: Kept) -> None:
    found, asked = heads(), list[int]()

    def stop(i: int, _law: Distribution) -> bool:
        asked.append(i)
        return i < 1

    broken = MedusaHeads(found.layers, np.stack([found.projection] * 2), found.ids)
    made = MedusaDrafter(states, broken, Sampler(GREEDY), size=SIZE)
    request = DraftRequest(HEADS, likeliest, keep_going=stop)
    assert len(made.propose(ids(5, 6, 7, 8, 9, 10, 11), request)) == 1
    assert asked == [0, 1]


def test_a_proposal_leaves_no_trace(states: Kept) -> None:
    made, history = drafter(states, WARM), ids(5, 6, 7, 8, 9, 10, 11)
    first = propose(made, history)
    propose(made, ids(5, 6, 7, 8, 9, 33))
    again = propose(made, history)
    assert (again.tokens, [law.probs.tolist() for law in again.laws]) == (
        first.tokens,
        [law.probs.tolist() for law in first.laws],
    )
