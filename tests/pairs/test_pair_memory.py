import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pairs_gguf import Spec, write

from localspec.errors import OptionError, PairRefused
from localspec.pairs import memory
from localspec.pairs.header import Header, TensorInfo, read_header
from localspec.pairs.memory import Load, Room, auto_context, estimate, kv_bytes
from localspec.pairs.placement import DEVICE_RESERVE_BYTES, Device, plan
from localspec.pairs.shape import layers_of

GB = 1_000_000_000

MEASURE = """
import json, os, sys
from pathlib import Path
from localspec.engine.context import Context, ContextOptions
from localspec.engine.model import Model, ModelOptions
import numpy as np

def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")

path, n_ctx, batch = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
flash, read = sys.argv[4], int(sys.argv[5])
shape = ContextOptions(n_ctx, batch=batch, threads=1, max_rows=1, flash_attn=flash)
from localspec.engine import library
library.load()
before = resident()
with Model.load(path, ModelOptions(gpu_layers=0)) as model:
    with Context(model, shape) as context:
        context.extend(np.arange(5, 5 + read, dtype=np.int32), 1)
        print(json.dumps(resident() - before))
"""


def measured(path: Path, n_ctx: int, batch: int, flash: str, read: int) -> int:
    root = str(Path(memory.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), *map(str, (n_ctx, batch)), flash, str(read)],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize(
    ("n_ctx", "batch", "flash", "read"),
    [(1024, 64, "on", 64), (4096, 256, "on", 256), (2048, 128, "off", 2000)],
)
def test_the_estimate_is_within_a_tenth_of_what_is_resident(
    smol: Path, n_ctx: int, batch: int, flash: str, read: int
) -> None:
    """I03, H10: plain products fill their table of scores only as the context fills."""
    load = Load(n_ctx, n_batch=batch, rows=1, flash_attn=flash == "on")
    told = estimate(read_header(smol), load).resident
    assert told == pytest.approx(measured(smol, n_ctx, batch, flash, read), rel=0.1)


def test_the_cache_is_counted_by_type_and_in_steps_of_256(smol: Path) -> None:
    header = read_header(smol)
    assert kv_bytes(header, Load(2048)) == 45 * 1024 * 1024  # as the engine itself reports
    assert kv_bytes(header, Load(2000)) == kv_bytes(header, Load(2048))
    small = kv_bytes(header, Load(2048, kv_type_k="q8_0", kv_type_v="q8_0"))
    assert small / kv_bytes(header, Load(2048)) == pytest.approx(34 / 64)
    with pytest.raises(OptionError, match="no cache type 'q9'"):
        kv_bytes(header, Load(2048, kv_type_k="q9"))


def test_a_sliding_window_bounds_the_cache_only_where_it_slides(tmp_path: Path) -> None:
    extra = {
        "{arch}.attention.sliding_window": 64,
        "{arch}.attention.sliding_window_pattern": [True, True, True, False],
    }
    header = read_header(write(tmp_path / "swa.gguf", Spec(blocks=4, extra=extra)))
    full = Load(8192, n_batch=64)
    cells = kv_bytes(header, replace(full, swa_full=False)) / (kv_bytes(header, full) / 4 / 8192)
    assert cells == 3 * 256 + 8192


def test_gemma_3_says_which_layers_slide_only_by_its_family(tmp_path: Path) -> None:
    spec = Spec(arch="gemma3", blocks=6, extra={"{arch}.attention.sliding_window": 512})
    layers = layers_of(read_header(write(tmp_path / "g.gguf", spec)))
    assert [layer.windowed for layer in layers] == [True] * 5 + [False]


def test_layers_may_have_heads_of_their_own_share_a_cache_or_keep_a_state(tmp_path: Path) -> None:
    heads = {"{arch}.attention.head_count_kv": [2, 1, 1, 2], "{arch}.attention.key_length": 16}
    spec = Spec(blocks=4, extra={**heads, "{arch}.attention.shared_kv_layers": 1})
    assert [layer.keys for layer in layers_of(read_header(write(tmp_path / "a", spec)))] == [
        32,
        16,
        16,
    ]
    state = {"{arch}.ssm.state_size": 8, "{arch}.ssm.inner_size": 32, "{arch}.ssm.conv_kernel": 4}
    hybrid = Spec(arch="qwen35", blocks=4, extra={**state, "{arch}.ssm.group_count": 2})
    layers = layers_of(read_header(write(tmp_path / "b", hybrid)))
    assert [layer.state for layer in layers] == [3 * (32 + 2 * 2 * 8) + 8 * 32] * 3 + [0]


