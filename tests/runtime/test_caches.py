"""Every kind of cache under every drafter that fits: the ids are those of plain decoding."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from localspec.core.events import Step
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.engine.forgetting import Way
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.models import EOS, IM_END, write_llama, write_mamba, write_window
from tests.models_caches import write_jamba, write_lfm2, write_moe, write_qwen35

# Greedy, and no answer ends by itself.
GREEDY = SamplingParams(temperature=0, logit_bias={EOS: -100.0, IM_END: -100.0})
EVERY = ("lookup", "ngram", "model")
RUNS = [
    *((("model",), gamma) for gamma in range(1, 9)),
    *(((name,), gamma) for name in ("lookup", "ngram") for gamma in (2, 8)),
    *((EVERY, gamma) for gamma in (3, 8)),
]
PROMPT = [0, *range(40, 60)]
LONG = 300


@dataclass(frozen=True)
class Kind:
    """An architecture, how its cache takes tokens back, and whether it has strict width."""

    write: Callable[..., Path]
    way: Way
    strict: bool = False


KINDS = {
    "dense": Kind(write_llama, Way.REMOVAL, strict=True),
    "moe": Kind(write_moe, Way.REMOVAL, strict=True),
    "window": Kind(write_window, Way.REMOVAL, strict=True),
    "recurrent": Kind(write_mamba, Way.CHECKPOINTS),
    "hybrid without snapshots": Kind(write_jamba, Way.CHECKPOINTS),
    "hybrid of convolutions": Kind(write_lfm2, Way.SNAPSHOTS),
    "hybrid of delta nets": Kind(write_qwen35, Way.SNAPSHOTS),
}


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(scope="module")
def files(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> PairFiles:
    """A target, and a draft of the same kind that is right about half of the time."""
    folder = tmp_path_factory.mktemp("caches")
    draft = kind.write(folder / "draft.gguf", noise=0.1, name="tiny-draft")
    return PairFiles(kind.write(folder / "target.gguf"), draft)


@pytest.fixture(scope="module")
def runtime(
    kind: Kind, files: PairFiles, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runtime]:
    text = tmp_path_factory.mktemp("texts") / "own.txt"
    text.write_text("the and of to a in is it you that he was for on are with as his " * 30)
    settings = RunSettings(
        files,
        drafters=("lookup", "ngram", "model"),
        gamma=8,
        strict=kind.strict,
        strict_rows=12,
        sampling=GREEDY,
        max_tokens=LONG,
        target=Placement(context=512, kv="f16" if kind.strict else "f32"),
        ngram_from=(text,),
        threads=1,
    )
    with open_runtime(settings, lambda _note: None) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(runtime: Runtime) -> list[int]:
    """300 tokens of plain decoding; no loop, or every guess would be easy."""
    written = answer(runtime, PROMPT, plain=True).tokens
    assert len(written) == LONG
    assert len(set(zip(written, written[1:], written[2:], strict=False))) > LONG / 2
    return written


def answer(runtime: Runtime, history: list[int], *, plain: bool = False) -> Tally:
    tally = Tally()
    for event in runtime.generate(np.array(history, np.int32), plain=plain):
        tally.add(event)
    return tally


def test_each_kind_takes_tokens_back_in_the_fastest_way_that_was_proven(
    kind: Kind, runtime: Runtime
) -> None:
    """H01 H09 H11."""
    assert runtime.loaded.target.way is kind.way
    draft = runtime.loaded.draft
    assert draft is not None
    assert draft.way is (Way.REMOVAL if kind.way is Way.REMOVAL else Way.CHECKPOINTS)


@pytest.mark.parametrize(("drafters", "gamma"), RUNS)
def test_greedy_ids_equal_plain_ones_with_every_drafter(
    runtime: Runtime, plain: list[int], drafters: tuple[str, ...], gamma: int
) -> None:
    """B01 G16 H04: also where a rejected guess cannot just be removed."""
    runtime.change(replace(runtime.settings, drafters=drafters, gamma=gamma))
    tally = answer(runtime, PROMPT)
    assert tally.tokens == plain
    assert tally.emitted == tally.accepted + tally.passes - tally.cut
    if "model" in drafters:
        assert 0 < tally.accepted < tally.drafted


def three_turns(runtime: Runtime, *, plain: bool) -> list[list[int]]:
    """Answer, stop the second answer half-way, go on, edit the first question, repeat."""
    runtime.loaded.target.rewind(0)
    one = answer(runtime, PROMPT, plain=plain).tokens[:40]
    second = [*PROMPT, *one, 70, 71, 72]
    two = interrupted(runtime, second, after=20, plain=plain)
    third = answer(runtime, [*second, *two, 80, 81], plain=plain).tokens
    edited = answer(runtime, [*PROMPT[:-3], 90, 91], plain=plain).tokens
    return [one, two, third, edited, answer(runtime, second, plain=plain).tokens]


def interrupted(runtime: Runtime, history: list[int], *, after: int, plain: bool) -> list[int]:
    written: list[int] = []
    events = runtime.generate(np.array(history, np.int32), plain=plain)
    for event in events:
        written += event.tokens if isinstance(event, Step) else ()
        if len(written) >= after:
            break
    return written[:after]


def test_three_turns_with_an_edit_and_an_interruption_equal_plain_ones(runtime: Runtime) -> None:
    """H03 H06 G10: the second request too."""
    runtime.change(replace(runtime.settings, drafters=("lookup", "model"), gamma=4, max_tokens=60))
    assert three_turns(runtime, plain=False) == three_turns(runtime, plain=True)
    runtime.change(replace(runtime.settings, max_tokens=LONG))


def test_a_third_turn_reads_only_what_is_new(runtime: Runtime) -> None:
    """H06: a recurrent cache goes on, and comes back to the end of a prompt."""
    runtime.change(replace(runtime.settings, drafters=("model",), gamma=3, max_tokens=30))
    runtime.loaded.target.rewind(0)
    one = answer(runtime, PROMPT)
    second = [*PROMPT, *one.tokens, 70, 71, 72]
    two = answer(runtime, second)
    third = answer(runtime, [*second, *two.tokens, 73, 74])
    again = answer(runtime, [*second, 75, 76])
    runtime.change(replace(runtime.settings, max_tokens=LONG))
    assert third.reused >= len(second) + len(two.tokens) - 8
    assert again.reused >= len(second) - 1
    assert one.tokens != two.tokens
