"""Help by plain text in groups: no colour, no boxes, the same on a terminal and in a pipe.

Knows how typer describes its parameters. Does not know any of them.
"""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

OPTIONS = "Options"


def write_groups(parameters: list[Any], context: typer.Context, formatter: Any) -> None:
    """Write parameters under the title each declares."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        record = parameter.get_help_record(context)
        if record and not getattr(parameter, "hidden", False):
            title = getattr(parameter, "rich_help_panel", None) or OPTIONS
            groups.setdefault(title, []).append(record)
    for title, records in groups.items():
        with formatter.section(title):
            formatter.write_dl(records)


class GroupedCommand(TyperCommand):
    """A command whose options are listed by kind."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options."""
        write_groups(self.get_params(ctx), ctx, formatter)


class GroupedGroup(TyperGroup):
    """A group that lists its options and then its commands, in the order they were added."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options and the commands."""
        write_groups(self.get_params(ctx), ctx, formatter)
        self.format_commands(ctx, formatter)
