"""Strict width: the logits are a function of the token history, to the last bit."""

import random
from pathlib import Path

import numpy as np
import pytest

from localspec.core.tokens import Tokens
from localspec.engine import Context, ContextOptions, Model, strict_width
from localspec.engine.attention import Attention
from localspec.engine.quantise import Recipe, quantise
from localspec.errors import OptionError
from tests.models import write_window

ROWS = 8


def singly(model: Model, history: Tokens, first: int, options: ContextOptions) -> dict[int, bytes]:
    """Give the bits of each position's logits, one token a pass."""
    with Context(model, options) as context:
        context.extend(history[:first], 1)
        return {
            at: context.extend(history[at : at + 1], 1).tobytes()
            for at in range(first, len(history))
        }


def grouped(model: Model, history: Tokens, seed: int, options: ContextOptions) -> dict[int, bytes]:
    """Give the same by random groups, after rejected drafts and rewinds of several lengths."""
    draw, found, rows = random.Random(seed), dict[int, bytes](), options.strict_rows or 1
    with Context(model, options) as context:
        while len(context.tokens) < len(history):
            held = len(context.tokens)
            junk = np.array(
                [draw.randrange(5, 300) for _ in range(draw.randint(1, rows))], np.int32
            )
            if draw.random() < 0.3 and held + len(junk) <= context.capacity:
                context.extend(junk, len(junk))
                held = context.rewind(max(0, held - draw.choice([0, 0, 1, 2, 5])))
            size = min(draw.choice([1, 2, 3, rows, 3 * rows + 1, 50]), len(history) - held)
            asked = min(size, rows)
            logits = context.extend(history[held : held + size], asked)
            for row in range(asked):
                found[held + size - asked + row] = logits[row].tobytes()
    return found


def differing(
    model: Model,
    *,
    length: int,
    rows: int,
    seeds: int = 2,
    tail: int = 40,
    flash_attn: Attention = "auto",
) -> list[int]:
    history = np.random.default_rng(5).integers(5, 300, length).astype(np.int32)
    options = ContextOptions(n_ctx=length, strict_rows=rows, flash_attn=flash_attn)
    expected = singly(model, history, length - tail, options)
    wrong: list[int] = []
    for seed in range(seeds):
        found = grouped(model, history, seed, options)
        wrong += [at for at in expected if at in found and found[at] != expected[at]]
    return wrong


@pytest.mark.parametrize("flash_attn", ["on", "off"])
@pytest.mark.parametrize("rows", [4, 8, 12, 16])
def test_any_grouping_gives_the_same_bits(
    tiny_model: Model, rows: int, flash_attn: Attention
) -> None:
    """B02, B05: also where the attention's padded length changes, at 256 cells."""
    found = differing(tiny_model, length=280, rows=rows, seeds=6, flash_attn=flash_attn)
    assert found == []


def test_any_grouping_gives_the_same_bits_in_a_window_model(tmp_path: Path) -> None:
    with Model.load(write_window(tmp_path / "w.gguf")) as model:
        assert differing(model, length=280, rows=ROWS, seeds=4) == []


def test_any_grouping_gives_the_same_bits_on_smollm(smollm_model: Model) -> None:
    assert differing(smollm_model, length=60, rows=ROWS, tail=16) == []


@pytest.mark.parametrize("layout", ["q4_0", "bf16"])
def test_any_grouping_gives_the_same_bits_on_other_layouts_of_smollm(
    smollm: Path, tmp_path: Path, layout: str
) -> None:
    written = quantise(smollm, tmp_path / "layout.gguf", Recipe(layout, pure=True))
    with Model.load(written) as model:
        assert differing(model, length=60, rows=ROWS, seeds=1, tail=16) == []


def test_without_strict_width_the_bits_do_differ(smollm_model: Model) -> None:
    """A control: else the tests above would prove nothing."""
    history = np.random.default_rng(5).integers(5, 300, 700).astype(np.int32)
    with Context(smollm_model, ContextOptions(n_ctx=700)) as context:
        context.extend(history[:-8], 1)
        together = context.extend(history[-8:], 8).copy()
        context.rewind(692)
        one = [context.extend(history[at : at + 1], 1)[0].copy() for at in range(692, 700)]
    assert not np.array_equal(together, np.array(one))


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5, 6, 7, 9])
def test_a_width_that_the_kernels_would_split_is_refused(tiny_model: Model, rows: int) -> None:
    """A fifth row is computed by another kernel than the first four, with other rounding."""
    with pytest.raises(OptionError, match="multiples of 4"):
        Context(tiny_model, ContextOptions(n_ctx=64, strict_rows=rows))


def test_the_narrowest_strict_width_holds_a_draft_and_its_bonus_row() -> None:
    assert [strict_width(rows) for rows in (1, 2, 4, 5, 8, 9)] == [4, 4, 4, 8, 8, 12]


def test_strict_capacity_is_what_was_asked_to_the_last_cell(tiny_model: Model) -> None:
    """G05: the spare rows have cells of their own."""
    history = np.random.default_rng(1).integers(5, 300, 256).astype(np.int32)
    with Context(tiny_model, ContextOptions(n_ctx=256, strict_rows=ROWS)) as context:
        context.extend(history, ROWS)
        assert len(context.tokens) == context.capacity == 256
        with pytest.raises(ValueError, match="exceed"):
            context.extend(history[:1], 1)


def test_strict_logits_mean_the_same_as_plain_ones(tiny_model: Model) -> None:
    history = np.random.default_rng(2).integers(5, 300, 50).astype(np.int32)
    with (
        Context(tiny_model, ContextOptions(n_ctx=64)) as plain,
        Context(tiny_model, ContextOptions(n_ctx=64, strict_rows=ROWS)) as strict,
    ):
        np.testing.assert_allclose(plain.extend(history, 4), strict.extend(history, 4), atol=2e-2)
