"""Heads over real engine passes: ids equal plain ones, states found again after every change."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from localspec.core.draft import DraftRequest
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.core.tokens import sync
from localspec.engine import Context
from localspec.errors import OptionError, PairRefused
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.models_heads import (
    write_eagle3,
    write_glm4moe,
    write_predicting_qwen35,
    write_step35,
    write_target,
)

GREEDY = SamplingParams(temperature=0)
PROMPT = [0, *range(30, 60)]


@dataclass(frozen=True)
class Sample:
    """A target, and the head that goes with it."""

    drafter: str
    target: Path
    head: Path | None
    strict: bool = True
    longest: int = 99


WRITERS: dict[str, Callable[[Path], Path]] = {
    "step35": write_step35,
    "glm4moe": write_glm4moe,
    "qwen35": write_predicting_qwen35,
}
KINDS = ("eagle3", *WRITERS)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sample]:
    folder = tmp_path_factory.mktemp("heads")
    target, head = write_target(folder / "target.gguf"), write_eagle3(folder / "eagle3.gguf")
    made = {name: write(folder / f"{name}.gguf") for name, write in WRITERS.items()}
    found = {name: Sample("mtp", path, None) for name, path in made.items()}
    found["step35"] = replace(found["step35"], longest=2)
    found["qwen35"] = replace(found["qwen35"], strict=False)
    return found | {"eagle3": Sample("eagle3", target, head)}


def settings(sample: Sample, **changes: object) -> RunSettings:
    usual = RunSettings(
        PairFiles(sample.target),
        drafters=(sample.drafter,),
        head=sample.head,
        gamma=3,
        strict=sample.strict,
        sampling=GREEDY,
        max_tokens=300 if sample.strict else 100,
        target=Placement(context=512),
        threads=1,
        seed=5,
    )
    return replace(usual, **changes)


def opened(chosen: RunSettings, said: list[str] | None = None):
    return open_runtime(chosen, said.append if said is not None else lambda _note: None)


def answer(runtime: Runtime, history: list[int], *, plain: bool = False, stop: int = 0) -> Tally:
    """Answer; after `stop` events the answer is broken off."""
    tally = Tally()
    events = runtime.generate(np.array(history, np.int32), plain=plain)
    for number, event in enumerate(events, 1):
        tally.add(event)
        if number == stop:
            events.close()
            break
    return tally


@pytest.mark.parametrize("gamma", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_greedy_ids_equal_plain_ones(samples: dict[str, Sample], kind: str, gamma: int) -> None:
    """A14 B07 B14: whatever a head guesses, the ids are the target's own."""
    sample = samples[kind]
    with opened(settings(sample, gamma=gamma, strict_rows=12)) as runtime:
        speculative, plain = answer(runtime, PROMPT), answer(runtime, PROMPT, plain=True)
    assert speculative.tokens == plain.tokens
    assert speculative.emitted == speculative.accepted + speculative.passes - speculative.cut
    assert max(step.drafted for step in speculative.steps) == min(gamma, sample.longest)
    assert speculative.accepted > 5


@pytest.mark.parametrize("kind", KINDS)
def test_three_turns_with_an_edit_and_an_interruption_equal_plain_ones(
    samples: dict[str, Sample], kind: str
) -> None:
    """I07: the head's cache follows the history, or drafts nothing; the text never changes."""
    turns: dict[bool, list[list[int]]] = {}
    with opened(settings(samples[kind], max_tokens=40)) as runtime:
        for plain in (False, True):
            first = answer(runtime, PROMPT, plain=plain).tokens
            second = [*PROMPT, *first, *range(90, 110)]
            broken = answer(runtime, second, plain=plain, stop=9)
            edited = [*PROMPT, *first[:20], *range(110, 130)]
            third = answer(runtime, edited, plain=plain)
            again = answer(runtime, [*edited, *third.tokens, 61, 62], plain=plain)
            assert plain or third.drafted > 10
            assert plain or again.drafted > 10
            turns[plain] = [first, broken.tokens[:6], third.tokens, again.tokens]
    assert turns[False] == turns[True]


def drafted(runtime: Runtime, history: list[int]) -> tuple[int, ...]:
    """Bring the target to a history as the loop does, and ask its drafter for three tokens."""
    ids = np.array(history, np.int32)
    sync(runtime.loaded.target, ids[:-1], 0)
    drafter = runtime.drafter(runtime.settings.drafters[0])
    request = DraftRequest(3, lambda law, _i: int(law.ids[law.probs.argmax()]))
    return drafter.propose(ids, request).tokens


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_depends_on_the_history_alone(samples: dict[str, Sample], kind: str) -> None:
    """After a rewind, an edit or plain rounds the head guesses as a fresh one does."""
    rng = np.random.default_rng(3)
    texts = [rng.integers(30, 200, size).tolist() for size in (12, 40, 41, 25)]
    histories = [texts[0], texts[1], texts[1][:20], texts[1][:20] + texts[3], texts[2], texts[1]]
    histories += [texts[1] + [50], texts[1] + [50, 60, 70], texts[1] + [50, 61]]
    with opened(settings(samples[kind])) as runtime:
        seen = [drafted(runtime, history) for history in histories]
    fresh = []
    for history in histories:
        with opened(settings(samples[kind])) as runtime:
            fresh.append(drafted(runtime, history))
    assert seen == fresh
    assert all(len(tokens) >= 2 for tokens in seen)


