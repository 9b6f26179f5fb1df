"""`doctor`: each finding with its fix, a crash of the engine as a message."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.cli import doctor, doctor_checks, engine_probe
from localspec.cli.engine_probe import Probe, engine_findings, probe_engine
from localspec.measure.machine import this_machine
from localspec.report.pair_documents import DoctorDocument, DoctorFinding
from localspec.ui.terminal import Terminal, open_terminal

MACHINE = replace(
    this_machine(),
    processor="Old Processor",
    speed_flags=("avx", "avx2", "fma"),
    threads=2,
    allowed=2,
    logical=2,
    available_bytes=8_000_000_000,
    load=0.1,
)
FLAGS = "CPU : SSE3 = 1 | AVX = 1 | AVX2 = 1 | FMA = 1 | "


def _loaded(flags: str = FLAGS, version: str = "0.3.36") -> dict[str, dict[str, object]]:
    return {"loaded": {"version": version, "flags": flags, "offload": False}}


def _only(findings: list[DoctorFinding], name: str) -> DoctorFinding:
    (found,) = [each for each in findings if each.id == name]
    return found


def test_a_sound_installation_is_exit_code_0_with_a_document(run) -> None:
    """B05: the change of logits with the width of a pass, measured on the demo's model."""
    ran = run("doctor", "--json")
    document = DoctorDocument.model_validate_json(ran.out)
    findings = {finding.id: finding for finding in document.findings}
    assert ran.code == 0
    assert findings["engine"].level == "ok"
    assert "2 rows" in findings["batching"].detail
    assert "16 rows" in findings["batching"].detail
    assert "the likeliest token changed in" in findings["batching"].detail
    for name in ("python", "threads", "memory", "disk", "downloads", "settings", "terminal"):
        assert name in findings


@pytest.mark.parametrize("signal", ["SIGILL", "SIGSEGV", "SIGABRT"])
def test_an_engine_that_crashes_is_a_finding(signal: str) -> None:
    """L06: an illegal instruction names the processor's flags; the parent lives on."""
    code = f"import os, signal; os.kill(os.getpid(), signal.{signal})"
    probe = probe_engine(command=[sys.executable, "-c", code])
    assert probe.died_of == signal
    found = _only(engine_findings(probe, MACHINE), "engine")
    assert found.level == "error"
    assert signal in found.detail
    assert "llama-cpp-python" in found.fix
    if signal == "SIGILL":
        assert "Old Processor" in found.detail
        assert "avx2" in found.detail


def test_a_crashing_engine_is_exit_code_3(run, monkeypatch) -> None:
    """L06."""
    monkeypatch.setattr(doctor, "probe_engine", lambda _model: Probe({}, -4))
    ran = run("doctor", "--quick")
    assert ran.code == 3
    assert "SIGILL" in ran.out
    assert "1 error" in ran.out
    assert "Traceback" not in ran.out + ran.err


def test_a_missing_engine_says_how_to_install_it() -> None:
    """L05."""
    code = (
        "import sys; sys.modules['llama_cpp'] = None\n"
        "from localspec.cli.engine_child import main; sys.exit(main([]))"
    )
    found = _only(
        engine_findings(probe_engine(command=[sys.executable, "-c", code]), MACHINE), "engine"
    )
    assert found.level == "error"
    assert "not installed" in found.detail
    assert "pip install llama-cpp-python" in found.fix


def test_a_child_that_says_nonsense_is_a_finding() -> None:
    probe = probe_engine(command=[sys.executable, "-c", "raise SystemExit('what?')"])
    found = _only(engine_findings(probe, MACHINE), "engine")
    assert found.level == "error"
    assert "what?" in found.detail


def test_a_child_that_never_answers_is_a_finding(monkeypatch) -> None:
    monkeypatch.setattr(engine_probe, "PATIENCE_S", 0.2)
    probe = probe_engine(command=[sys.executable, "-c", "import time; time.sleep(60)"])
    found = _only(engine_findings(probe, MACHINE), "engine")
    assert "no answer" in found.detail


