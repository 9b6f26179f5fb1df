"""Downloads against a stand-in on 127.0.0.1; nothing here touches a network."""

import errno
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trustme
from hub_server import COMMIT, Behaviour, HubServer, serve

from localspec.errors import HubError
from localspec.pairs import hub as hub_module
from localspec.pairs.hub import Hub, Progress, list_files, plan_download, pull, verify
from localspec.pairs.hub_cache import RemoteFile, cache_folder, find_cached, partial_files
from localspec.pairs.transfer import Patience

REPO = "someone/tiny-GGUF"
BODY = random.Random(1).randbytes(2_000_000)
SMALL = random.Random(2).randbytes(300_000)
FILE, OTHER = RemoteFile(REPO, "tiny-Q4_K_M.gguf"), RemoteFile(REPO, "small-Q4_0.gguf")
TOKEN = "hf_secretsecretsecret"


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


def quiet(_: Progress) -> None:
    pass


def get(hub: Hub, *files: RemoteFile) -> list[Path]:
    return pull(plan_download(files or (FILE,), hub), hub, quiet)


def nothing_final(hub: Hub) -> bool:
    """No file under a final name that is not whole."""
    return not any(hub.folder.rglob("*.gguf"))


def test_both_files_arrive_in_the_ordinary_cache_and_are_reported_to_the_end(
    hub: Hub, server: HubServer
) -> None:
    reports: list[Progress] = []
    plan = plan_download((FILE, OTHER), hub)
    assert plan.bytes_total == plan.bytes_to_fetch == len(BODY) + len(SMALL)
    paths = pull(plan, hub, reports.append)
    assert [path.read_bytes() for path in paths] == [BODY, SMALL]
    assert paths[0] == hub.folder / "models--someone--tiny-GGUF" / "snapshots" / COMMIT / FILE.name
    assert find_cached(FILE, hub.folder) == paths[0]
    done = [report.done for report in reports if report.file == FILE]
    assert done == sorted(done)
    assert done[-1] == len(BODY)
    assert server.sent() == len(BODY) + len(SMALL)
    assert partial_files(hub.folder) == []


def test_what_is_here_is_not_fetched_again(hub: Hub, server: HubServer) -> None:
    get(hub)
    before = len(server.gets())
    plan = plan_download((FILE,), hub)
    assert plan.files[0].complete
    assert plan.bytes_to_fetch == 0
    pull(plan, hub, quiet)
    assert len(server.gets()) == before


def test_a_dropped_connection_is_taken_up_where_it_broke(hub: Hub, server: HubServer) -> None:
    """M01."""
    server.behaviour = Behaviour(drop_at_once=1_200_000)
    assert get(hub)[0].read_bytes() == BODY
    assert [request.range for request in server.gets()] == [None, "bytes=1200000-"]
    assert server.sent() == len(BODY)


def test_a_passing_error_of_the_server_is_tried_again(hub: Hub, server: HubServer) -> None:
    server.behaviour = Behaviour(status_once=503)
    assert get(hub)[0].read_bytes() == BODY


PULL = f"""
import sys
from pathlib import Path
from localspec.pairs.hub import Hub, plan_download, pull
from localspec.pairs.hub_cache import RemoteFile
hub = Hub()
files = [RemoteFile({REPO!r}, {FILE.name!r})]
print(pull(plan_download(files, hub), hub, lambda report: None)[0])
"""


def child(server: HubServer, home: Path, **more: str) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "HF_ENDPOINT": server.endpoint,
        "HF_HOME": str(home),
        "PYTHONPATH": str(Path(hub_module.__file__).parents[2]),
        **more,
    }
    return subprocess.Popen(
        [sys.executable, "-c", PULL],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_download_goes_on_at_the_byte_where_it_stopped(
    server: HubServer, tmp_path: Path
) -> None:
    """M01."""
    # The server holds its breath at 40 %, so that nothing is under way when the process dies.
    reached = int(0.4 * len(BODY))
    server.behaviour = Behaviour(stall_at=reached, stall_s=60)
    first = child(server, tmp_path)
    while not any(part.stat().st_size == reached for part in partial_files(tmp_path / "hub")):
        assert first.poll() is None, first.communicate()
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert not any(tmp_path.rglob("*.gguf"))
    server.behaviour = Behaviour()
    again = child(server, tmp_path)
    out, _ = again.communicate()
    assert Path(out.strip()).read_bytes() == BODY
    assert server.gets()[1].range == f"bytes={reached}-"
    assert server.sent() < 1.02 * len(BODY)


def test_two_processes_at_once_fetch_the_file_once(server: HubServer, tmp_path: Path) -> None:
    server.behaviour = Behaviour(pause_s=0.002)
    both = [child(server, tmp_path) for _ in range(2)]
    outs = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], outs
    assert all(Path(out.strip()).read_bytes() == BODY for out, _ in outs)
    assert server.sent() == len(BODY)