@pytest.mark.parametrize("kind", ["eagle3", "step35"])
def test_states_short_of_room_are_read_before_they_are_lost(
    samples: dict[str, Sample], kind: str
) -> None:
    with opened(settings(samples[kind], max_tokens=150)) as runtime:
        plain = answer(runtime, PROMPT, plain=True)
        runtime.loaded.target.rewind(0)
        for tap in runtime.loaded.target._taps:
            tap._window.room = 40
        speculative = answer(runtime, [0, *range(30, 200), *PROMPT])
        again = answer(runtime, PROMPT)
    assert speculative.drafted > 50
    assert again.tokens == plain.tokens


@pytest.mark.parametrize("kind", ["eagle3", "step35", "glm4moe"])
def test_where_a_state_is_missing_nothing_is_drafted_and_the_text_goes_on(
    samples: dict[str, Sample], kind: str
) -> None:
    with opened(settings(samples[kind], max_tokens=30)) as runtime:
        plain = answer(runtime, PROMPT, plain=True)
        for tap in runtime.loaded.target._taps:
            tap._window.cut(10**6)
        blind = answer(runtime, PROMPT)
        assert blind.drafted == 0
        assert blind.tokens == plain.tokens
        runtime.loaded.target.rewind(0)
        assert answer(runtime, PROMPT).drafted > 10


@pytest.mark.parametrize("kind", ["eagle3", "step35"])
def test_a_head_that_is_switched_on_in_a_conversation_drafts_from_the_next_answer_on(
    samples: dict[str, Sample], kind: str
) -> None:
    """I08: what the target has read before has no states, so it is read again."""
    sample = samples[kind]
    drafters = ("lookup", sample.drafter) if kind == "step35" else ("lookup",)
    with opened(settings(sample, drafters=drafters, max_tokens=20)) as runtime:
        first = answer(runtime, PROMPT, plain=True).tokens
        runtime.set_drafters((sample.drafter,))
        assert answer(runtime, [*PROMPT, *first, 61, 62]).drafted > 10


def test_a_change_of_law_keeps_what_the_head_has_read(samples: dict[str, Sample]) -> None:
    with opened(settings(samples["eagle3"], max_tokens=20)) as runtime:
        answer(runtime, PROMPT)
        before = runtime.drafter("eagle3")
        runtime.set_sampling(SamplingParams(temperature=0.8))
        assert runtime.drafter("eagle3").head is before.head
        assert answer(runtime, PROMPT).drafted > 5


@pytest.mark.parametrize("kind", KINDS)
def test_automatic_runs_may_use_a_head_and_keep_the_text(
    samples: dict[str, Sample], kind: str
) -> None:
    sample = samples[kind]
    with opened(settings(sample, drafters=("auto",), gamma=None, max_tokens=60)) as runtime:
        speculative, plain = answer(runtime, PROMPT), answer(runtime, PROMPT, plain=True)
        facts = runtime._speculation.drafters
    assert sample.drafter in {drafter.name for drafter in facts}
    assert speculative.tokens == plain.tokens


def test_layers_that_were_not_loaded_cannot_be_switched_on(samples: dict[str, Sample]) -> None:
    with opened(settings(samples["step35"], drafters=("lookup",))) as runtime:
        with pytest.raises(PairRefused, match="did not load its prediction layers"):
            runtime.set_drafters(("mtp",))
        assert runtime.settings.drafters == ("lookup",)


def test_a_target_without_prediction_layers_is_refused(samples: dict[str, Sample]) -> None:
    sample = replace(samples["eagle3"], drafter="mtp", head=None)
    with pytest.raises(PairRefused, match="no prediction layer"), opened(settings(sample)):
        pass


def test_prediction_layers_that_were_left_out_of_the_file_are_refused(tmp_path: Path) -> None:
    path = write_step35(tmp_path / "cut.gguf", without=frozenset({"blk.5.nextn.eh_proj.weight"}))
    with pytest.raises(PairRefused), opened(settings(Sample("mtp", path, None))):
        pass


def test_more_layers_than_the_engine_runs_are_refused_and_no_crash(tmp_path: Path) -> None:
    path = write_glm4moe(tmp_path / "two.gguf", layers=2)
    with (
        pytest.raises(PairRefused, match="not available in your engine: it cannot run 2"),
        opened(settings(Sample("mtp", path, None))),
    ):
        pass


def test_eagle3_without_a_file_says_how_to_name_one(samples: dict[str, Sample]) -> None:
    sample = replace(samples["eagle3"], head=None)
    with pytest.raises(OptionError, match="needs a file"), opened(settings(sample)):
        pass


def test_closing_the_pair_closes_its_heads(samples: dict[str, Sample]) -> None:
    with opened(settings(samples["eagle3"], max_tokens=10)) as runtime:
        answer(runtime, PROMPT)
        head = runtime._workshop._heads["eagle3"][1]
    with pytest.raises(ValueError, match="closed"):
        _ = head.head._cache.handle
    assert isinstance(runtime.loaded.target, Context)
