"""What a new target loses: KL, agreement and perplexity, against sums done by hand."""

import numpy as np
import pytest
from scipy.special import log_softmax

from localspec.core.tokens import Logits, Tokens
from localspec.measure.tune.quality import (
    MOST_BYTES,
    MOST_TOKENS,
    ROWS,
    Quality,
    quality,
    read_reference,
    windows_of,
)

VOCABULARY = 50


class Table:
    """A sequence whose logits depend on the last token and the position."""

    def __init__(self, seed: int = 1, noise: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.table = rng.standard_normal((VOCABULARY, VOCABULARY)).astype(np.float32) * 3
        self.table += np.random.default_rng(9).standard_normal(self.table.shape) * noise
        self.tokens: Tokens = np.empty(0, np.int32)
        self.capacity = 512

    def extend(self, tokens: Tokens, rows: int) -> Logits:
        self.tokens = np.concatenate([self.tokens, tokens]).astype(np.int32)
        return self.table[self.tokens[-rows:]].astype(np.float32)

    def rewind(self, length: int) -> int:
        self.tokens = self.tokens[:length]
        return length


def _text(length: int, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(0, VOCABULARY, length).astype(np.int32)


def _quality(noise: float, windows: tuple[Tokens, ...]) -> Quality:
    return quality(Table(noise=noise), read_reference(Table(), windows))


def test_a_target_against_itself_loses_nothing() -> None:
    found = _quality(0.0, (_text(100), _text(40, 1)))
    assert found.tokens == 140
    assert found.kl_mean.value == pytest.approx(0, abs=1e-5)
    assert found.kl_p99.value == pytest.approx(0, abs=1e-4)
    assert found.top1.value == 1
    assert found.perplexity_ratio.value == pytest.approx(1, abs=1e-3)


def test_the_sums_are_those_of_the_definitions() -> None:
    windows = (_text(100), _text(40, 1))
    found = _quality(0.5, windows)
    p = [log_softmax(Table().table[window].astype(float), axis=1) for window in windows]
    q = [log_softmax(Table(noise=0.5).table[window].astype(float), axis=1) for window in windows]
    kl = np.concatenate([(np.exp(a) * (a - b)).sum(axis=1) for a, b in zip(p, q, strict=True)])
    same = np.concatenate([a.argmax(1) == b.argmax(1) for a, b in zip(p, q, strict=True)])
    surprise = [
        np.concatenate([-side[np.arange(len(w) - 1), w[1:]]
                        for side, w in zip(sides, windows, strict=True)])
        for sides in ([each[:-1] for each in p], [each[:-1] for each in q])
    ]  # fmt: skip
    assert found.kl_mean.value == pytest.approx(kl.mean(), rel=5e-3)
    assert found.kl_p99.value == pytest.approx(np.percentile(kl, 99), rel=5e-3)
    assert found.top1.value == pytest.approx(same.mean())
    ratio = np.exp(surprise[1].mean() - surprise[0].mean())
    assert found.perplexity_ratio.value == pytest.approx(ratio, rel=5e-3)


def test_intervals_hold_their_values_and_grow_with_less_text() -> None:
    long, short = _quality(0.5, (_text(1000),)), _quality(0.5, (_text(100),))
    for name in ("kl_mean", "kl_p99", "top1", "perplexity_ratio"):
        estimate = getattr(long, name)
        assert estimate.low <= estimate.value <= estimate.high
    assert long.kl_mean.high - long.kl_mean.low < short.kl_mean.high - short.kl_mean.low


def test_texts_are_cut_to_what_memory_and_context_hold() -> None:
    texts = [_text(700), _text(700, 1), _text(700, 2)]
    windows = windows_of(texts, vocabulary=1000, capacity=512)
    assert [len(window) for window in windows] == [512, 512]
    assert sum(map(len, windows)) <= MOST_TOKENS
    wide = windows_of(texts, vocabulary=MOST_BYTES // 200, capacity=512)
    assert sum(map(len, wide)) == 100
    assert windows_of([_text(1)], vocabulary=10, capacity=512) == ()


def test_every_stretch_asks_whether_there_is_time() -> None:
    asked: list[int] = []
    reference = read_reference(Table(), (_text(100),))
    quality(Table(), reference, check=lambda: asked.append(1))
    assert len(asked) == -(-100 // ROWS)
