"""What an EAGLE-3 head is trained on, as far as it needs no torch: states, stretches, the start."""

from pathlib import Path

import numpy as np
import pytest

from localspec.engine import Context, ContextOptions, Model
from localspec.engine.features import layer_tap
from localspec.errors import NotHere, OptionError, PairRefused
from localspec.pairs.eagle3_file import check_eagle3
from localspec.pairs.header import read_header
from tests.models import write_llama, write_mamba, write_window
from tests.models_heads import write_target
from tools.eagle3_writer import write_eagle3
from tools.train_head.dataset import shard_files
from tools.train_head.eagle3_start import shape_of, start
from tools.train_head.generate import Plan, open_and_write
from tools.train_head.states import check_shown, gather, states_file
from tools.train_head.target import output_rows
from tools.train_head.windows import Chats

LAYERS = (1, 2, 3)
NEVER = float("inf")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_target(tmp_path_factory.mktemp("train") / "target.gguf")


@pytest.fixture(scope="module")
def folder(target: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chats")
    open_and_write(target, folder, Plan(seed=3, chats=6, slots=3, room=320, answer_tokens=60))
    assert gather(target, folder, LAYERS, threads=1, end=NEVER)
    return folder


def test_states_are_those_that_a_drafter_would_be_given(target: Path, folder: Path) -> None:
    """The last chat of a shard, read again: nothing of the chats before it is left in them."""
    shard = shard_files(folder)[-1]
    with np.load(shard) as found:
        ids, last = found["ids"], int(found["prompt"][-1] + found["answer"][-1])
    kept = np.load(states_file(shard, LAYERS))
    assert len(kept) == len(ids)
    with (
        Model.load(target) as model,
        Context(model, ContextOptions(512, threads=1)) as context,
    ):
        tap = layer_tap(context, LAYERS)
        context.extend(ids[-last:], 1)
        np.testing.assert_allclose(kept[-last:], tap.rows(0, last), atol=0.02, rtol=0.02)


def test_a_second_call_reads_no_chat_again(target: Path, folder: Path) -> None:
    files = [states_file(shard, LAYERS) for shard in shard_files(folder)]
    before = [path.stat().st_mtime_ns for path in files]
    assert gather(target, folder, LAYERS, threads=1, end=0.0)
    assert [path.stat().st_mtime_ns for path in files] == before


def test_a_call_without_time_reads_nothing(target: Path, folder: Path) -> None:
    assert not gather(target, folder, (0, 1, 3), threads=1, end=0.0)
    assert not states_file(shard_files(folder)[0], (0, 1, 3)).exists()


@pytest.mark.parametrize("span", [16, 500])
def test_a_stretch_has_the_token_to_guess_two_places_after_its_state(
    target: Path, folder: Path, span: int
) -> None:
    chats = Chats(folder, LAYERS)
    windows = chats.draw(np.random.default_rng(0), 40, span)
    asked = windows.answers >= 0
    assert asked.any(axis=1).all()
    again = chats.draw(np.random.default_rng(0), 40, span)
    np.testing.assert_array_equal(windows.answers, again.answers)
    both = asked[:, :-1] & asked[:, 1:]
    np.testing.assert_array_equal(windows.tokens[:, 1:][both], windows.answers[:, :-1][both])
    laws = windows.hidden[asked].astype(np.float32) @ output_rows(target, np.arange(384)).T
    share = (laws.argmax(1) == windows.answers[asked]).mean()
    assert share > 0.4  # near half of the answers are greedy; by chance it were 0.003


def test_every_token_of_every_answer_is_trained_on_or_held_out(folder: Path) -> None:
    chats = Chats(folder, LAYERS)
    written = sum(int(np.load(path)["answer"].sum()) for path in shard_files(folder))
    assert len(chats) + sum(chat.answer for chat in chats.held) == written
    whole = chats.first(chats.train, 700)
    assert int((whole.answers >= 0).sum()) == len(chats) == len(chats.trained_ids())


def test_a_head_begins_as_the_target_s_own_block(target: Path, tmp_path: Path) -> None:
    shape = shape_of(target, LAYERS)
    states = np.random.default_rng(1).standard_normal((64, 3 * shape.width)).astype(np.float32)
    begun = start(target, shape, np.arange(100), 4 * states, seed=0)
    path = write_eagle3(tmp_path / "head.gguf", begun.head, target, kind="f16")
    assert check_eagle3(path, read_header(target)) == LAYERS
    passed = (states / states.std(0)) @ begun.head.tensors["fc"].T
    last = states[:, -shape.width :]
    assert np.corrcoef(passed.ravel(), last.ravel())[0, 1] > 0.95


def test_the_blocks_that_are_read_spread_over_the_target(target: Path, tmp_path: Path) -> None:
    assert shape_of(target).layers == (1, 2, 3)
    many = write_llama(tmp_path / "many.gguf", n_layer=8)
    assert shape_of(many).layers == (2, 4, 7)
    assert shape_of(many, (0, 1, 2)).layers == (0, 1, 2)


@pytest.mark.parametrize("layers", [(0, 1), (2, 1, 3), (1, 1, 3), (-1, 1, 3), (1, 2, 4)])
def test_blocks_that_are_not_there_are_refused(target: Path, layers: tuple[int, ...]) -> None:
    with pytest.raises(OptionError):
        shape_of(target, layers)


def test_a_target_of_two_blocks_has_no_such_head(tmp_path: Path) -> None:
    with pytest.raises(PairRefused, match="reads three of them"):
        shape_of(write_llama(tmp_path / "small.gguf", n_layer=2))


@pytest.mark.parametrize("write", [write_mamba, write_window])
def test_a_target_whose_states_the_engine_does_not_show_is_refused(tmp_path: Path, write) -> None:
    path = write(tmp_path / "other.gguf")
    with pytest.raises(PairRefused, match="does not show the inner states"):
        check_shown(path, LAYERS)


def test_a_folder_without_chats_has_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(NotHere, match="no chats"):
        Chats(tmp_path, LAYERS)
