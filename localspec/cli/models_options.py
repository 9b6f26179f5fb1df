"""The options of `models …`. Knows words and types; values are checked where they are used."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from localspec.cli.binding import flag
from localspec.cli.complete import draft_names, pair_names

WHICH = "Which"
HOW = "How"


@dataclass(frozen=True)
class ListOptions:
    """What is listed."""

    fits: Annotated[
        bool, flag("--fits", group=WHICH, help="Only pairs that fit in the memory free now.")
    ] = False
    downloaded: Annotated[
        bool, flag("--downloaded", group=WHICH, help="Only pairs that are here.")
    ] = False
    target: Annotated[
        str | None,
        flag(
            "--for",
            group=WHICH,
            metavar="TARGET",
            complete=draft_names,
            help="Files on this disk (hub cache, LM Studio, Ollama, llama.cpp) that could draft "
            "for a pair's target or a GGUF file, each with yes or no and the reason.",
        ),
    ] = None
    folder: Annotated[
        list[Path] | None,
        flag("--in", group=WHICH, metavar="FOLDER", help="Look here, too; may be repeated."),
    ] = None


@dataclass(frozen=True)
class PairName:
    """One pair."""

    name: Annotated[
        str,
        typer.Argument(
            metavar="PAIR",
            help="A name of `localspec models list`; @QUANT picks another quantisation.",
            autocompletion=pair_names,
        ),
    ]


@dataclass(frozen=True)
class PullOptions:
    """What is fetched."""

    name: Annotated[
        str,
        typer.Argument(
            metavar="PAIR",
            help="A name of `localspec models list`, or user/repo[:quant] for one file.",
            autocompletion=pair_names,
        ),
    ]
    dry_run: Annotated[
        bool, flag("--dry-run", group=HOW, help="Only say what would come, and how much.")
    ] = False
    offline: Annotated[
        bool, flag("--offline", group=HOW, help="Touch no network: an error if a file is missing.")
    ] = False


@dataclass(frozen=True)
class VerifyOptions:
    """What is held against the hub."""

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="PAIR",
            help="A pair; without one, every pair that is here.",
            autocompletion=pair_names,
            show_default=False,
        ),
    ] = None
    offline: Annotated[
        bool,
        flag("--offline", group=HOW, help="Hold files against the catalogue only; ask no hub."),
    ] = False


@dataclass(frozen=True)
class RemoveOptions:
    """What goes."""

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The pair, or the file name of a layout made here.",
            autocompletion=pair_names,
            show_default=False,
        ),
    ] = None
    layouts: Annotated[
        bool,
        flag(
            "--layouts",
            group=HOW,
            help="Only the layouts made here of that pair's files; all of them without a name.",
        ),
    ] = False
    yes: Annotated[bool, flag("--yes", "-y", group=HOW, help="Do not ask.")] = False


@dataclass(frozen=True)
class AddOptions:
    """A pair of the user's own."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="The new pair's name.")]
    target: Annotated[
        str | None,
        flag(
            "--target",
            group=WHICH,
            metavar="REF",
            complete=draft_names,
            help="A GGUF file, or user/repo[:quant] that is in the hub cache.",
        ),
    ] = None
    draft: Annotated[
        str | None,
        flag("--draft", group=WHICH, metavar="REF", complete=draft_names, help="The same."),
    ] = None
    kind: Annotated[
        str | None,
        flag(
            "--kind",
            group=WHICH,
            metavar="KIND",
            help="code, general, reasoning or multilingual.",
        ),
    ] = None
    licence: Annotated[
        str | None,
        flag("--licence", group=WHICH, metavar="NAME", help="If the files do not say it."),
    ] = None
