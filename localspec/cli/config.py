"""`localspec config`: every setting, its value and who gave it, and where files are.

Knows the settings and their sources. Changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from localspec.cli import config_file, pairs_here
from localspec.cli.bench_options import BenchOptions
from localspec.cli.bench_request import read_request
from localspec.cli.binding import Common, Sources
from localspec.cli.build import build_settings
from localspec.cli.chat import check_look
from localspec.cli.chat_options import ChatOptions
from localspec.cli.effective import OptionValue, settings_echo
from localspec.cli.known import setting_names, settings
from localspec.cli.models_list import terminal_of, width_of, write
from localspec.cli.options import ModelOptions
from localspec.cli.pairfiles import recommended
from localspec.pairs.catalogue import Sampling
from localspec.pairs.hub_cache import cache_folder
from localspec.report.pair_documents import ConfigDocument, SettingValue
from localspec.report.write import to_json
from localspec.runtime.folders import cache_dir, state_dir
from localspec.runtime.settings import PairFiles
from localspec.ui.tables import table

Origin = Literal["flag", "environment", "file", "pair", "default"]
FROM = {"COMMANDLINE": "flag", "ENVIRONMENT": "environment"}


@dataclass(frozen=True)
class Given:
    """What was said, by flags, variables or the settings file."""

    model: ModelOptions
    chat: ChatOptions
    bench: BenchOptions
    common: Common


def run_config(said: Given, sources: Sources) -> int:
    """Show every setting as a run with these flags would have it.

    Raises: OptionError for a setting that makes no sense, NotHere for an unknown pair.
    """
    pair, common = said.model.pair, said.common
    own = pairs_here.catalogue().get(pair).sampling if pair else Sampling()
    values = _values(said, own)
    given = config_file.read(common.config, setting_names())
    document = ConfigDocument(
        settings=[
            SettingValue(
                name=each.name,
                value=values.get(each.field),
                origin=_origin(each.field, each.name, sources, given, own),
                variable=each.variable,
            )
            for each in settings()
        ],
        places=places(common.config),
    )
    write(to_json(document)) if common.json else _show(document, common)
    return 0


def _values(said: Given, own: Sampling) -> Mapping[str, OptionValue]:
    """Give every setting's value by its field, checked as a run would check it."""
    model, chat, common = said.model, said.chat, said.common
    look, bench = check_look(chat, common), read_request(said.bench, temperature=model.temp)
    run = build_settings(model, PairFiles(Path()), recommended=recommended(own))
    echo = settings_echo(run)
    return {
        **echo,
        "seed": "random" if echo["seed"] is None else echo["seed"],
        "target": model.target,
        "draft": model.draft,
        "offline": bool(model.offline),
        "system": chat.system or "",
        "view": look.view,
        "mark": look.mark,
        "readout": look.readout,
        "stats": look.stats,
        "no_history": not look.history,
        "runs": bench.runs,
        "warmup": bench.warmup,
        "max_time": f"{bench.max_s:g}s",
        "quiet": bool(common.quiet),
        "color": look.color,
        "config": str(common.config or config_file.default_path()),
    }


def _origin(
    field: str, name: str, sources: Sources, given: Mapping[str, object], own: Sampling
) -> Origin:
    source = FROM.get(sources.get(field, ""))
    if source == "flag":
        return "flag"
    if source == "environment":
        return "environment"
    if name in given:
        return "file"
    if getattr(own, field, None) is not None:
        return "pair"
    return "default"


def places(config: Path | None) -> dict[str, str]:
    """Say where files are read and kept."""
    return {
        "settings": str(config or config_file.default_path()),
        "own pairs": str(pairs_here.own_models()),
        "history, logs, runs": str(state_dir()),
        "layouts, measurements": str(cache_dir()),
        "model files": str(cache_folder()),
    }


def _show(document: ConfigDocument, common: Common) -> None:
    rows = [["setting", "value", "from", "variable"]]
    rows += [
        [each.name, _text(each.value), each.origin, each.variable] for each in document.settings
    ]
    width = width_of(terminal_of(common))
    lines = table(rows, width, left=frozenset({0, 1, 2, 3}))
    lines += [
        "",
        *table(
            [["file or folder", ""], *map(list, document.places.items())],
            width,
            left=frozenset({0, 1}),
        ),
    ]
    for line in lines:
        write(line)


def _text(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ("", [], {}):
        return "-"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
