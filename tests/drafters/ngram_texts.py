"""Texts and ids that the n-gram tests share."""

import numpy as np

from localspec.core.tokens import Tokens


def ids(*tokens: int) -> Tokens:
    return np.array(tokens, np.int32)


def text(length: int = 3_000, seed: int = 1) -> Tokens:
    """Give a text in which each id is followed by one of three."""
    draw = np.random.default_rng(seed)
    tokens = [0]
    for step in draw.choice(3, length, p=[0.6, 0.3, 0.1]):
        tokens.append((5 * tokens[-1] + int(step) + 1) % 100)
    return np.array(tokens, np.int32)
