"""Answers sampled with heads of the engine follow the exactly computed law, for every rule.

Seeds are fixed, so a run passes for ever or fails for ever; the threshold of 1e-3 was chosen before
looking at the values. The control drafts from a law that it does not report, and must be caught.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from localspec.core.draft import Draft, DraftRequest
from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tally import Tally
from localspec.core.tokens import Tokens, sync
from localspec.drafters.head import HeadDrafter
from localspec.engine import Context, ContextOptions, Model, ModelOptions
from localspec.engine.features import layer_tap, nextn_tap
from localspec.engine.heads import Eagle3Head, MtpHead
from tests.models_heads import TARGET, write_eagle3, write_glm4moe, write_step35, write_target
from tests.runtime.test_sampled_law import LENGTH, chi_square, continuations

ANSWERS = 4_000
SAMPLING = SamplingParams(temperature=0.9, top_k=4, top_p=1.0, min_p=0.0)
PROMPT = np.array([0, 40, 50, 60, 45, 70, 80], np.int32)
SHAPE = ContextOptions(64, threads=1)
KINDS = ("eagle3", "step35", "glm4moe")
EXACT = (RuleName.TOKEN, RuleName.BLOCK, RuleName.COUPLED)


@dataclass(frozen=True)
class Rig:
    """A target with its head, and the law of its answers."""

    target: Context
    drafter: HeadDrafter
    law: dict[tuple[int, ...], float]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sampled")


@pytest.fixture(scope="module", params=KINDS)
def rig(request: pytest.FixtureRequest, folder: Path) -> Iterator[Rig]:
    with ExitStack() as stack:
        target, drafter = _opened(request.param, folder, stack)
        yield Rig(target, drafter, dict(continuations(target, PROMPT, LENGTH, SAMPLING)))


def _opened(kind: str, folder: Path, stack: ExitStack) -> tuple[Context, HeadDrafter]:
    write = {"eagle3": write_target, "step35": write_step35, "glm4moe": write_glm4moe}[kind]
    shape = {"boosted": dict.fromkeys((40, 50, 60, 70, 80), 2.5), "spread": 0.09}
    path = write(folder / f"{kind}.gguf", **shape)
    model = stack.enter_context(Model.load(path, ModelOptions(prediction_layers=True)))
    target = stack.enter_context(Context(model, SHAPE))
    if kind == "eagle3":
        small = write_eagle3(folder / "head.gguf", replace(TARGET, **shape))
        own = stack.enter_context(Model.load(small, ModelOptions(head=True)))
        states, head = layer_tap(target, (0, 2, 3)), Eagle3Head(own, target, SHAPE)
    else:
        states, head = nextn_tap(target), MtpHead(model, target, SHAPE)
    stack.callback(head.close)
    return target, HeadDrafter(head, states, Sampler(SAMPLING), name="head")


class Liar:
    """A drafter that reports another law than it draws from."""

    name = "head"

    def __init__(self, honest: HeadDrafter, how: str) -> None:
        self._honest, self._how = honest, how

    def prefill(self, history: Tokens) -> None:
        self._honest.prefill(history)

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        if self._how == "argmax":
            likeliest = replace(request, pick=lambda law, _i: int(law.ids[law.probs.argmax()]))
            return self._honest.propose(history, likeliest)
        draft = self._honest.propose(history, request)
        return replace(draft, laws=(*draft.laws[1:], *draft.laws[:1]))


def _seen(rig: Rig, rule: RuleName, drafter: object, count: int) -> Counter[tuple[int, ...]]:
    seen: Counter[tuple[int, ...]] = Counter()
    accepted = drafted = 0
    for seed in range(count):
        options = GenerateOptions(max_tokens=LENGTH, rule=rule, sampling=SAMPLING, seed=seed)
        speculation = Speculation(FixedPolicy(2, ("head",)), [drafter])
        tally = Tally()
        for event in generate(rig.target, PROMPT, options, speculation=speculation):
            tally.add(event)
        assert tally.emitted == tally.accepted + tally.passes - tally.cut == LENGTH
        seen[tuple(tally.tokens)] += 1
        accepted, drafted = accepted + tally.accepted, drafted + tally.drafted
    assert 0 < accepted < drafted
    return seen


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("rule", EXACT)
def test_sampled_answers_with_a_head_follow_the_computed_law(rig: Rig, rule: RuleName) -> None:
    """A01 B10 B13: what is written is distributed as the target alone would write it."""
    seen = _seen(rig, rule, rig.drafter, ANSWERS)
    assert set(seen) <= set(rig.law)
    assert chi_square(seen, rig.law, ANSWERS) > 1e-3


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("rig", ["eagle3"], indirect=True)
@pytest.mark.parametrize(
    ("rule", "how"), [*product((RuleName.TOKEN, RuleName.BLOCK), ("argmax", "next law"))]
)
def test_a_head_that_reports_another_law_is_caught(rig: Rig, rule: RuleName, how: str) -> None:
    """Mutants: an argmax draft judged by its probability, and the law of another place."""
    seen = _seen(rig, rule, Liar(rig.drafter, how), ANSWERS)
    assert chi_square(seen, rig.law, ANSWERS) < 1e-3


def test_heads_guess_by_sampled_laws_and_not_by_points(rig: Rig) -> None:
    sync(rig.target, PROMPT[:-1], 0)
    draft = rig.drafter.propose(PROMPT, DraftRequest(2, lambda law, _i: int(law.ids[0])))
    assert len(draft) == 2
    assert all(len(law.ids) == 4 for law in draft.laws)
