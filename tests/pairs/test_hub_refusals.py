"""What the hub, the disk, the network or a certificate refuse, each in its own words."""

import errno
import shutil
import ssl
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trustme
from hub_files import BODY, FILE, OTHER, REPO, TOKEN, child, get, nothing_final
from hub_server import Behaviour, HubServer, serve

from localspec.errors import HubError
from localspec.pairs import hub as hub_module
from localspec.pairs.hub import Hub, list_files, plan_download, verify
from localspec.pairs.hub_cache import cache_folder, find_cached


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