def test_a_build_without_the_processors_instructions_is_noticed() -> None:
    found = _only(engine_findings(Probe(_loaded("CPU : SSE3 = 1 | AVX = 1"), 0), MACHINE), "build")
    assert found.level == "warning"
    assert "AVX2, FMA" in found.detail
    assert "GGML_NATIVE=ON" in found.fix
    assert _only(engine_findings(Probe(_loaded(), 0), MACHINE), "build").level == "ok"


@pytest.mark.parametrize(
    ("version", "level"),
    [("0.3.36", "ok"), ("0.3.99+cu124", "ok"), ("0.3.2", "warning"), ("0.4.0", "warning")],
)
def test_an_engine_outside_the_tested_range_is_noticed(version: str, level: str) -> None:
    """I09."""
    found = _only(engine_findings(Probe(_loaded(version=version), 0), MACHINE), "engine version")
    assert found.level == level


def test_oddities_of_the_machine_have_their_fix() -> None:
    odd = replace(MACHINE, load=3.0, available_bytes=10**9, logical=8)
    found = {
        each.id: each for each in doctor_checks.machine_findings(odd, {"OMP_WAIT_POLICY": "ACTIVE"})
    }
    for name in ("load", "memory", "waiting"):
        assert found[name].level == "warning"
        assert found[name].fix
    assert "only 2 of 8" in found["threads"].detail


def test_half_downloads_and_broken_links_are_found(run, tmp_path: Path) -> None:
    folder = tmp_path / "hub" / "models--me--mine"
    (folder / "blobs").mkdir(parents=True)
    (folder / "blobs" / "abc.localspec.part").write_bytes(b"x" * 1000)
    (folder / "snapshots" / "c").mkdir(parents=True)
    (folder / "snapshots" / "c" / "gone.gguf").symlink_to(folder / "blobs" / "nothing")
    document = DoctorDocument.model_validate_json(run("doctor", "--quick", "--json").out)
    found = {each.id: each for each in document.findings}
    assert "1 download is unfinished" in found["downloads"].detail
    assert "gone.gguf" in found["links"].detail
    assert found["links"].fix


@pytest.mark.parametrize(("name", "text"), [("config.toml", "tpo-k = 1"), ("models.toml", "[[")])
def test_a_broken_settings_file_is_an_error_with_its_fix(name, text, run, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / name).write_text(text)
    config = [] if name == "models.toml" else ["--config", tmp_path / "config" / name]
    findings = doctor_checks.settings_findings(config[1] if config else None)
    bad = [each for each in findings if each.level == "error"]
    assert len(bad) == 1
    assert name in bad[0].detail
    assert bad[0].fix


def test_a_misspelt_variable_is_found(run, monkeypatch) -> None:
    monkeypatch.setenv("LOCALSPEC_TMP", "1")
    found = {f["id"]: f for f in run("doctor", "--quick", "--json").document["findings"]}
    assert found["variables"]["level"] == "warning"
    assert found["variables"]["fix"] == "did you mean LOCALSPEC_TEMP?"


def test_a_report_holds_no_personal_path(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    ran = run("doctor", "--quick", "--report")
    assert str(tmp_path / "home") not in ran.out
    assert "~/hub" in ran.out
    assert str(tmp_path / "cache") not in ran.out


def test_a_terminal_without_utf8_is_noticed() -> None:
    poor = Terminal(sys.stdout, sys.stderr, unicode=False)
    assert doctor_checks.terminal_finding(poor, {}).level == "warning"
    assert doctor_checks.terminal_finding(open_terminal(), {}).id == "terminal"


def test_without_the_engine_everything_but_answers_works(process, tmp_path: Path) -> None:
    """L05: help, catalogue and settings need no engine; chat says what to install."""
    (tmp_path / "llama_cpp.py").write_text("raise ModuleNotFoundError('no llama_cpp')\n")
    env = {"PYTHONPATH": str(tmp_path)}
    for words in (["--help"], ["models", "list"], ["config"], ["predict", "-a", ".8", "-c", ".1"]):
        done = process(*words, env=env)
        assert done.returncode == 0, done.stderr
    done = process("doctor", "--quick", env=env)
    assert done.returncode == 3
    assert b"pip install llama-cpp-python" in done.stdout
