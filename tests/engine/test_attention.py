"""Flash attention or plain products: which it is, how wide a pass is, and that both agree."""

from pathlib import Path

import numpy as np
import pytest

from localspec.core.lockstep import Wanted
from localspec.core.tokens import Logits, Tokens
from localspec.engine import Context, ContextOptions, Model, SharedContext, log
from localspec.engine.attention import PLAIN_PASS, Attention, Place, is_plain, pass_width
from localspec.engine.shape import CACHE_TYPES, attends_plainly, width_of
from localspec.pairs.header import read_header
from localspec.pairs.memory import Load, compute_bytes
from localspec.runtime.caches import target_load
from localspec.runtime.settings import PairFiles, Placement, RunSettings
from tests.models import write_window

DISABLED = "flash_attn            = disabled"
HERE = Place(on_processor=True, value_type="f16")


@pytest.mark.parametrize(
    ("wanted", "place", "plain"),
    [
        ("auto", HERE, True),
        ("on", HERE, False),
        ("off", HERE, True),
        ("auto", Place(on_processor=False, value_type="f16"), False),
        ("off", Place(on_processor=False, value_type="f16"), True),
        ("auto", Place(on_processor=True, value_type="bf16"), True),
        ("auto", Place(on_processor=True, value_type="q8_0"), False),
        ("auto", Place(on_processor=True, value_type="f16", window=512), False),
    ],
)
def test_auto_takes_plain_products_only_where_they_are_faster(
    wanted: Attention, place: Place, plain: bool
) -> None:
    assert is_plain(wanted, place) is plain


def test_a_pass_is_narrow_with_plain_products_and_yet_holds_all_its_rows() -> None:
    assert pass_width(512, 33, plain=False) == 512
    assert pass_width(512, 33, plain=True) == PLAIN_PASS
    assert pass_width(512, 264, plain=True) == 264
    assert pass_width(64, 33, plain=True) == 64


def told(model: Model, options: ContextOptions) -> str:
    """Give what the engine says about a context while it makes it."""
    with log.captured() as lines:
        context = Context(model, options)
    context.close()
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ContextOptions(64), DISABLED),
        (ContextOptions(64, flash_attn="off"), DISABLED),
        (ContextOptions(64, flash_attn="on"), "flash_attn            = enabled"),
        (ContextOptions(64, kv_type_v="q8_0"), "enabling flash_attn"),
    ],
)
def test_the_engine_does_as_it_is_told(
    tiny_model: Model, options: ContextOptions, said: str
) -> None:
    assert said in told(tiny_model, options)


def greedy(model: Model, options: ContextOptions, prompt: Tokens) -> list[int]:
    with Context(model, options) as context:
        logits, out = context.extend(prompt, 1), list[int]()
        for _ in range(24):
            out.append(int(logits[-1].argmax()))
            logits = context.extend(np.array(out[-1:], np.int32), 1)
        return out


def last_rows(model: Model, way: Attention, ids: Tokens, *, singly: bool) -> Logits:
    with Context(model, ContextOptions(256, flash_attn=way)) as context:
        if not singly:
            return context.extend(ids, 8).copy()
        context.extend(ids[:-8], 0)
        return np.concatenate([context.extend(ids[at : at + 1], 1) for at in range(-8, -1)])


def test_both_ways_differ_no_more_than_one_does_by_how_rows_are_grouped(
    smollm_model: Model,
) -> None:
    prompt = np.random.default_rng(3).integers(5, 40_000, 150).astype(np.int32)
    fused = last_rows(smollm_model, "on", prompt, singly=False)
    again = last_rows(smollm_model, "on", prompt, singly=True)
    plain = last_rows(smollm_model, "off", prompt, singly=False)
    rounding = np.abs(fused[: len(again)] - again).mean()
    assert 0 < np.abs(fused - plain).mean() < 3 * rounding


def test_rejected_guesses_leave_no_trace_with_either(tiny_model: Model) -> None:
    """Plain products keep the values in another order; taking guesses back must not show."""
    ids = np.random.default_rng(4).integers(5, 300, 60).astype(np.int32)
    junk = np.random.default_rng(5).integers(5, 300, 16).astype(np.int32)
    for way in ("on", "off"):
        rows = []
        for disturbed in (False, True):
            with Context(tiny_model, ContextOptions(128, flash_attn=way)) as context:
                context.extend(ids[:40], 0)
                if disturbed:
                    context.extend(junk, 16)
                    context.rewind(40)
                rows.append(context.extend(ids[40:], 20).copy())
        np.testing.assert_array_equal(*rows)


@pytest.mark.parametrize("kind", CACHE_TYPES)
def test_auto_runs_with_every_cache_type(tiny_model: Model, kind: str) -> None:
    prompt = np.arange(5, 25, dtype=np.int32)
    assert len(greedy(tiny_model, ContextOptions(64, kv_type_k=kind, kv_type_v=kind), prompt)) == 24


def test_many_sequences_fit_into_one_pass(tiny_model: Model) -> None:
    """Eight answers with 32 guesses each are more rows than a narrow pass holds."""
    options = ContextOptions(64, sequences=8, max_rows=33)
    assert attends_plainly(tiny_model, options)
    ids = np.arange(5, 38, dtype=np.int32)
    with SharedContext(tiny_model, options) as cache:
        found = cache.extend([Wanted(each, ids, 33) for each in range(8)])
    assert [rows.shape[0] for rows in found] == [33] * 8


@pytest.mark.parametrize("kind", ["f16", "q8_0"])
@pytest.mark.parametrize("windowed", [False, True])
def test_the_memory_that_is_told_follows_the_same_choice(
    tiny: Path, tmp_path: Path, windowed: bool, kind: str
) -> None:
    path = write_window(tmp_path / "w.gguf") if windowed else tiny
    place = Placement(kv=kind)
    settings = RunSettings(PairFiles(path), target=place, draft=place)
    load = target_load(read_header(path), settings, 1024)
    options = ContextOptions(1024, kv_type_k=kind, kv_type_v=kind)
    with Model.load(path) as model:
        assert load.flash_attn is not attends_plainly(model, options)
        assert load.n_batch == width_of(model, options)


def test_a_table_of_scores_is_part_of_what_is_needed(smollm: Path) -> None:
    """32,768 ids, passes of 128 tokens, 9 heads: 151 MB, which the engine reports, too."""
    header = read_header(smollm)
    fused, plain = (
        compute_bytes(header, Load(32768, n_batch=128, rows=1, flash_attn=flash))
        for flash in (True, False)
    )
    assert plain - fused == pytest.approx(4 * 32768 * 128 * 9, rel=0.1)
