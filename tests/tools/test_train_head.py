"""The training tool, as far as it needs no torch: chats, shards, and what is trained on."""

from pathlib import Path

import numpy as np
import pytest

from localspec.engine import Model
from localspec.engine.template import ChatTemplate
from tests.models import write_llama
from tools.train_head.chats import Phrases
from tools.train_head.dataset import common_ids, load_chats
from tools.train_head.generate import Plan, Writer, open_and_write, shard_files
from tools.train_head.target import output_rows

PLAN = Plan(seed=3, chats=5, slots=3, room=256, answer_tokens=40)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_llama(tmp_path_factory.mktemp("train") / "target.gguf")


@pytest.fixture(scope="module")
def chats(target: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chats")
    assert open_and_write(target, folder, PLAN) == 5
    return folder


def test_every_kept_state_gives_the_greedy_token_that_was_written(
    target: Path, chats: Path
) -> None:
    """The state of row i, times the output matrix, is the law that wrote the id of row i."""
    data = load_chats(chats)
    weights = output_rows(target, np.arange(384))
    for rows in (data.train, data.held):
        hidden = rows.hidden[rows.greedy].astype(np.float32)
        if len(hidden):
            agrees = (hidden @ weights.T).argmax(1) == rows.ids[rows.greedy]
            assert agrees.mean() > 0.97  # states are kept in half precision
    assert data.train.greedy.any()


def test_a_second_call_writes_only_what_is_missing(target: Path, chats: Path) -> None:
    before = [path.stat().st_mtime_ns for path in shard_files(chats)]
    assert open_and_write(target, chats, PLAN) == 5
    assert [path.stat().st_mtime_ns for path in shard_files(chats)] == before


def test_a_call_that_runs_out_of_time_keeps_what_is_finished(target: Path, tmp_path: Path) -> None:
    assert open_and_write(target, tmp_path, Plan(seed=3, chats=5, slots=2, seconds=1e-9)) == 0
    assert shard_files(tmp_path) == []


def test_the_same_seed_asks_the_same_questions() -> None:
    phrases = Phrases()
    first, again, other = (
        [phrases.opening(np.random.default_rng([seed, n])) for n in range(40)] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert None in first
    assert any(question and "{" not in question for question in first)


def test_an_invented_question_begins_where_a_user_s_words_stand(target: Path) -> None:
    with Model.load(target) as model:
        template = ChatTemplate.of(model)
        assert template is not None
        with template:
            chat = Writer(model, template, PLAN)._blank
        assert model.vocabulary.detokenize(chat, special=True) == b"<|im_start|>user\n"


def test_held_out_chats_are_whole_chats(chats: Path) -> None:
    data = load_chats(chats)
    kept = np.concatenate([np.load(path)["chat"] for path in shard_files(chats)])
    assert len(np.unique(data.held.answer)) == int((kept % 20 == 0).sum())
    assert len(np.unique(data.train.answer)) == int((kept % 20 != 0).sum())


def test_common_ids_are_those_written_most() -> None:
    ids = np.array([7, 7, 7, 2, 2, 9, 1])
    assert common_ids(ids, 2, 12).tolist() == [2, 7]
    assert common_ids(ids, 6, 12).tolist() == [0, 1, 2, 3, 7, 9]