def test_a_flipped_byte_is_noticed_and_the_file_fetched_again(hub: Hub, server: HubServer) -> None:
    """M02."""
    server.behaviour = Behaviour(flip_once=1_000_000)
    assert get(hub)[0].read_bytes() == BODY
    assert len(server.gets()) == 2


def test_a_file_that_comes_damaged_twice_is_refused_by_name(hub: Hub, server: HubServer) -> None:
    """M02."""
    server.behaviour = Behaviour(flip_at=1_000_000)
    with pytest.raises(HubError, match=r"tiny-Q4_K_M\.gguf arrived damaged twice"):
        get(hub)
    assert nothing_final(hub)
    assert partial_files(hub.folder) == []


@pytest.mark.parametrize("announce", [len(BODY) + 7, len(BODY) - 7])
def test_a_size_that_is_a_lie_is_refused(hub: Hub, server: HubServer, announce: int) -> None:
    server.behaviour = Behaviour(announce=announce)
    with pytest.raises(HubError, match=f"announced with {announce} bytes and sent with"):
        get(hub)
    assert nothing_final(hub)


def test_a_server_without_ranges_starts_over_and_still_ends_right(
    hub: Hub, server: HubServer
) -> None:
    server.behaviour = Behaviour(drop_at_once=500_000, ignore_range=True)
    assert get(hub)[0].read_bytes() == BODY
    assert [request.sent for request in server.gets()] == [500_000, len(BODY)]


def test_a_stalled_transfer_is_tried_again_and_then_explained(hub: Hub, server: HubServer) -> None:
    """M07."""
    server.behaviour = Behaviour(stall_at=1_000_000, stall_s=0.8)
    with pytest.raises(HubError, match=r"no byte came for 0\.4 s, 2 times") as caught:
        get(hub)
    assert "it goes on after 1000000 of 2000000 bytes" in caught.value.hint
    assert len(server.gets()) == 3
    assert nothing_final(hub)
    assert partial_files(hub.folder)[0].stat().st_size == 1_000_000
    server.behaviour = Behaviour()
    assert get(hub)[0].read_bytes() == BODY


