"""The command line as a user runs it: one call, and what came out where."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

import localspec
from localspec.cli.main import main

ROOT = Path(localspec.__file__).parents[1]


@dataclass(frozen=True)
class Ran:
    """What a call gave."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert next(iter(document)) == "schema"
        return document


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine's user come into a test, and nothing of a test stays."""
    for name in [name for name in os.environ if name.startswith("LOCALSPEC_")]:
        monkeypatch.delenv(name)
    for name, folder in (("CONFIG_DIR", "config"), ("STATE", "state"), ("CACHE", "cache")):
        monkeypatch.setenv(f"LOCALSPEC_{name}", str(tmp_path / folder))
    for name in ("HF_HOME", "HF_TOKEN", "HF_HUB_OFFLINE", "OLLAMA_MODELS", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Call `main` with words, and with bytes on standard input."""

    def call(*words: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin), encoding="utf-8"))
        code = main([str(word) for word in words])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run `python -m localspec` in a process of its own."""

    def call(
        *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "localspec", *map(str, words)],
            input=stdin,
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            timeout=120,
            check=False,
        )

    return call