def test_repacked_weights_are_needed_once_and_resident_twice(tiny: Path) -> None:
    header = read_header(tiny)
    tensors = tuple(replace(t, type=2, bytes=t.weights // 32 * 18) for t in header.tensors)
    packed = replace(header, tensors=tensors)
    plain = estimate(packed, Load(512), repacked=frozenset())
    copied = estimate(packed, Load(512), repacked=frozenset({"Q4_0"}))
    assert copied.total == plain.total
    assert copied.resident > plain.resident + 0.8 * (plain.weights / 2)


def test_the_context_shrinks_until_both_models_fit(smol: Path) -> None:
    header = read_header(smol)
    full = auto_context(header, header, Load(8192), Room(8 * GB))
    assert full == 8192
    needed = 2 * estimate(header, Load(2048)).total
    short = auto_context(header, header, Load(8192), Room(needed, share=1.0))
    assert short == 2048
    alone = auto_context(header, None, Load(8192), Room(needed, share=1.0))
    assert alone > short
    with pytest.raises(PairRefused, match=r"the pair needs .* at 512 tokens of context") as caught:
        auto_context(header, header, Load(8192), Room(100_000_000))
    assert "smaller pair" in caught.value.hint


def big(tiny: Path, gigabytes: float, blocks: int) -> Header:
    """A header of a model of any size, without its file."""
    header = read_header(tiny)
    metadata = {**header.metadata, "llama.block_count": blocks}
    each = int(gigabytes * GB / (blocks + 2))
    names = ["token_embd.weight", "output.weight", *(f"blk.{n}.ffn.weight" for n in range(blocks))]
    tensors = tuple(TensorInfo(name, (32, each // 34), 8, 0, each) for name in names)
    return replace(header, metadata=metadata, tensors=tensors)


@pytest.mark.parametrize(
    ("vram", "target_layers", "draft_layers"),
    [(4, 12, 25), (8, 29, 25), (12, 33, 25), (16, 33, 25)],
)
def test_the_draft_comes_first_onto_a_device_that_is_too_small_for_both(
    tiny: Path, vram: int, target_layers: int, draft_layers: int
) -> None:
    """I01."""
    target, draft = big(tiny, 8.0, 32), big(tiny, 0.5, 24)
    load = (target, Load(4096)), (draft, Load(4096))
    made = plan(*load, ram_free=16 * GB, devices=[Device("GPU0", vram * GB)])
    assert made.draft is not None
    assert made.draft.layers == draft_layers
    assert made.draft.whole
    assert made.target.layers == pytest.approx(target_layers, abs=2)
    used = made.target.device_bytes + made.draft.device_bytes
    assert used <= vram * GB - DEVICE_RESERVE_BYTES
    if not made.target.whole:
        assert made.reason.startswith("the draft first, since it runs several times a pass")


def test_without_devices_everything_is_the_processors(tiny: Path) -> None:
    target = big(tiny, 8.0, 32), Load(4096)
    made = plan(target, None, ram_free=16 * GB, devices=[])
    assert made.target.layers == 0
    assert made.target.ram_bytes == pytest.approx(8 * GB, rel=0.1)
    with pytest.raises(PairRefused, match=r"needs 8\.\d GB of memory"):
        plan(target, None, ram_free=4 * GB, devices=[])


def test_two_devices_share_a_target(tiny: Path) -> None:
    made = plan(
        (big(tiny, 8.0, 32), Load(4096)),
        (big(tiny, 0.5, 24), Load(4096)),
        ram_free=4 * GB,
        devices=[Device("GPU0", 6 * GB), Device("GPU1", 5 * GB)],
    )
    assert made.target.whole
    assert [name for name, _ in made.target.split] == ["GPU0", "GPU1"]
    assert sum(layers for _, layers in made.target.split) == 33
