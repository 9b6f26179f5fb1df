"""A pair against the stand-in hub: planned, pulled, verified."""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace as replaced
from pathlib import Path

import pytest
from hub_server import serve

from localspec.errors import HubError
from localspec.pairs.catalogue import ModelFile, Pair
from localspec.pairs.hub import Hub, pull
from localspec.pairs.store import plan_pull, verify_pair
from localspec.pairs.transfer import Patience

BIG, SMALL = (random.Random(seed).randbytes(50_000) for seed in (1, 2))


def model(name: str, data: bytes) -> ModelFile:
    return ModelFile(
        repo="me/pair",
        file=name,
        quant="Q4_0",
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        licence="mit",
    )


PAIR = Pair(
    name="pair",
    kind="code",
    context=4096,
    target=model("big-Q4_0.gguf", BIG),
    draft=model("small-Q4_0.gguf", SMALL),
)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    files = {"me/pair/big-Q4_0.gguf": BIG, "me/pair/small-Q4_0.gguf": SMALL}
    with serve(files) as server:
        yield Hub(server.endpoint, tmp_path, patience=Patience(attempts=1, pause_s=0))


def test_a_pair_is_pulled_and_found_whole(hub: Hub) -> None:
    before = verify_pair(PAIR, hub)
    assert [check.detail for check in before] == ["published, not here"] * 2
    paths = pull(plan_pull(PAIR, hub), hub, lambda _: None)
    assert [path.read_bytes() for path in paths] == [BIG, SMALL]
    assert [check.detail for check in verify_pair(PAIR, hub)] == ["whole"] * 2
    paths[0].resolve().write_bytes(BIG[:-1] + b"x")
    damaged = verify_pair(PAIR, hub)[0]
    assert not damaged.ok
    assert "damaged" in damaged.detail


def test_a_file_that_was_replaced_on_the_hub_is_not_pulled(hub: Hub) -> None:
    """M02."""
    other = PAIR.model_copy(update={"target": model("big-Q4_0.gguf", b"another file")})
    with pytest.raises(HubError, match=r"big-Q4_0\.gguf is not the file the catalogue knows"):
        plan_pull(other, hub)
    assert not verify_pair(other, hub)[0].ok


def test_a_size_in_the_catalogue_that_is_wrong_is_reported(hub: Hub) -> None:
    wrong = PAIR.target.model_copy(update={"bytes": 7, "unverified": True})
    check = verify_pair(PAIR.model_copy(update={"target": wrong}), hub)[0]
    assert check.detail.endswith("the catalogue says 7 bytes, it has 50000")


def test_offline_a_plan_is_refused_in_words(hub: Hub) -> None:
    with pytest.raises(HubError, match="we are offline"):
        plan_pull(PAIR, replaced(hub, offline=True))
