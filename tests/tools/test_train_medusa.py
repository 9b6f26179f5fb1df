"""Training itself, on a generated target; needs the extra `train`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.pairs.header import read_header
from localspec.pairs.medusa_file import read_medusa
from tests.models import write_llama
from tools.medusa_writer import write_medusa
from tools.train_head.dataset import common_ids, load_chats
from tools.train_head.generate import Plan, open_and_write

pytest.importorskip("torch", reason="the extra `train` is not installed")


def test_heads_learn_stop_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    """The same seed gives the same heads, in one call or in several."""
    from tools.train_head.medusa import Training, _Run, agreement, train

    target = write_llama(tmp_path / "target.gguf")
    plan = Plan(seed=1, chats=12, slots=6, room=256, answer_tokens=96)
    open_and_write(target, tmp_path / "chats", plan)
    data = load_chats(tmp_path / "chats")
    how = Training(heads=2, ids=384, steps=40, chunk=8, chunks=8, block_rate=5e-3)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    whole = train(target, data, folders[0], how)
    ids = common_ids(data.train.ids, how.ids, 384)
    broken_off = _Run(target, data, folders[1], how, ids)
    for _ in range(17):
        broken_off.advance()
    broken_off.keep()
    assert train(target, data, folders[1], replace(how, seconds=1e-9)) is None
    parts = train(target, data, folders[1], how)
    assert whole is not None
    assert parts is not None
    np.testing.assert_array_equal(whole.layers[0].weight, parts.layers[0].weight)
    untrained = replace(
        whole, layers=tuple(replace(x, weight=0 * x.weight, bias=0 * x.bias) for x in whole.layers)
    )
    assert sum(agreement(whole, data.train)) > sum(agreement(untrained, data.train))
    path = write_medusa(tmp_path / "heads.gguf", whole, target)
    assert len(read_medusa(path, read_header(target))) == 2
