"""Medusa heads over real engine passes: answers equal plain ones, states found or not missed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.core.sampling import SamplingParams
from localspec.core.tally import Tally
from localspec.errors import OptionError, PairRefused
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.conftest import TinyPair
from tests.heads import knowing_heads, random_heads, write_heads
from tests.models import write_mamba, write_window

GREEDY = SamplingParams(temperature=0)
PROMPT = [0, *range(30, 60)]


def settings(target: Path, head: Path | None, **changes: object) -> RunSettings:
    usual = RunSettings(
        PairFiles(target),
        drafters=("medusa",),
        head=head,
        gamma=3,
        strict=True,
        sampling=GREEDY,
        max_tokens=300,
        target=Placement(context=512),
        threads=1,
    )
    return replace(usual, **changes)


def opened(chosen: RunSettings):
    return open_runtime(chosen, lambda _note: None)


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


@pytest.fixture(scope="module")
def head(tiny_pair: TinyPair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("heads") / "medusa.gguf"
    return knowing_heads(tiny_pair.target, path, PROMPT)


@pytest.mark.parametrize("gamma", range(1, 8))
def test_three_hundred_greedy_ids_equal_plain_ones(
    tiny_pair: TinyPair, head: Path, gamma: int
) -> None:
    """A14 B07 B14: whatever the heads guess, the ids are the target's own."""
    with opened(settings(tiny_pair.target, head, gamma=gamma)) as runtime:
        speculative, plain = answer(runtime, PROMPT), answer(runtime, PROMPT, plain=True)
    assert speculative.tokens == plain.tokens
    assert speculative.emitted == speculative.accepted + speculative.passes - speculative.cut
    assert max(step.drafted for step in speculative.steps) == min(gamma, 3)
    assert speculative.accepted > 20


@pytest.mark.parametrize("heads", [1, 2, 5])
def test_random_heads_of_any_number_leave_the_ids_alone(
    tiny_pair: TinyPair, tmp_path: Path, heads: int
) -> None:
    made = random_heads(tiny_pair.target, heads, seed=heads)
    path = write_heads(tmp_path / "random.gguf", tiny_pair.target, made)
    with opened(settings(tiny_pair.target, path, gamma=7, max_tokens=80)) as runtime:
        speculative, plain = answer(runtime, PROMPT), answer(runtime, PROMPT, plain=True)
    assert speculative.tokens == plain.tokens
    assert speculative.drafted >= heads * (speculative.passes - 4)


@pytest.mark.parametrize("kind", ["window", "recurrent"])
def test_other_kinds_of_target_give_their_states_too(tmp_path: Path, kind: str) -> None:
    """H07 I07: a sliding window, and a state that cannot forget its end."""
    write = write_window if kind == "window" else write_mamba
    target = write(tmp_path / "target.gguf")
    made = random_heads(target, ids=10**6)
    path = write_heads(tmp_path / "heads.gguf", target, made)
    chosen = settings(target, path, strict=kind == "window", max_tokens=100)
    with opened(chosen) as runtime:
        speculative, plain = answer(runtime, PROMPT), answer(runtime, PROMPT, plain=True)
    assert speculative.tokens == plain.tokens
    assert speculative.drafted > 0


def three_turns(runtime: Runtime, *, plain: bool) -> list[list[int]]:
    """Answer, break an answer off, go on, edit the second question, go on."""
    one = answer(runtime, PROMPT, plain=plain).tokens
    broken = answer(runtime, [*PROMPT, *one, 70, 71], plain=plain, stop=6).tokens
    assert 0 < len(broken) < 40
    two = answer(runtime, [*PROMPT, *one, 70, 71, 72], plain=plain).tokens
    edited = answer(runtime, [*PROMPT, *one[:20], 90, 91], plain=plain).tokens
    return [one, two, edited]


def test_three_turns_with_an_edit_and_an_interruption_equal_plain_ones(
    tiny_pair: TinyPair, head: Path
) -> None:
    """G10 G16: the state is that of the history, whatever the cache held before."""
    chosen = settings(tiny_pair.target, head, max_tokens=40)
    with opened(chosen) as runtime:
        speculative = three_turns(runtime, plain=False)
    with opened(chosen) as runtime:
        assert three_turns(runtime, plain=True) == speculative