def test_the_hubs_own_transfer_engine_is_off_before_its_library_is_imported() -> None:
    """M07."""
    code = (
        "import os, sys; os.environ.pop('HF_HUB_DISABLE_XET', None)\n"
        "from localspec.pairs import hub\n"
        "assert 'huggingface_hub' not in sys.modules\n"
        "assert hub._library().constants.HF_HUB_DISABLE_XET\n"
    )
    root = str(Path(hub_module.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Refusal:
    status: int
    code: str
    words: str
    token: str
    said: str
    hint: str


FINE = "enable access to public gated repositories in your fine-grained token settings"
REFUSALS = [
    Refusal(401, "GatedRepo", "Access is restricted", "", "no token is set", "HF_TOKEN"),
    Refusal(403, "GatedRepo", "not in the authorized list", TOKEN, "not granted", "accept"),
    Refusal(403, "GatedRepo", FINE, TOKEN, "the token may not read gated", "settings"),
    Refusal(401, "", "Invalid credentials in Authorization header", TOKEN, "not accept", "login"),
    Refusal(401, "RepoNotFound", "", "", "no repository someone/tiny-GGUF", "private"),
    Refusal(404, "RepoNotFound", "", "", "no repository someone/tiny-GGUF", "spelling"),
    Refusal(404, "EntryNotFound", "", "", "no file someone/tiny-GGUF/tiny", "exact"),
    Refusal(404, "RevisionNotFound", "", "", "no such revision", "revision"),
    Refusal(500, "", "", "", "the hub answered 500", "later"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case.status} {case.said}")
def test_each_refusal_of_the_hub_has_its_own_words_and_never_shows_the_token(
    hub: Hub, server: HubServer, monkeypatch: pytest.MonkeyPatch, case: Refusal
) -> None:
    """M05."""
    if case.token:
        monkeypatch.setenv("HF_TOKEN", case.token)
    server.behaviour = Behaviour(status=case.status, error_code=case.code, error_words=case.words)
    with pytest.raises(HubError) as caught:
        get(hub)
    assert case.said in caught.value.message
    assert case.hint in caught.value.hint
    assert "\n" not in caught.value.message
    chain = [caught.value, caught.value.__cause__]
    assert all(TOKEN not in f"{error} {error!r}" for error in chain)
    assert all(request.method == "HEAD" for request in server.seen)
    assert [r.authorization for r in server.seen] == [
        f"Bearer {TOKEN}" if case.token else None for _ in server.seen
    ]


def test_a_missing_file_is_named_exactly(hub: Hub) -> None:
    """M10."""
    with pytest.raises(HubError, match=r"no file someone/tiny-GGUF/tiny-q4_k_m\.gguf"):
        get(hub, replace(FILE, name="tiny-q4_k_m.gguf"))


def test_the_exact_file_comes_out_of_many_that_look_like_it(server: HubServer, hub: Hub) -> None:
    """M10."""
    for prefix in ("UD-", "I-", "mmproj-"):
        server.files[f"{REPO}/{prefix}{FILE.name}"] = b"GGUF" + prefix.encode() * 9
    get(hub)
    assert {request.path.rsplit("/", 1)[1] for request in server.seen} == {FILE.name}
    names = [name for name, _ in list_files(REPO, "main", hub)]
    assert names == sorted(
        [*(prefix + FILE.name for prefix in ("", "UD-", "I-", "mmproj-")), OTHER.name]
    )


def test_too_small_a_disk_stops_it_before_the_first_byte(
    hub: Hub, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M04."""
    usage = shutil.disk_usage(hub.folder.parent)
    free = len(BODY) + hub_module.DISK_MARGIN_BYTES + 10  # enough for either file, not for both
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
    with pytest.raises(HubError, match=r"are to come") as caught:
        get(hub, FILE, OTHER)
    assert "HF_HOME" in caught.value.hint
    assert server.gets() == []


def test_a_disk_that_fills_up_on_the_way_is_explained_and_goes_on_later(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M04."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("localspec.pairs.transfer._Writer.take", full)
        with pytest.raises(HubError, match="the disk is full"):
            get(hub)
    assert nothing_final(hub)
    assert get(hub)[0].read_bytes() == BODY


def test_offline_asks_nobody(hub: Hub, server: HubServer) -> None:
    with pytest.raises(HubError, match="we are offline"):
        get(replace(hub, offline=True))
    assert server.seen == []


def test_the_hubs_own_offline_switch_is_honoured(server: HubServer, tmp_path: Path) -> None:
    process = child(server, tmp_path, HF_HUB_OFFLINE="1")
    _, err = process.communicate()
    assert process.returncode
    assert "we are offline" in err
    assert server.seen == []


def test_a_hub_that_is_not_there_is_explained(tmp_path: Path, server: HubServer) -> None:
    """M09."""
    with serve({}) as gone:
        endpoint = gone.endpoint
    with pytest.raises(HubError, match="cannot be reached") as caught:
        get(Hub(endpoint, tmp_path))
    assert "HTTPS_PROXY" in caught.value.hint


def test_an_untrusted_certificate_names_the_variable_that_trusts_it(
    tmp_path: Path, server: HubServer
) -> None:
    """M09."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trust = tmp_path / "company.pem"
    authority.cert_pem.write_to_path(str(trust))
    with serve({str(FILE): BODY}, context) as secure:
        with pytest.raises(HubError, match="certificate is not trusted") as caught:
            get(Hub(secure.endpoint, tmp_path / "hub"))
        assert "SSL_CERT_FILE" in caught.value.hint
        trusted = child(secure, tmp_path / "home", SSL_CERT_FILE=str(trust))
        out, err = trusted.communicate()
    assert trusted.returncode == 0, err
    assert Path(out.strip()).read_bytes() == BODY


def test_a_dead_proxy_is_named(server: HubServer, tmp_path: Path) -> None:
    """M09."""
    with serve({}) as gone:
        dead = gone.endpoint
    process = child(server, tmp_path, HTTP_PROXY=dead, HTTPS_PROXY=dead, NO_PROXY="")
    _, err = process.communicate()
    assert process.returncode
    assert "HubError" in err
    assert "the proxy cannot be reached" in err
    assert server.seen == []


def test_a_link_to_nothing_counts_as_nothing_and_is_mended(hub: Hub) -> None:
    path = get(hub)[0]
    path.resolve().unlink()
    assert path.is_symlink()
    assert find_cached(FILE, hub.folder) is None
    assert get(hub)[0].read_bytes() == BODY


def test_a_changed_file_fails_its_check(hub: Hub) -> None:
    path = get(hub)[0]
    plan = plan_download((FILE,), hub).files[0]
    assert verify(path, plan)
    path.resolve().write_bytes(BODY[:-1] + b"x")
    assert not verify(path, plan)


def test_the_cache_is_where_the_environment_says() -> None:
    assert cache_folder({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}) == Path("/a")
    assert cache_folder({"HF_HOME": "/b"}) == Path("/b/hub")
    assert cache_folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/huggingface/hub")
    assert cache_folder({}) == Path.home() / ".cache/huggingface/hub"
