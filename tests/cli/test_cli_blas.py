"""How many threads numpy's products get: one, unless the user has said so."""

import os

import pytest

from localspec.cli import main as entry


@pytest.mark.parametrize(("before", "after"), [(None, "1"), ("3", "3")])
def test_numpy_multiplies_with_one_thread_unless_told_otherwise(
    before: str | None, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K02: threads that spin for each other are slow beside busy programs."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", before or "")
    if before is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    seen: list[str | None] = []

    def command() -> int:
        seen.append(os.environ.get("OPENBLAS_NUM_THREADS"))
        return 0

    monkeypatch.setattr(entry, "main", command)
    monkeypatch.setattr(entry.streams, "lenient_stderr", lambda: None)
    monkeypatch.setattr(entry.streams, "let_go", lambda: None)
    with pytest.raises(SystemExit):
        entry.run()
    assert seen == [after]
