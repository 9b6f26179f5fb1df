"""Real files, real engine: sampled answers follow the exactly computed law, for every rule.

The seeds are fixed, so a run either passes for ever or fails for ever; the threshold of 1e-3 was
chosen before looking at the values.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from localspec.core.draft import Drafter
from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tally import Tally
from localspec.core.tokens import Tokens, sync
from localspec.drafters.lookup import LookupDrafter
from localspec.drafters.medusa import MedusaDrafter
from localspec.drafters.medusa_heads import MedusaHeads
from localspec.drafters.model import ModelDrafter
from localspec.engine.context import Context, ContextOptions
from localspec.engine.features import Tap, hidden_tap
from localspec.engine.halves import write_without
from localspec.engine.model import Model
from localspec.engine.skipping import Half
from tests.conftest import TinyPair
from tests.heads import random_heads

ANSWERS = 20_000
EXACT = (RuleName.TOKEN, RuleName.BLOCK, RuleName.COUPLED)
LENGTH = 3
SAMPLING = SamplingParams(temperature=0.9, top_k=4, top_p=1.0, min_p=0.0)


@dataclass
class Parts:
    """The target's states, and heads that guess among its likeliest ids once these are known."""

    states: Tap
    heads: MedusaHeads | None = None


@dataclass(frozen=True)
class Duo:
    target: Context
    draft: Context
    skipped: Context
    heads: Parts


@pytest.fixture(scope="module")
def duo(tiny_pair: TinyPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duo]:
    shape = ContextOptions(64, threads=1)
    without = tmp_path_factory.mktemp("law") / "without.gguf"
    write_without(tiny_pair.target, without, {Half(1, "ffn"), Half(2, "attn")})
    with (
        Model.load(tiny_pair.target) as large,
        Model.load(tiny_pair.draft) as small,
        Context(large, shape) as target,
        Context(small, shape) as draft,
        Model.load(without) as rest,
        Context(rest, shape) as skipped,
    ):
        yield Duo(target, draft, skipped, Parts(hidden_tap(target)))


@pytest.fixture(scope="module")
def prompt(duo: Duo) -> Tokens:
    """A prompt whose end stood there before, followed by a token the target may write again."""
    for token in range(5, duo.target.model.n_vocab):
        ids = np.array([0, 40, 50, 60, token, token, 50, 60], np.int32)
        now = Sampler(SAMPLING).distribution(sync(duo.target, ids, 1)[-1], ids)
        if now.prob(token) > 0.1:
            return ids
    raise AssertionError("no such prompt for this model")


@pytest.fixture(scope="module")
def law(duo: Duo, prompt: Tokens) -> dict[tuple[int, ...], float]:
    """Enumerate every answer of three tokens with its probability."""
    found = dict(continuations(duo.target, prompt, LENGTH, SAMPLING))
    mass: Counter[int] = Counter()
    for answer, probability in found.items():
        for token in answer:
            mass[token] += probability
    ids = np.sort([token for token, _ in mass.most_common(6)])
    duo.heads.heads = replace(random_heads(duo.target.model.path, ids=6), ids=ids)
    return found


def continuations(
    target: Context, history: Tokens, length: int, sampling: SamplingParams
) -> Iterator[tuple[tuple[int, ...], float]]:
    if length == 0:
        yield (), 1.0
        return
    row = sync(target, history, 1)[-1]
    now = Sampler(sampling).distribution(row, history)
    for token, chance in zip(now.ids.tolist(), now.probs.tolist(), strict=True):
        longer = np.append(history, np.int32(token))
        for rest, probability in continuations(target, longer, length - 1, sampling):
            yield (token, *rest), chance * probability


def _answer(duo: Duo, prompt: Tokens, options: GenerateOptions, drafter: str) -> Tally:
    sampler = Sampler(SAMPLING)
    made = _drafter(duo, drafter, sampler)
    speculation = Speculation(FixedPolicy(2, (drafter,)), [made])
    tally = Tally()
    for event in generate(duo.target, prompt, options, speculation=speculation):
        tally.add(event)
    return tally


def _drafter(duo: Duo, name: str, sampler: Sampler) -> Drafter:
    if name == "model":
        return ModelDrafter(duo.draft, sampler)
    if name == "layerskip":
        return ModelDrafter(duo.skipped, sampler, name=name)
    if name == "lookup":
        return LookupDrafter(shortest=2)
    assert duo.heads.heads is not None
    size = duo.target.model.n_vocab
    return MedusaDrafter(duo.heads.states, duo.heads.heads, sampler, size=size)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("rule", "drafter"),
    [
        *product(RuleName, ["model"]),
        (RuleName.BLOCK, "lookup"),
        (RuleName.BLOCK, "layerskip"),
        *product(EXACT, ["medusa"]),
    ],
)
def test_twenty_thousand_sampled_answers_follow_the_computed_law(
    duo: Duo,
    prompt: Tokens,
    law: dict[tuple[int, ...], float],
    rule: RuleName,
    drafter: str,
) -> None:
    """A01 B10 B13 B14: what is written is distributed as the target alone would write it."""
    seen: Counter[tuple[int, ...]] = Counter()
    accepted = drafted = 0
    # The heads have no state in the first round; one token more lets the second draft two.
    length = LENGTH + (drafter == "medusa")
    for seed in range(ANSWERS):
        options = GenerateOptions(max_tokens=length, rule=rule, sampling=SAMPLING, seed=seed)
        tally = _answer(duo, prompt, options, drafter)
        assert tally.emitted == tally.accepted + tally.passes - tally.cut == length
        seen[tuple(tally.tokens[:LENGTH])] += 1
        accepted, drafted = accepted + tally.accepted, drafted + tally.drafted
    assert set(seen) <= set(law)
    assert accepted > 0
    assert accepted < drafted
    assert chi_square(seen, law, ANSWERS) > 1e-3


def test_the_chi_square_sees_a_law_that_is_a_little_off(
    law: dict[tuple[int, ...], float],
) -> None:
    """Negative control: the draft's habit of doubling a likely answer's odds is caught."""
    answers = sorted(law, key=lambda answer: -law[answer])
    wrong = np.array([law[answer] for answer in answers])
    wrong[0] *= 1.15
    rng = np.random.default_rng(5)
    drawn = rng.multinomial(ANSWERS, wrong / wrong.sum())
    seen = Counter(dict(zip(answers, drawn.tolist(), strict=True)))
    assert chi_square(seen, law, ANSWERS) < 1e-3


def chi_square(
    seen: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float], answers: int
) -> float:
    """Pool answers expected fewer than five times; give the p-value."""
    common = [answer for answer in law if law[answer] * answers >= 5]
    observed = [float(seen[answer]) for answer in common]
    expected = [law[answer] * answers for answer in common]
    rest = answers - sum(expected)
    if rest > 5:
        observed.append(answers - sum(observed))
        expected.append(rest)
    scale = sum(observed) / sum(expected)
    return float(stats.chisquare(observed, [value * scale for value in expected]).pvalue)
