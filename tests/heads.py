"""Medusa heads made for the generated models: random, or the best that a small model allows."""

from pathlib import Path

import numpy as np

from localspec.core.tokens import sync
from localspec.drafters.medusa_heads import Layer, MedusaHeads
from localspec.engine import Context, ContextOptions, Model
from localspec.engine.features import hidden_tap
from localspec.pairs.header import read_header
from tools.medusa_writer import Writing, write_medusa


def random_heads(
    target: Path, heads: int = 3, *, ids: int = 200, seed: int = 0, shared: bool = True
) -> MedusaHeads:
    """Make heads of the right shapes for a target; their guesses are as good as none."""
    header = read_header(target)
    width = header.number("{arch}.embedding_length") or 0
    tokens = header.array("tokenizer.ggml.tokens")
    size = tokens.count if tokens else 0
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32) / width**0.5

    kept = np.sort(rng.permutation(size)[: min(ids, size)])
    projection = (len(kept), width) if shared else (heads, len(kept), width)
    layer = Layer(draw(heads, width, width), draw(heads, width))
    return MedusaHeads((layer,), 2 * draw(*projection), kept)


def write_heads(path: Path, target: Path, heads: MedusaHeads | None = None) -> Path:
    """Write heads for a target without rounding."""
    return write_medusa(path, heads or random_heads(target), target, Writing("f32", "f32"))


def fitted_heads(states: np.ndarray, tokens: np.ndarray, size: int, heads: int = 3) -> MedusaHeads:
    """Give heads that know one answer: row i of `states` stands behind `tokens[i]`.

    Blocks that add nothing (silu(0) is 0) leave the state as it is; each head's own projection is
    the least-squares fit to the ids that stand that much later.
    """
    width = states.shape[1]
    projections = []
    for head in range(heads):
        x, later = states[: len(states) - head - 2], tokens[head + 2 : len(states)]
        wanted = np.zeros((len(x), size), np.float32)
        wanted[np.arange(len(x)), later] = 1.0
        ridge = x.T @ x + 1e-3 * np.eye(width, dtype=np.float32)
        projections.append(np.linalg.solve(ridge, x.T @ wanted).T)
    layer = Layer(np.zeros((heads, width, width), np.float32), np.zeros((heads, width), np.float32))
    return MedusaHeads((layer,), np.stack(projections).astype(np.float32), np.arange(size))


def knowing_heads(target: Path, path: Path, prompt: list[int], length: int = 300) -> Path:
    """Write heads that have seen the target's greedy answer to a prompt, in strict passes."""
    options = ContextOptions(len(prompt) + length, threads=1, strict_rows=8)
    with Model.load(target) as model, Context(model, options) as context:
        tap = hidden_tap(context)
        history, rows = list(prompt), []
        sync(context, np.array(history[:-1], np.int32), 0)
        for _ in range(length):
            logits = sync(context, np.array(history, np.int32), 1)[-1]
            row = tap.rows(len(history) - 1, len(history))
            assert row is not None
            rows.append(row[0].copy())
            history.append(int(logits.argmax()))
        ids = np.array(history[len(prompt) - 1 :], np.int64)
        return write_heads(path, target, fitted_heads(np.stack(rows), ids, model.n_vocab))
