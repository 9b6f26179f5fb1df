"""Which files load, and what the user reads about those that do not."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.engine import (
    Context,
    ContextOptions,
    Interrupted,
    Model,
    ModelOptions,
    library,
    log,
    placement,
)
from localspec.errors import NotHere, OptionError, PairRefused
from tests.models import write_llama, write_mamba, write_window


def refusal(path: Path) -> str:
    with pytest.raises(PairRefused) as caught:
        Model.load(path)
    assert "\n" not in caught.value.message
    assert path.name in caught.value.message
    return caught.value.message


def test_a_model_states_its_facts(tiny: Path) -> None:
    with Model.load(tiny) as model:
        assert (model.n_vocab, model.n_embd, model.n_layer, model.n_ctx_train) == (384, 64, 4, 4096)
        assert model.architecture == "llama"
        assert model.metadata["general.name"] == "tiny"
        assert (model.is_recurrent, model.is_hybrid, model.n_swa) == (False, False, 0)
        assert 0 < model.size_bytes < tiny.stat().st_size
        assert "llama" in model.desc
        assert "<|im_start|>" in (model.chat_template or "")


def test_kinds_of_cache_are_told_apart(tmp_path: Path) -> None:
    with Model.load(write_mamba(tmp_path / "m.gguf")) as model:
        assert model.is_recurrent
    with Model.load(write_window(tmp_path / "w.gguf")) as model:
        assert model.n_swa == 64


def test_a_file_without_template_gives_none(tmp_path: Path) -> None:
    with Model.load(write_llama(tmp_path / "m.gguf", template=None)) as model:
        assert model.chat_template is None


def test_long_header_fields_come_whole(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf", extra={"general.description": "ç" * 5000})
    with Model.load(path) as model:
        assert model.metadata["general.description"] == "ç" * 5000


@pytest.mark.parametrize("folder", ["Modeller ığş 模型", "with  spaces", "emoji 🐈 dir"])
def test_a_path_in_any_script_can_be_opened(tmp_path: Path, folder: str) -> None:
    """L04."""
    (tmp_path / folder).mkdir()
    path = write_llama(tmp_path / folder / "küçük 小.gguf")
    with Model.load(path) as model, Context(model, ContextOptions(n_ctx=64)) as context:
        assert context.way == "removal"


def test_a_missing_file_is_not_here(tmp_path: Path) -> None:
    for path in (tmp_path / "no.gguf", tmp_path):
        with pytest.raises(NotHere, match=r"no such file|is a folder"):
            Model.load(path)


@pytest.mark.parametrize("content", [b"", b"GG", b"<html>not found</html>", bytes(4096)])
def test_something_that_is_not_a_gguf_is_refused_by_its_first_bytes(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "page.gguf"
    path.write_bytes(content)
    assert "is not a GGUF file" in refusal(path)


@pytest.mark.parametrize("content", [b"GGUF", b"GGUF" + bytes(60), b"GGUF" + b"\xff" * 500])
def test_garbage_behind_the_magic_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "garbage.gguf"
    path.write_bytes(content)
    message = refusal(path)
    assert "damaged" in message or "cannot" in message


def test_a_file_cut_anywhere_is_refused_without_a_native_abort(tiny: Path, tmp_path: Path) -> None:
    """A16: in the header, between the parts, in the weights. A crash would end the test run."""
    whole = tiny.read_bytes()
    cut = tmp_path / "cut.gguf"
    for percent in (0.001, 0.1, 0.5, 1, 2, 3, 5, 50, 90, 99.9):
        cut.write_bytes(whole[: max(8, int(len(whole) * percent / 100))])
        message = refusal(cut)
        assert "damaged" in message or "cut off" in message


def test_a_cut_file_states_how_much_is_here(tiny: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny.read_bytes()[: tiny.stat().st_size // 2])
    assert f"{cut.stat().st_size:,} of" in refusal(cut)


def test_a_file_without_a_needed_tensor_is_refused_by_its_name(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf", without=frozenset({"blk.2.attn_k.weight"}))
    assert "blk.2.attn_k.weight" in refusal(path)


def test_two_tokens_with_one_text_are_refused_where_the_engine_would_abort(tmp_path: Path) -> None:
    """A16: a crash would end the test run."""
    path = write_llama(tmp_path / "twice.gguf", renamed={300: "<|eos|>"})
    assert "two of its tokens have the text '<|eos|>'" in refusal(path)


@pytest.mark.parametrize(
    "changes", [{"architecture": "clip", "general_type": "mmproj"}, {"general_type": "adapter"}]
)
def test_a_projector_or_adapter_is_named_as_such(tmp_path: Path, changes: dict[str, str]) -> None:
    """I12: no adapter is loaded, so none can meet a draft it does not go with."""
    path = write_llama(tmp_path / "mmproj.gguf", **changes)
    assert f"its header says '{changes['general_type']}'" in refusal(path)


@pytest.mark.parametrize("extra", [{"llama.attention.causal": False}, {"llama.pooling_type": 1}])
def test_an_embedding_model_is_named_as_such(tmp_path: Path, extra: dict[str, bool | int]) -> None:
    path = write_llama(tmp_path / "embed.gguf", extra=extra)
    assert "embedding model" in refusal(path)


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"pre": "future-tok"}, "future-tok"), ({"architecture": "llama9"}, "llama9")],
)
def test_a_file_from_the_future_asks_for_a_newer_engine(
    tmp_path: Path, changes: dict[str, str], name: str
) -> None:
    """A19: both versions are named; the engine's own log stays out of it."""
    with pytest.raises(PairRefused) as caught:
        Model.load(write_llama(tmp_path / "new.gguf", **changes))
    assert "newer llama-cpp-python" in caught.value.message
    assert name in caught.value.message
    assert library.engine_version() in caught.value.message
    assert "pip install" in caught.value.hint


