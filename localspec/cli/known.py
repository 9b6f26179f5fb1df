"""Every setting there is: what the environment and the settings file may give.

Reads the declarations of the option groups. States no option itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from localspec.cli import binding
from localspec.cli.bench_options import BenchOptions
from localspec.cli.binding import Common
from localspec.cli.chat_options import ChatOptions
from localspec.cli.options import ModelOptions

GROUPS = (Common, ModelOptions, ChatOptions, BenchOptions)


@dataclass(frozen=True)
class Setting:
    """One setting: its key in the file, its variable, and the field that holds it."""

    name: str
    variable: str
    field: str


def settings() -> Iterator[Setting]:
    """Give every setting, in the order of the help."""
    for group in GROUPS:
        for field in fields(group):
            if binding.is_setting(field.type):
                variable = str(binding.option_of(field.type).envvar)
                yield Setting(binding.setting_name(field.type), variable, field.name)


def setting_names() -> tuple[str, ...]:
    """Give the keys that a settings file may hold."""
    return tuple(setting.name for setting in settings())
