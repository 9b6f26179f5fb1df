"""Training itself, on a generated target; needs the extra `train`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localspec.drafters.medusa_heads import MedusaHeads
from localspec.pairs.header import read_header
from localspec.pairs.medusa_file import read_medusa
from tests.models import write_llama
from tools.medusa_writer import write_medusa
from tools.train_head.dataset import load_chats
from tools.train_head.generate import Plan, open_and_write

pytest.importorskip("torch", reason="the extra `train` is not installed")


def test_heads_learn_stop_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    """The same seed gives the same heads, in one call or in several."""
    from tools.train_head.loop import Loop, Schedule
    from tools.train_head.medusa import Medusa, Training, agreement

    target = write_llama(tmp_path / "target.gguf")
    plan = Plan(seed=1, chats=12, slots=6, room=256, answer_tokens=96)
    open_and_write(target, tmp_path / "chats", plan)
    data = load_chats(tmp_path / "chats")
    how = Training(heads=2, ids=384, chunk=8, chunks=8, block_rate=5e-3)
    schedule, short = Schedule(steps=40), Schedule(steps=40, seconds=1e-9)

    def trained(folder: Path, schedule: Schedule) -> MedusaHeads | None:
        trainee = Medusa(target, data, how)
        return trainee.taken() if Loop(trainee, schedule, folder).run() else None

    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    whole = trained(folders[0], schedule)
    broken_off = Loop(Medusa(target, data, how), schedule, folders[1])
    for _ in range(17):
        broken_off.advance()
    broken_off.keep()
    assert trained(folders[1], short) is None
    parts = trained(folders[1], schedule)
    assert whole is not None
    assert parts is not None
    np.testing.assert_array_equal(whole.layers[0].weight, parts.layers[0].weight)
    untrained = replace(
        whole, layers=tuple(replace(x, weight=0 * x.weight, bias=0 * x.bias) for x in whole.layers)
    )
    assert sum(agreement(whole, data.train)) > sum(agreement(untrained, data.train))
    path = write_medusa(tmp_path / "heads.gguf", whole, target)
    assert len(read_medusa(path, read_header(target))) == 2
