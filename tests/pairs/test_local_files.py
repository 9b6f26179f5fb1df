import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pairs_gguf import Spec, texts, write

from localspec.engine.context import Context, ContextOptions
from localspec.engine.model import Model, ModelOptions
from localspec.pairs.header import read_header
from localspec.pairs.local import LocalFile, fits_for, local_files

TARGET = Spec(blocks=4)


def wrong_in_five_ways() -> dict[str, Spec]:
    renamed = list(TARGET.tokens)
    renamed[300] = "banana"
    return {
        "good": Spec(blocks=2),
        "renamed": Spec(blocks=2, tokens=tuple(renamed)),
        "sentencepiece": Spec(blocks=2, tokenizer="llama"),
        "short": Spec(blocks=2, tokens=tuple(texts(300))),
        "projector": Spec(arch="clip", blocks=0, tokenizer=""),
        "large": Spec(blocks=6),
    }


def generate(path: Path, count: int) -> list[int]:
    with (
        Model.load(path, ModelOptions(gpu_layers=0)) as model,
        Context(model, ContextOptions(64, batch=16, threads=1)) as context,
    ):
        tokens = [257]
        for _ in range(count):
            logits = context.extend(np.array(tokens[-1:], np.int32), 1)
            tokens.append(int(logits[-1].argmax()))
    return tokens[1:]


def test_six_files_give_six_lines_with_five_reasons_and_the_fitting_one_runs(
    tmp_path: Path,
) -> None:
    """A11."""
    target = write(tmp_path / "target.gguf", TARGET)
    folder = tmp_path / "models"
    folder.mkdir()
    for name, spec in wrong_in_five_ways().items():
        write(folder / f"{name}.gguf", spec)
    lines = fits_for(read_header(target), local_files(tmp_path / "home", [folder, tmp_path]))
    assert len(lines) == 6
    wrong = {line.file.path.stem: line.reason for line in lines if not line.ok}
    assert set(wrong) == {"renamed", "sentencepiece", "short", "projector", "large"}
    assert len(set(wrong.values())) == 5
    assert all("\n" not in line.reason for line in lines)
    (good,) = [line for line in lines if line.ok]
    assert len(generate(good.file.path, 8)) == 8


def test_a_damaged_file_is_a_line_too(tmp_path: Path) -> None:
    target = write(tmp_path / "target.gguf", TARGET)
    (tmp_path / "half.gguf").write_bytes(target.read_bytes()[:5000])
    file = LocalFile(tmp_path / "half.gguf", "llama.cpp", "half.gguf")
    (line,) = fits_for(read_header(target), [file])
    assert not line.ok
    assert "damaged" in line.reason


def test_the_files_of_other_tools_are_found_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OLLAMA_MODELS", "LLAMA_CACHE", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    studio = tmp_path / ".lmstudio/models/someone/model"
    llama = tmp_path / ".cache/llama.cpp"
    blobs = tmp_path / ".ollama/models/blobs"
    manifest = tmp_path / ".ollama/models/manifests/registry.ollama.ai/library/qwen3/8b"
    for folder in (studio, llama, blobs, manifest.parent):
        folder.mkdir(parents=True)
    write(studio / "a.gguf", TARGET)
    write(llama / "b-00001-of-00002.gguf", TARGET)
    write(llama / "b-00002-of-00002.gguf", TARGET)
    (llama / "again.gguf").symlink_to(studio / "a.gguf")
    write(blobs / "sha256-abc", replace(TARGET, blocks=1))
    layers = [
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:abc"},
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:def"},
    ]
    manifest.write_text(json.dumps({"layers": layers}))
    (manifest.parent / "broken").write_text("{")
    found = {(file.tool, file.name) for file in local_files(tmp_path)}
    assert found == {
        ("LM Studio", "a.gguf"),
        ("llama.cpp", "b-00001-of-00002.gguf"),
        ("Ollama", "qwen3:8b"),
    }
