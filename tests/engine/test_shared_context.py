"""One cache for several sequences: lengths, rows, bounds, and the same logits as alone."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from localspec.core.lockstep import Wanted
from localspec.core.tokens import Tokens
from localspec.engine import Context, ContextOptions, DecodeFailed, Model, SharedContext
from localspec.errors import OptionError, PairRefused
from tests.models import write_mamba, write_window

OPTIONS = ContextOptions(n_ctx=96, sequences=3, max_rows=5)


def ids(count: int, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(5, 300, count).astype(np.int32)


@pytest.fixture
def shared(tiny_model: Model) -> Iterator[SharedContext]:
    with SharedContext(tiny_model, OPTIONS) as opened:
        yield opened


def alone(model: Model, history: Tokens, rows: int) -> np.ndarray:
    with Context(model, ContextOptions(n_ctx=96)) as context:
        return context.extend(history, rows).copy()


def test_each_sequence_gets_the_logits_it_would_get_alone(
    tiny_model: Model, shared: SharedContext
) -> None:
    texts = [ids(20, 1), ids(7, 2), ids(31, 3)]
    for number, text in enumerate(texts):
        shared.extend([Wanted(number, text[:-3], 0)])
    wanted = [
        Wanted(number, text[-3:], rows)
        for number, (text, rows) in enumerate(zip(texts, (3, 1, 2), strict=True))
    ]
    found = shared.extend(wanted)
    for text, rows, logits in zip(texts, (3, 1, 2), found, strict=True):
        assert logits.shape == (rows, tiny_model.n_vocab)
        np.testing.assert_allclose(logits, alone(tiny_model, text, rows), atol=5e-2)


def test_a_rewind_touches_one_sequence_alone(tiny_model: Model, shared: SharedContext) -> None:
    """B07: golden lengths over rounds of drafts and rejections, in every sequence."""
    rng, histories = np.random.default_rng(5), [ids(9, n) for n in range(3)]
    for number, history in enumerate(histories):
        shared.extend([Wanted(number, history, 1)])
    for seed in range(15):
        drafts = [ids(int(rng.integers(1, 5)), 100 + 3 * seed + n) for n in range(3)]
        shared.extend([Wanted(n, draft, len(draft)) for n, draft in enumerate(drafts)])
        for number, draft in enumerate(drafts):
            kept = int(rng.integers(0, len(draft) + 1))
            length = len(histories[number]) + kept
            assert shared.rewind(number, length) == length
            histories[number] = np.concatenate([histories[number], draft[:kept]])
            assert shared.tokens(number).tolist() == histories[number].tolist()
    last = ids(1, 9)
    rows = shared.extend([Wanted(n, last, 1) for n in range(3)])
    for history, logits in zip(histories, rows, strict=True):
        whole = np.concatenate([history, last])
        np.testing.assert_allclose(logits, alone(tiny_model, whole, 1), atol=5e-2)


def test_a_window_model_forgets_by_sequence_too(tmp_path: Path) -> None:
    with Model.load(write_window(tmp_path / "window.gguf")) as model:
        options = ContextOptions(n_ctx=160, sequences=2, max_rows=4)
        with SharedContext(model, options) as shared:
            texts = [ids(100, 1), ids(90, 2)]
            for number, text in enumerate(texts):
                shared.extend([Wanted(number, text, 0)])
                shared.extend([Wanted(number, ids(4, 7), 4)])
                assert shared.rewind(number, len(text) - 1) == len(text) - 1
            found = shared.extend([Wanted(n, text[-1:], 1) for n, text in enumerate(texts)])
            for text, logits in zip(texts, found, strict=True):
                with Context(model, ContextOptions(n_ctx=160)) as single:
                    expected = single.extend(text, 1)
                    np.testing.assert_allclose(logits, expected, atol=5e-2)


def test_a_prompt_longer_than_a_pass_is_cut(tiny_model: Model) -> None:
    options = ContextOptions(n_ctx=96, sequences=2, max_rows=2, batch=16)
    with SharedContext(tiny_model, options) as shared:
        shared.extend([Wanted(1, ids(70), 0)])
        assert shared.passes == 5
        assert shared.tokens(1).tolist() == ids(70).tolist()
        assert shared.rewind(1, 0) == 0


def test_what_does_not_fit_is_refused_before_anything_is_decoded(shared: SharedContext) -> None:
    shared.extend([Wanted(0, ids(90), 0)])
    for wrong in (
        [Wanted(0, ids(7), 1)],
        [Wanted(1, ids(6), 6)],
        [Wanted(1, ids(2), 3)],
        [Wanted(1, ids(60), 1), Wanted(2, ids(60), 1)],
    ):
        with pytest.raises(ValueError, match=r"exceed|rows of"):
            shared.extend(wrong)
    assert [len(shared.tokens(n)) for n in range(3)] == [90, 0, 0]


def test_a_failed_pass_leaves_every_sequence_as_it_was(
    shared: SharedContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    from localspec.engine import library

    for number in range(3):
        shared.extend([Wanted(number, ids(10, number), 0)])
    monkeypatch.setattr(library.load(), "llama_decode", lambda *_args: 1)
    with pytest.raises(DecodeFailed, match="no room"):
        shared.extend([Wanted(n, ids(2, 50), 1) for n in range(3)])
    monkeypatch.undo()
    assert [shared.tokens(n).tolist() for n in range(3)] == [ids(10, n).tolist() for n in range(3)]


def test_only_what_can_share_passes_is_opened(tiny_model: Model, tmp_path: Path) -> None:
    for count in (0, 65):
        with pytest.raises(OptionError, match="sequences at once"):
            SharedContext(tiny_model, ContextOptions(n_ctx=32, sequences=count))
    with pytest.raises(OptionError, match="strict"):
        SharedContext(tiny_model, ContextOptions(n_ctx=32, sequences=2, strict_rows=8))
    with (
        Model.load(write_mamba(tmp_path / "mamba.gguf")) as model,
        pytest.raises(PairRefused, match="keeps a state"),
    ):
        SharedContext(model, ContextOptions(n_ctx=32, sequences=2))


def test_a_closed_one_says_so(tiny_model: Model) -> None:
    shared = SharedContext(tiny_model, OPTIONS)
    shared.close()
    shared.close()
    with pytest.raises(ValueError, match="closed"):
        shared.extend([Wanted(0, ids(1), 1)])