def test_the_same_prompt_again_costs_the_same_rounds(tiny_pair: TinyPair, head: Path) -> None:
    """E04: nothing is remembered from one answer to the next."""
    with opened(settings(tiny_pair.target, head, max_tokens=40)) as runtime:
        answer(runtime, PROMPT)  # plain passes are measured in it, and not again for 64 passes
        runs = [answer(runtime, PROMPT) for _ in range(3)]
    assert not any(step.baseline for run in runs for step in run.steps)
    assert len({(run.passes, run.drafted, run.accepted) for run in runs}) == 1


def test_the_first_round_after_a_prompt_is_plain(tiny_pair: TinyPair, head: Path) -> None:
    with opened(settings(tiny_pair.target, head, max_tokens=20)) as runtime:
        answer(runtime, PROMPT)  # plain passes are measured in it
        drafted = [step.drafted for step in answer(runtime, PROMPT).steps]
    assert drafted[0] == 0
    assert all(drafted[1:-1])


def test_a_plain_round_in_between_loses_nothing(tiny_pair: TinyPair, head: Path) -> None:
    """A chain: where lookup guesses, the heads are not asked, and find their state afterwards."""
    chosen = settings(tiny_pair.target, head, drafters=("lookup", "medusa"), max_tokens=200)
    with opened(chosen) as runtime:
        speculative, plain = answer(runtime, PROMPT), answer(runtime, PROMPT, plain=True)
    assert speculative.tokens == plain.tokens
    assert {step.drafter for step in speculative.steps} >= {"medusa"}


def test_automatic_drafting_uses_heads_that_come_with_the_pair(
    tiny_pair: TinyPair, head: Path
) -> None:
    files = PairFiles(tiny_pair.target, heads=(("medusa", head),))
    chosen = settings(tiny_pair.target, None, drafters=("auto",), gamma=3, files=files)
    with opened(chosen) as runtime:
        assert "medusa" in {step.drafter for step in answer(runtime, PROMPT).steps}


def test_a_head_of_the_pair_that_fails_is_left_out_and_said(
    tiny_pair: TinyPair, tmp_path: Path
) -> None:
    files = PairFiles(tiny_pair.target, heads=(("medusa", tmp_path / "gone.gguf"),))
    chosen = settings(tiny_pair.target, None, drafters=("auto",), files=files, max_tokens=10)
    notes: list[str] = []
    with open_runtime(chosen, notes.append) as runtime:
        assert answer(runtime, PROMPT).emitted == 10
    assert [note for note in notes if "drafter medusa is left out: no Medusa heads" in note]


@pytest.mark.parametrize("drafters", [("auto",), ("medusa",)])
def test_a_named_head_that_fails_stops_the_run(
    tiny_pair: TinyPair, tmp_path: Path, drafters: tuple[str, ...]
) -> None:
    """A damaged or foreign file of the user's own choice is no reason to guess otherwise."""
    chosen = settings(tiny_pair.target, tiny_pair.draft, drafters=drafters)
    with pytest.raises(PairRefused, match="holds no"), opened(chosen):
        pass


def test_medusa_without_a_file_of_heads_is_an_option_error(tiny_pair: TinyPair) -> None:
    chosen = settings(tiny_pair.target, None)
    with pytest.raises(OptionError, match="needs a file of heads"), opened(chosen):
        pass


def test_settings_change_between_answers_and_the_heads_stay(
    tiny_pair: TinyPair, head: Path
) -> None:
    with opened(settings(tiny_pair.target, head, max_tokens=30)) as runtime:
        first = answer(runtime, PROMPT)
        runtime.set_drafters(("lookup",))
        answer(runtime, PROMPT)
        runtime.set_drafters(("medusa",))
        again = answer(runtime, PROMPT)
    assert (again.tokens, again.drafted) == (first.tokens, first.drafted)