def test_progress_runs_from_zero_to_one(tiny: Path) -> None:
    seen: list[float] = []
    Model.load(tiny, progress=lambda done: seen.append(done) or True).close()
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_progress_can_stop_the_load(tiny: Path) -> None:
    with pytest.raises(Interrupted):
        Model.load(tiny, progress=lambda _done: False)


def test_an_error_in_progress_comes_out_of_the_load(tiny: Path) -> None:
    def broken(_done: float) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Model.load(tiny, progress=broken)


def test_ctrl_c_while_loading_is_neither_lost_nor_printed(
    tiny: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """K04."""

    def press(_done: float) -> bool:
        signal.raise_signal(signal.SIGINT)
        return True

    with pytest.raises(KeyboardInterrupt):
        Model.load(tiny, progress=press)
    assert capfd.readouterr() == ("", "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("use_mmap", [True, False])
def test_weights_load_mapped_or_copied(tiny: Path, use_mmap: bool) -> None:
    Model.load(tiny, ModelOptions(use_mmap=use_mmap)).close()


@pytest.mark.parametrize(
    ("asked", "offload", "expected"),
    [("auto", False, 0), ("auto", True, 999), ("all", False, 999), (7, False, 7), (0, True, 0)],
)
def test_gpu_layers_reach_the_engine(
    monkeypatch: pytest.MonkeyPatch, asked: int | str, offload: bool, expected: int
) -> None:
    """I10: `auto` is all that fits, nothing on a build without a GPU."""
    monkeypatch.setattr(placement.devices, "can_offload", lambda: offload)
    options = ModelOptions(gpu_layers=asked)  # type: ignore[arg-type]
    assert placement.params(options, []).n_gpu_layers == expected


def test_device_cpu_means_no_layer_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """I02."""
    monkeypatch.setattr(placement.devices, "can_offload", lambda: True)
    keep: list[object] = []
    params = placement.params(ModelOptions(device="cpu"), keep)
    assert params.n_gpu_layers == 0
    assert params.devices
    assert list(keep[0]) == [None]  # type: ignore[call-overload]


def test_an_unknown_device_lists_those_there_are(tiny: Path) -> None:
    with pytest.raises(OptionError) as caught:
        Model.load(tiny, ModelOptions(device="CUDA7"))
    assert "CPU" in caught.value.hint


def test_a_refused_load_leaves_its_reason_in_the_captured_log(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf", without=frozenset({"output_norm.weight"}))
    with log.captured() as lines, pytest.raises(PairRefused):
        Model.load(path)
    assert any("output_norm.weight" in line for line in lines)


SCRIPT = """
import sys
from localspec.engine import Context, ContextOptions, Model
import numpy as np
with Model.load(sys.argv[1]) as model, Context(model, ContextOptions(n_ctx=64)) as context:
    context.extend(np.arange(5, 10, dtype=np.int32), 1)
try:
    Model.load(sys.argv[2])
except Exception as error:
    assert type(error).__name__ == "PairRefused", error
"""


@pytest.mark.parametrize("redirect", ["", ">&-", ">&- 2>&-", "<&- >&-"])
def test_nothing_is_printed_whatever_the_descriptors(
    tiny: Path, tmp_path: Path, redirect: str
) -> None:
    """L01, L02, L03: silent on stdout and stderr, and no crash where a descriptor is missing."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(tiny.read_bytes()[:3000])
    command = f'"$0" -c "$1" "$2" "$3" {redirect}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, SCRIPT, str(tiny), str(broken)],
        capture_output=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_log_can_be_passed_on_to_a_file(tiny: Path, tmp_path: Path) -> None:
    """L01."""
    written = tmp_path / "engine.log"
    with written.open("w") as file:
        log.send_to(lambda line: file.write(line + "\n"))
        try:
            Model.load(tiny).close()
        finally:
            log.send_to(None)
    assert "llama_model_loader" in written.read_text()
    assert log.tail(1)


def test_a_failing_log_sink_does_not_stop_the_load(tiny: Path) -> None:
    def full(_line: str) -> None:
        raise OSError(28, "No space left on device")

    log.send_to(full)
    Model.load(tiny).close()
    assert log._recorder.sink is None
