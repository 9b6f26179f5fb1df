"""The door: what is set before the libraries load, and what a missing engine looks like."""

import subprocess
import sys
from pathlib import Path

import pytest

from localspec.engine import devices, library
from localspec.engine.threads import allowed_cpus, default_threads
from localspec.errors import LocalspecError


def run(code: str, **environment: str) -> str:
    import os

    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GOMP", "KMP", "OMP"))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[2],
        env=kept | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_room_loads_no_engine() -> None:
    code = "import sys, localspec.engine; print('llama_cpp' in sys.modules)"
    assert run(code) == "False"


WAITING = (
    "import ctypes, localspec.engine.library as room; room.load(); "
    "read = ctypes.CDLL(None).getenv; read.restype = ctypes.c_char_p; "
    "print(read(b'GOMP_SPINCOUNT'), read(b'KMP_BLOCKTIME'))"
)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "b'3000' b'1'"),
        ({"GOMP_SPINCOUNT": "7"}, "b'7' b'1'"),
        # The engine sets its own block time, 200, where there is none.
        ({"OMP_WAIT_POLICY": "active"}, "None b'200'"),
    ],
)
def test_the_waiting_policy_is_set_unless_the_user_did(
    environment: dict[str, str], expected: str
) -> None:
    """As the libraries themselves read it, when they load."""
    assert run(WAITING, **environment) == expected


def test_the_engines_waiting_threads_really_read_it() -> None:
    code = "import localspec.engine.library as room; room.load()"
    kept = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
        env={"OMP_DISPLAY_ENV": "verbose", "PATH": ""},
    )
    if "GOMP_SPINCOUNT" in kept.stderr:
        assert "GOMP_SPINCOUNT = '3000'" in kept.stderr
    else:
        pytest.skip("another OpenMP runtime than GNU's")


def test_a_missing_engine_is_one_line_with_a_hint() -> None:
    """L05."""
    code = (
        "import sys; sys.modules['llama_cpp'] = None\n"
        "from localspec.engine import library\n"
        "from localspec.errors import LocalspecError\n"
        "try: library.load()\n"
        "except LocalspecError as error: print(error.message, '|', error.hint)"
    )
    message, _, hint = run(code).partition(" | ")
    assert "the engine is not installed" in message
    assert "pip install llama-cpp-python" in hint


def test_a_function_the_build_lacks_is_named_with_the_version() -> None:
    """I08, I09."""
    assert library.has("llama_decode")
    assert not library.has("llama_read_minds")
    with pytest.raises(LocalspecError, match="llama_read_minds"):
        library.llama("llama_read_minds", None)
    with pytest.raises(LocalspecError, match=r"0\."):
        library.ggml("ggml_read_minds", None)


def test_the_devices_are_the_engines_own() -> None:
    found = devices.list_devices()
    assert any(device.kind == "cpu" for device in found)
    assert all(device.name and device.total_bytes >= device.free_bytes >= 0 for device in found)
    assert devices.can_offload() == any(device.is_gpu for device in found)
    assert library.system_info()


def machine(root: Path, speeds: dict[int, int], cores: dict[int, str] | None = None) -> Path:
    for cpu, speed in speeds.items():
        folder = root / f"cpu{cpu}"
        (folder / "topology").mkdir(parents=True)
        (folder / "cpu_capacity").write_text(f"{speed}\n")
        (folder / "topology/thread_siblings_list").write_text((cores or {}).get(cpu, str(cpu)))
    return root


def test_two_hardware_threads_of_a_core_count_once(tmp_path: Path) -> None:
    """F19."""
    root = machine(
        tmp_path, dict.fromkeys(range(4), 1024), {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}
    )
    assert default_threads(root, frozenset(range(4))) == 2


def test_efficiency_cores_do_not_count(tmp_path: Path) -> None:
    """F19."""
    speeds = {cpu: 1024 if cpu < 4 else 600 for cpu in range(12)}
    assert default_threads(machine(tmp_path, speeds), frozenset(range(12))) == 4


def test_cores_of_one_kind_with_slightly_different_clocks_all_count(tmp_path: Path) -> None:
    speeds = {0: 1024, 1: 1024, 2: 990, 3: 985}
    assert default_threads(machine(tmp_path, speeds), frozenset(range(4))) == 4


@pytest.mark.parametrize(("allowed", "expected"), [({0}, 1), ({0, 1}, 2), ({5, 6}, 2)])
def test_the_threads_follow_what_the_process_may_use(
    tmp_path: Path, allowed: set[int], expected: int
) -> None:
    """F19: as under `taskset`."""
    speeds = {cpu: 1024 if cpu < 4 else 600 for cpu in range(8)}
    assert default_threads(machine(tmp_path, speeds), frozenset(allowed)) == expected


def test_without_any_table_every_allowed_processor_of_a_small_machine_counts(
    tmp_path: Path,
) -> None:
    assert default_threads(tmp_path, frozenset({0, 1})) == 2
    assert 1 <= default_threads() <= len(allowed_cpus())
