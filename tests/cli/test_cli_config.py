"""`config`: every value, and who gave it."""

from pathlib import Path

import pytest

from localspec.cli.known import settings
from localspec.report.pair_documents import ConfigDocument


def _values(ran) -> dict[str, tuple[object, str]]:
    document = ConfigDocument.model_validate_json(ran.out)
    return {each.name: (each.value, each.origin) for each in document.settings}


def test_every_setting_is_listed_with_its_variable(run) -> None:
    document = ConfigDocument.model_validate_json(run("config", "--json").out)
    assert [each.name for each in document.settings] == [each.name for each in settings()]
    text = run("config").out
    for each in document.settings:
        assert each.variable in text


def test_each_origin_is_told_apart(run, tmp_path: Path, monkeypatch) -> None:
    """Flag over variable over file over pair over default."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("top-k = 11\nmin-p = 0.3\ntemp = 0.9\n")
    monkeypatch.setenv("LOCALSPEC_MIN_P", "0.2")
    monkeypatch.setenv("LOCALSPEC_TEMP", "0.4")
    values = _values(run("config", "demo", "--temp", "0", "--json"))
    assert values["temp"] == (0.0, "flag")
    assert values["min-p"] == (0.2, "environment")
    assert values["top-k"] == (11, "file")
    assert values["top-p"] == (0.9, "pair")
    assert values["repeat-penalty"] == (1.0, "default")
    assert values["seed"] == ("random", "default")


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--device", "CPU"], "device", "CPU"),
        (["--draft-device", "CUDA0"], "draft-device", "CUDA0"),
        (["--device", "CPU"], "draft-device", "CPU"),
        (["--gpu-layers", "12"], "gpu-layers", 12),
        (["--draft-gpu-layers", "all"], "draft-gpu-layers", "all"),
        (["--draft-ctx", "512"], "draft-ctx", 512),
        (["-c", "1024"], "ctx", 1024),
        (["--view", "plain"], "view", "plain"),
        (["--no-history"], "no-history", True),
    ],
)
def test_a_flag_is_echoed(words, name: str, value, run) -> None:
    """G09, I02, I10: one device holds for both; the draft's own options override."""
    assert _values(run("config", *words, "--json"))[name][0] == value


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--temp", "-1"], 2), (["--view", "odd"], 2), (["no-such-pair"], 5)],
)
def test_nonsense_is_refused_here_too(words: list[str], code: int, run) -> None:
    assert run("config", *words).code == code


def test_the_folders_are_named(run, tmp_path: Path) -> None:
    places = run("config", "--json").document["places"]
    assert places["settings"] == str(tmp_path / "config" / "config.toml")
    assert places["model files"] == str(tmp_path / "hub")
