"""Downloads against a stand-in on 127.0.0.1; nothing here touches a network."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hub_files import BODY, FILE, OTHER, SMALL, child, get, nothing_final, quiet
from hub_server import COMMIT, Behaviour, HubServer

from localspec.errors import HubError
from localspec.pairs import hub as hub_module
from localspec.pairs.hub import Hub, Progress, plan_download, pull
from localspec.pairs.hub_cache import find_cached, partial_files


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
