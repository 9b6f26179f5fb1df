"""A checkpoint in the published layout becomes heads that guess the same."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from localspec.pairs.header import read_header
from localspec.pairs.medusa_file import read_medusa
from tools.convert_medusa import main

WIDTH, SIZE, HEADS = 64, 384, 4


def checkpoint(path: Path, *, prefix: str = "", layers: int = 1, kind: type = np.float16) -> dict:
    """Write heads as published: a block of one linear layer, then a bare projection."""
    rng = np.random.default_rng(11)
    tensors = {}
    for head in range(HEADS):
        for layer in range(layers):
            tensors[f"{head}.{layer}.linear.weight"] = rng.standard_normal((WIDTH, WIDTH)) / 8
            tensors[f"{head}.{layer}.linear.bias"] = rng.standard_normal(WIDTH)
        tensors[f"{head}.{layers}.weight"] = rng.standard_normal((SIZE, WIDTH)) / 8
    stored = {f"{prefix}{name}": value.astype(kind) for name, value in tensors.items()}
    save_file(stored, path)
    return {name: stored[f"{prefix}{name}"].astype(np.float64) for name in tensors}


def by_hand(tensors: dict, hidden: np.ndarray, head: int, layers: int) -> np.ndarray:
    x = hidden
    for layer in range(layers):
        inner = tensors[f"{head}.{layer}.linear.weight"] @ x
        inner = inner + tensors[f"{head}.{layer}.linear.bias"]
        x = x + inner / (1 + np.exp(-inner))
    return tensors[f"{head}.{layers}.weight"] @ x


def run(path: Path, tiny: Path, out: Path, *more: str) -> int:
    words = ["--checkpoint", path, "--target", tiny, "--out", out, "--type", "f16", *more]
    return main([str(word) for word in words])


@pytest.mark.parametrize("prefix", ["", "medusa_head.", "model.medusa_heads."])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_converted_heads_give_the_checkpoint_s_logits(
    tiny: Path, tmp_path: Path, prefix: str, layers: int, kind: type
) -> None:
    path, out = tmp_path / "medusa_lm_head.safetensors", tmp_path / "heads.gguf"
    tensors = checkpoint(path, prefix=prefix, layers=layers, kind=kind)
    assert run(tmp_path, tiny, out) == 0
    heads = read_medusa(out, read_header(tiny))
    assert (len(heads), heads.width, len(heads.ids)) == (HEADS, WIDTH, SIZE)
    hidden = np.random.default_rng(2).standard_normal(WIDTH)
    logits = list(heads.guesses(hidden.astype(np.float32), HEADS))
    for head in range(HEADS):
        expected = by_hand(tensors, hidden, head, layers)
        np.testing.assert_allclose(logits[head], expected, atol=2e-2)


def test_bf16_weights_are_read(tiny: Path, tmp_path: Path) -> None:
    """numpy has no bf16, so the file is written by its bytes."""
    path, out = tmp_path / "heads.safetensors", tmp_path / "heads.gguf"
    tensors = checkpoint(path, kind=np.float32)
    header: dict[str, object] = {}
    body = b""
    for name, value in tensors.items():
        raw = (value.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
        offsets = [len(body), len(body) + len(raw)]
        header[name] = {"dtype": "BF16", "shape": value.shape, "data_offsets": offsets}
        body += raw
    front = json.dumps(header).encode()
    path.write_bytes(len(front).to_bytes(8, "little") + front + body)
    assert run(path, tiny, out) == 0
    hidden = np.random.default_rng(2).standard_normal(WIDTH)
    logits = next(read_medusa(out, read_header(tiny)).guesses(hidden.astype(np.float32), 1))
    np.testing.assert_allclose(logits, by_hand(tensors, hidden, 0, 1), atol=0.1)


def test_a_reduced_vocabulary_keeps_what_a_text_uses(tiny: Path, tmp_path: Path) -> None:
    path, out, text = tmp_path / "heads.safetensors", tmp_path / "heads.gguf", tmp_path / "a.txt"
    tensors = checkpoint(path)
    text.write_text("the water and the other water " * 9, encoding="utf-8")
    assert run(path, tiny, out, "--ids", "20", "--text", str(text)) == 0
    heads = read_medusa(out, read_header(tiny))
    assert len(heads.ids) == 20
    hidden = np.random.default_rng(2).standard_normal(WIDTH)
    _, logits = heads.guesses(hidden.astype(np.float32), 2)
    expected = by_hand(tensors, hidden, 1, 1)[heads.ids]
    np.testing.assert_allclose(logits, expected, atol=2e-2)


def _another_width(path: Path) -> None:
    rows = {"0.0.linear.weight": (8, 8), "0.0.linear.bias": (8,), "0.1.weight": (SIZE, 8)}
    save_file({name: np.zeros(shape, np.float32) for name, shape in rows.items()}, path)


def _another_vocabulary(path: Path) -> None:
    rows = {"0.0.linear.weight": (64, 64), "0.0.linear.bias": (64,), "0.1.weight": (999, 64)}
    save_file({name: np.zeros(shape, np.float32) for name, shape in rows.items()}, path)


def _half(path: Path) -> None:
    rows = {"0.0.linear.weight": (64, 64), "0.0.linear.bias": (64,)}
    save_file({name: np.zeros(shape, np.float32) for name, shape in rows.items()}, path)


WRONG = {
    "missing": (lambda path: None, 5, "no file"),
    "no safetensors": (lambda path: path.write_bytes(b"nothing" * 9), 4, "no sound safetensors"),
    "other tensors": (
        lambda path: save_file({"lm_head.weight": np.zeros((2, 2), np.float32)}, path),
        4,
        "has no Medusa heads",
    ),
    "whole numbers": (
        lambda path: save_file({"0.0.linear.weight": np.zeros((2, 2), np.int8)}, path),
        4,
        "is I8",
    ),
    "half a checkpoint": (_half, 4, "has no 0.1.weight"),
    "another width": (_another_width, 4, "states of 8 numbers, target.gguf has 64"),
    "another vocabulary": (_another_vocabulary, 4, "knows 999 ids, target.gguf has 384"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_converted_has_one_line_and_leaves_no_file(
    tiny: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write, code, words = WRONG[name]
    path, out = tmp_path / "heads.safetensors", tmp_path / "heads.gguf"
    write(path)
    assert run(path, tiny, out) == code
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_ids_without_a_text_is_refused(tiny: Path, tmp_path: Path) -> None:
    checkpoint(tmp_path / "heads.safetensors")
    out = tmp_path / "heads.gguf"
    assert run(tmp_path / "heads.safetensors", tiny, out, "--ids", "20") == 2
