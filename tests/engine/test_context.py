"""The cache and the passes: lengths, bounds, slices, cache types, interruption."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from localspec.core.tokens import Tokens, sync
from localspec.engine import Context, ContextOptions, Model, passes
from localspec.engine.shape import CACHE_TYPES
from localspec.errors import OptionError, PairRefused


def ids(count: int, *, seed: int = 0, below: int = 300) -> Tokens:
    return np.random.default_rng(seed).integers(5, below, count).astype(np.int32)


@pytest.fixture
def context(tiny_model: Model) -> Iterator[Context]:
    with Context(tiny_model, ContextOptions(n_ctx=128)) as opened:
        yield opened


def greedy(context: Context, prompt: Tokens, count: int) -> list[int]:
    logits = context.extend(prompt, 1)
    out = []
    for _ in range(count):
        out.append(int(logits[-1].argmax()))
        logits = context.extend(np.array(out[-1:], np.int32), 1)
    return out


def test_a_fresh_context_is_empty_and_reports_the_capacity_asked_for(context: Context) -> None:
    assert len(context.tokens) == 0
    assert context.capacity == 128
    assert (context.engine_s, context.passes) == (0, 0)


def test_lengths_stay_golden_over_rounds_of_drafts_and_rejections(context: Context) -> None:
    """B07: after each round the cache holds the prompt and what was accepted, nothing else."""
    history = ids(10)
    context.extend(history, 1)
    rng = np.random.default_rng(3)
    for _ in range(20):
        drafted = ids(4, seed=int(rng.integers(1000)))
        accepted = int(rng.integers(0, 5))
        assert context.extend(drafted, 4).shape == (4, context.model.n_vocab)
        assert context.rewind(len(history) + accepted) == len(history) + accepted
        history = np.concatenate([history, drafted[:accepted]])
        assert context.tokens.tolist() == history.tolist()


def test_after_rejections_the_next_logits_equal_those_of_a_fresh_cache(tiny_model: Model) -> None:
    """B07: wrong positions would show here."""
    history = ids(20)
    with Context(tiny_model, ContextOptions(n_ctx=64)) as used:
        used.extend(history, 1)
        used.extend(ids(7, seed=9), 7)
        used.rewind(15)
        again = used.extend(history[15:], 1).copy()
    with Context(tiny_model, ContextOptions(n_ctx=64)) as fresh:
        fresh.extend(history[:15], 1)
        np.testing.assert_array_equal(again, fresh.extend(history[15:], 1))


def test_rows_of_one_pass_equal_tokens_decoded_one_at_a_time(tiny_model: Model) -> None:
    """B05: up to rounding, which is checked to be far below any difference in meaning."""
    history = ids(24)
    with Context(tiny_model, ContextOptions(n_ctx=64)) as singly:
        rows = [singly.extend(history[i : i + 1], 1)[0].copy() for i in range(len(history))]
    with Context(tiny_model, ContextOptions(n_ctx=64)) as together:
        np.testing.assert_allclose(together.extend(history, 24), rows, atol=2e-2)


def test_only_the_last_rows_come_back_in_order(tiny_model: Model) -> None:
    history = ids(12)
    with Context(tiny_model, ContextOptions(n_ctx=64)) as context:
        every = context.extend(history, 12).copy()
        context.rewind(0)
        np.testing.assert_allclose(context.extend(history, 3), every[-3:], atol=2e-2)


def test_zero_rows_and_zero_tokens_are_allowed(context: Context) -> None:
    assert context.extend(ids(5), 0).shape == (0, 384)
    assert context.extend(ids(0), 0).shape == (0, 384)
    assert len(context.tokens) == 5


def test_the_cache_can_be_filled_to_its_last_cell_and_not_beyond(context: Context) -> None:
    """G05: the bound is checked before the engine sees anything."""
    context.extend(ids(127), 1)
    context.extend(ids(1), 1)
    before, passes = context.tokens.tolist(), context.passes
    with pytest.raises(ValueError, match="128 \\+ 1 tokens exceed a context of 128"):
        context.extend(ids(1), 1)
    assert context.tokens.tolist() == before
    assert context.passes == passes


@pytest.mark.parametrize("held", range(120, 129))
@pytest.mark.parametrize("block", [1, 2, 8, 9])
def test_a_block_is_decoded_whole_or_refused_whole(context: Context, held: int, block: int) -> None:
    """G04: near the end of the context."""
    context.extend(ids(held), 1)
    if held + block <= 128:
        assert len(context.extend(ids(block), block)) == block
        assert len(context.tokens) == held + block
    else:
        with pytest.raises(ValueError, match="exceed"):
            context.extend(ids(block), block)
        assert len(context.tokens) == held


def test_more_rows_than_tokens_or_than_agreed_are_refused(context: Context) -> None:
    for count, rows in ((2, 3), (40, 33), (2, -1)):
        with pytest.raises(ValueError, match="rows"):
            context.extend(ids(count), rows)
    assert len(context.tokens) == 0


def test_an_id_outside_the_vocabulary_is_refused_and_leaves_the_cache_as_it_was(
    context: Context,
) -> None:
    context.extend(ids(5), 1)
    for wrong in (384, -1):
        with pytest.raises(ValueError, match="refused the batch"):
            context.extend(np.array([7, wrong], np.int32), 1)
        assert len(context.tokens) == 5
    assert context.extend(ids(1), 1).shape == (1, 384)


@pytest.mark.parametrize("length", [700, 2100])
@pytest.mark.parametrize("rows", [1, 8, 16, 32])
def test_a_prompt_longer_than_the_batch_is_cut_and_gives_the_same_logits(
    tiny_model: Model, length: int, rows: int
) -> None:
    """G07: with a batch of 512, at every width of a verified block."""
    prompt = ids(length)
    with Context(tiny_model, ContextOptions(n_ctx=2200)) as context:
        logits = context.extend(prompt, rows)
        assert logits.shape == (rows, 384)
        assert context.tokens.tolist() == prompt.tolist()
        kept = logits.copy()
        context.rewind(length - rows)
        np.testing.assert_allclose(context.extend(prompt[-rows:], rows), kept, atol=5e-2)


@pytest.mark.parametrize(
    ("count", "rows", "size"), [(520, 16, 512), (9, 4, 8), (8, 8, 8), (25, 8, 8)]
)
def test_the_last_slice_holds_every_row_wanted(count: int, rows: int, size: int) -> None:
    slices = list(passes.slices(count, rows, size))
    assert [start for start, _ in slices[1:]] == [end for _, end in slices[:-1]]
    assert (slices[0][0], slices[-1][1]) == (0, count)
    assert all(0 < end - start <= size for start, end in slices)
    assert slices[-1][1] - slices[-1][0] >= rows


@pytest.mark.parametrize("kind", CACHE_TYPES)
def test_every_cache_type_rewinds_or_is_refused(tiny_model: Model, kind: str) -> None:
    """G12, G13: never a crash, never a silently wrong cache."""
    options = ContextOptions(n_ctx=64, kv_type_k=kind, kv_type_v=kind)
    try:
        context = Context(tiny_model, options)
    except PairRefused:
        assert kind not in {"f16", "q8_0", "q4_0"}  # the ones that people use must work
        return
    with context:
        history = ids(20)
        before = context.extend(history, 1).copy()
        context.extend(ids(6, seed=5), 6)
        assert context.rewind(19) == 19
        np.testing.assert_allclose(context.extend(history[19:], 1), before, atol=0.2)


def test_an_unknown_cache_type_names_those_there_are(tiny_model: Model) -> None:
    with pytest.raises(OptionError) as caught:
        Context(tiny_model, ContextOptions(n_ctx=64, kv_type_k="q9"))
    assert "q8_0" in caught.value.hint


def test_two_contexts_interleaved_equal_their_solo_runs(tiny_model: Model) -> None:
    """C05: no state is shared."""
    prompts = [ids(20, seed=1), ids(31, seed=2)]
    solo = []
    for prompt in prompts:
        with Context(tiny_model, ContextOptions(n_ctx=128)) as context:
            solo.append(greedy(context, prompt, 30))
    with (
        Context(tiny_model, ContextOptions(n_ctx=128)) as left,
        Context(tiny_model, ContextOptions(n_ctx=128)) as right,
    ):
        both: list[list[int]] = [[], []]
        logits = [left.extend(prompts[0], 1), right.extend(prompts[1], 1)]
        for _ in range(30):
            for side, context in enumerate((left, right)):
                both[side].append(int(logits[side][-1].argmax()))
                logits[side] = context.extend(np.array(both[side][-1:], np.int32), 1)
    assert both == solo


def test_logits_are_borrowed_and_read_only(context: Context) -> None:
    logits = context.extend(ids(3), 2)
    with pytest.raises(ValueError, match="read-only"):
        logits[0, 0] = 1.0


def test_sync_needs_no_pass_for_what_the_cache_already_holds(context: Context) -> None:
    history = ids(30)
    sync(context, history, 1)
    passes = context.passes
    sync(context, np.concatenate([history, ids(2, seed=8)]), 3)
    assert context.passes == passes + 1
    assert len(context.tokens) == 32


def test_time_inside_the_engine_is_added_up_per_context(context: Context) -> None:
    context.extend(ids(4), 1)
    first = context.engine_s
    context.extend(ids(4), 1)
    assert 0 < first < context.engine_s
    assert context.passes == 2


def test_closing_a_model_closes_its_contexts_first(tiny: Path) -> None:
    model = Model.load(tiny)
    context = Context(model, ContextOptions(n_ctx=64))
    model.close()
    with pytest.raises(ValueError, match="closed"):
        context.extend(ids(1), 1)
    context.close()
    model.close()
