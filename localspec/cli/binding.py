"""Options declared as dataclasses, spread over a command as single options.

A command takes a few dataclasses; each of their fields becomes an option. What neither flag nor
environment gave is filled in from the settings file. Does not know which options there are.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_args

import typer

from localspec.cli import config_file

COMMON = "Everywhere"
Group = TypeVar("Group")
Completion = Callable[[str], list[str]]


def setting(
    *flags: str,
    group: str,
    help: str,
    metavar: str | None = None,
    complete: Completion | None = None,
) -> Any:
    """Declare an option that the environment and the settings file can give, too."""
    variable = "LOCALSPEC_" + longest_flag(flags).upper().replace("-", "_")
    return typer.Option(
        *flags,
        help=help,
        metavar=metavar,
        envvar=variable,
        rich_help_panel=group,
        show_default=False,
        show_envvar=False,
        autocompletion=complete,
    )


def flag(
    *flags: str,
    group: str,
    help: str,
    metavar: str | None = None,
    complete: Completion | None = None,
) -> Any:
    """Declare an option that belongs to one call alone."""
    return typer.Option(
        *flags,
        help=help,
        metavar=metavar,
        rich_help_panel=group,
        show_default=False,
        autocompletion=complete,
    )


def longest_flag(flags: tuple[str, ...]) -> str:
    """Give the name an option goes by: `top-k` of `-k`, `--top-k`."""
    first = next(flag for flag in flags if flag.startswith("--"))
    return first.split("/")[0].removeprefix("--")


@dataclass(frozen=True)
class Common:
    """What every command accepts."""

    quiet: Annotated[
        bool | None, setting("--quiet", "-q", group=COMMON, help="Say nothing but the answer.")
    ] = None
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            help="Say more; -vv adds the engine's log.",
            rich_help_panel=COMMON,
            show_default=False,
        ),
    ] = 0
    color: Annotated[
        str | None,
        setting("--color", group=COMMON, metavar="WHEN", help="auto, always or never."),
    ] = None
    config: Annotated[
        Path | None,
        setting("--config", group=COMMON, metavar="FILE", help="Settings file to use instead."),
    ] = None
    json: Annotated[
        bool, flag("--json", group=COMMON, help="One JSON object on stdout, prose on stderr.")
    ] = False

    def over(self, general: "Common") -> "Common":
        """Give these options, with what was said before the command where they are silent."""
        return Common(
            quiet=self.quiet if self.quiet is not None else general.quiet,
            verbose=self.verbose or general.verbose,
            color=self.color or general.color,
            config=self.config or general.config,
            json=self.json or general.json,
        )


class Sources(dict[str, str]):
    """Who gave each option of this call, by typer's word: COMMANDLINE, ENVIRONMENT, DEFAULT."""


@dataclass(frozen=True)
class Version:
    """Listed in the help; answered before anything is imported."""

    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version.", show_default=False)
    ] = False


def spread(
    function: Callable[..., int], known: Callable[[], Collection[str]]
) -> Callable[..., int]:
    """Make a function of option dataclasses a function of single options, for typer.

    `known` gives the keys that a settings file may hold.
    """
    groups = {p.name: p.annotation for p in inspect.signature(function).parameters.values()}

    @wraps(function)
    def command(context: typer.Context, **values: Any) -> int:
        common = _take(Common, values).over(context.obj or Common())
        given = config_file.read(common.config, known())
        made: dict[str, Any] = {}
        for name, group in groups.items():
            if group is Sources:
                made[name] = _sources(context, values)
            else:
                taken = common if group is Common else _take(group, values)
                made[name] = _complete(taken, given)
        return function(**made)

    return _signed(command, *(group for group in groups.values() if group is not Sources))


def _sources(context: typer.Context, values: Mapping[str, Any]) -> Sources:
    found = {name: context.get_parameter_source(name) for name in values}
    return Sources({name: source.name for name, source in found.items() if source})


def before_commands() -> Callable[..., None]:
    """Give the function that takes what stands before a command."""

    def root(context: typer.Context, **values: Any) -> None:
        context.obj = _take(Common, values)

    return _signed(root, Version, Common)


def _signed(function: Callable[..., Any], *groups: type) -> Callable[..., Any]:
    """Give a function the signature that typer reads: a context, and every field."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter("context", kind, annotation=typer.Context),
        *(parameter for group in groups for parameter in _parameters(group)),
    ]
    vars(function).pop("__wrapped__", None)
    vars(function)["__signature__"] = inspect.Signature(parameters)
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


def _parameters(group: type) -> list[inspect.Parameter]:
    assert is_dataclass(group)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field.name, kind, default=_default(field.default), annotation=field.type)
        for field in fields(group)
    ]


def _default(value: object) -> object:
    """A tuple is our frozen list; typer knows lists. Without a default it must be said."""
    if value is MISSING:
        return inspect.Parameter.empty
    return list(value) if isinstance(value, tuple) else value


def _take(group: type[Group], values: Mapping[str, Any]) -> Group:
    assert is_dataclass(group)
    given = {field.name: _frozen(values[field.name]) for field in fields(group)}
    return cast("Group", group(**given))


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _complete(group: Group, given: Mapping[str, object]) -> Group:
    """Fill in from the settings file what was not said."""
    assert is_dataclass(group)
    assert not isinstance(group, type)
    missing = {
        field.name: config_file.convert(setting_name(field.type), given, field.type)
        for field in fields(group)
        if getattr(group, field.name) in (None, ())
        and is_setting(field.type)
        and setting_name(field.type) in given
    }
    return cast("Group", replace(group, **missing)) if missing else group


def option_of(annotation: object) -> Any:
    """Give typer's description of an option from its annotation."""
    return get_args(annotation)[1]


def is_setting(annotation: object) -> bool:
    """Tell whether an option can stand in the settings file."""
    return bool(getattr(option_of(annotation), "envvar", None))


def setting_name(annotation: object) -> str:
    """Give the key of an option in the settings file."""
    option = option_of(annotation)
    return longest_flag((option.default, *option.param_decls))
