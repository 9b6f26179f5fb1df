"""The commands, put together for typer. Each is a thin function; what it does is in its own file.

Imports no engine, no numbers and no screens: those come with the command that needs them.
"""

from collections.abc import Callable
from typing import Any

import typer

from localspec.cli import binding, helptext
from localspec.cli.bench_options import BenchOptions
from localspec.cli.binding import Common, Sources
from localspec.cli.chat_options import ChatOptions
from localspec.cli.check_options import CheckModel, CheckOptions
from localspec.cli.doctor_options import DoctorOptions
from localspec.cli.grouped import GroupedCommand, GroupedGroup
from localspec.cli.known import setting_names
from localspec.cli.models_options import (
    AddOptions,
    ListOptions,
    PairName,
    PullOptions,
    RemoveOptions,
    VerifyOptions,
)
from localspec.cli.options import ModelOptions
from localspec.cli.predict_options import PredictOptions
from localspec.cli.trace_options import TraceOptions
from localspec.cli.tune_options import TuneOptions

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _typer(help_text: str, **more: Any) -> typer.Typer:
    return typer.Typer(
        cls=GroupedGroup,
        help=help_text,
        context_settings=_SETTINGS,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        **more,
    )


def command() -> Callable[..., object]:
    """Build the command line: a callable of arguments."""
    app = _typer(helptext.PROGRAM)
    app.callback()(binding.before_commands())
    for name, function in COMMANDS:
        _add(app, name, function)
    models = _typer(helptext.MODELS)
    for name, function in MODELS:
        _add(models, f"models {name}", function)
    app.add_typer(models, name="models", cls=GroupedGroup)
    return typer.main.get_command(app)


def _add(app: typer.Typer, name: str, function: Callable[..., int]) -> None:
    decorate = app.command(
        name.rsplit(" ", 1)[-1],
        cls=GroupedCommand,
        help=helptext.COMMANDS[name],
        epilog=None if name in NO_SETTINGS else helptext.SETTINGS,
        context_settings=_SETTINGS,
    )
    decorate(binding.spread(function, setting_names))


def _chat(model: ModelOptions, chat: ChatOptions, common: Common) -> int:
    from localspec.cli.chat import run_chat  # noqa: PLC0415

    return run_chat(model, chat, common)


def _bench(model: ModelOptions, bench: BenchOptions, common: Common) -> int:
    from localspec.cli.bench import run_bench_command  # noqa: PLC0415

    return run_bench_command(model, bench, common)


def _check(model: CheckModel, check: CheckOptions, common: Common) -> int:
    from localspec.cli.check import run_check  # noqa: PLC0415

    return run_check(model, check, common)


def _tune(model: ModelOptions, tune: TuneOptions, common: Common) -> int:
    from localspec.cli.tune import run_tune  # noqa: PLC0415

    return run_tune(model, tune, common)


def _trace(model: ModelOptions, trace: TraceOptions, common: Common) -> int:
    from localspec.cli.trace import run_trace  # noqa: PLC0415

    return run_trace(model, trace, common)


def _predict(predict: PredictOptions, common: Common) -> int:
    from localspec.cli.predict import run_predict  # noqa: PLC0415

    return run_predict(predict, common)


def _doctor(doctor: DoctorOptions, common: Common) -> int:
    from localspec.cli.doctor import run_doctor  # noqa: PLC0415

    return run_doctor(doctor, common)


def _config(
    model: ModelOptions, chat: ChatOptions, bench: BenchOptions, sources: Sources, common: Common
) -> int:
    from localspec.cli.config import Given, run_config  # noqa: PLC0415

    return run_config(Given(model, chat, bench, common), sources)


def _models_list(which: ListOptions, common: Common) -> int:
    from localspec.cli.models_list import run_list  # noqa: PLC0415

    return run_list(which, common)


def _models_show(which: PairName, common: Common) -> int:
    from localspec.cli.models_list import run_show  # noqa: PLC0415

    return run_show(which, common)


def _models_pull(which: PullOptions, common: Common) -> int:
    from localspec.cli.models_files import run_pull  # noqa: PLC0415

    return run_pull(which, common)


def _models_verify(which: VerifyOptions, common: Common) -> int:
    from localspec.cli.models_files import run_verify  # noqa: PLC0415

    return run_verify(which, common)


def _models_rm(which: RemoveOptions, common: Common) -> int:
    from localspec.cli.models_files import run_remove  # noqa: PLC0415

    return run_remove(which, common)


def _models_path(which: PairName, common: Common) -> int:
    from localspec.cli.models_files import run_path  # noqa: PLC0415

    return run_path(which, common)


def _models_add(pair: AddOptions, common: Common) -> int:
    from localspec.cli.models_add import run_add  # noqa: PLC0415

    return run_add(pair, common)


Command = Callable[..., int]
COMMANDS: tuple[tuple[str, Command], ...] = (
    ("chat", _chat),
    ("bench", _bench),
    ("check", _check),
    ("tune", _tune),
    ("predict", _predict),
    ("trace", _trace),
    ("doctor", _doctor),
    ("config", _config),
)
MODELS: tuple[tuple[str, Command], ...] = (
    ("list", _models_list),
    ("show", _models_show),
    ("pull", _models_pull),
    ("add", _models_add),
    ("verify", _models_verify),
    ("rm", _models_rm),
    ("path", _models_path),
)
NO_SETTINGS = frozenset({"predict", "doctor", *(f"models {name}" for name, _ in MODELS)})
