"""How a failure is shown: one line what happened, one what to type next, and the exit code.

The only place that prints errors. Knows the exception tree and typer's usage errors.
"""

import os
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import typer

from localspec.cli.config_file import in_plain_words
from localspec.errors import LocalspecError, NotHere
from localspec.ui.visible import visible

DEBUG = "LOCALSPEC_DEBUG"
BUG = 1
FAILED = 1
NOT_HERE = NotHere.exit_code
USAGE = 2


@dataclass(frozen=True)
class Shown:
    """What the user reads, and what the shell gets."""

    message: str
    hint: str
    exit_code: int


def wants_json(arguments: Sequence[str]) -> bool:
    """Tell whether the caller reads JSON, from arguments that may not even parse."""
    ours = list(arguments)
    if "--" in ours:
        ours = ours[: ours.index("--")]
    return any(word == "--json" or word.startswith("--json=") for word in ours)


def show(failure: Exception, *, as_json: bool = False) -> int:
    """Show a failure and give its exit code; LOCALSPEC_DEBUG=1 raises it again instead."""
    if os.environ.get(DEBUG, "0") not in {"", "0"}:
        raise failure
    shown = _put_in_words(failure)
    if as_json:
        with suppress(OSError):
            _write_json(shown)
    with suppress(OSError):  # a full disk behind stderr must not change the exit code
        sys.stderr.write(f"error: {_one_line(shown.message)}\n")
        if shown.hint:
            sys.stderr.write(f"hint: {_one_line(shown.hint)}\n")
    return shown.exit_code


def _put_in_words(failure: Exception) -> Shown:
    if isinstance(failure, LocalspecError):
        return Shown(failure.message, failure.hint, failure.exit_code)
    if isinstance(failure, typer.TyperException):
        return Shown(_usage(failure), _what_was_meant(failure), USAGE)
    if isinstance(failure, typer.Abort):
        return Shown("nothing was typed", "", USAGE)
    if isinstance(failure, OSError):  # a disk, a permission: the world's fault, not the program's
        return _of_the_system(failure)
    kept = _keep_traceback(failure)
    return Shown(
        f"a bug of localspec: {type(failure).__name__}: {failure}",
        f"the traceback is in {kept}" if kept else f"{DEBUG}=1 shows the traceback",
        BUG,
    )


def _of_the_system(failure: OSError) -> Shown:
    """Say what the system refused, and where."""
    what = failure.strerror or str(failure)
    if failure.filename is None:
        return Shown(f"cannot read or write: {what}", f"{DEBUG}=1 shows where", FAILED)
    return Shown(f"{os.fsdecode(str(failure.filename))}: {what}", "", NOT_HERE)


def _usage(failure: typer.TyperException) -> str:
    """Say what is wrong with the arguments, in one line."""
    if (said := _wrong_value(failure)) is not None:
        return said
    lines = [failure.message, failure.format_message()]
    return _one_line(lines["(Possible" not in lines[1]]).rstrip(".")


def _wrong_value(failure: typer.TyperException) -> str | None:
    """Name the option, and the variable if it came from there; None for other mistakes."""
    option, context = getattr(failure, "param", None), getattr(failure, "ctx", None)
    flags = [*getattr(option, "opts", ()), *getattr(option, "secondary_opts", ())]
    if not context or not failure.message or not any(flag.startswith("--") for flag in flags):
        return None
    name = next(flag for flag in flags if flag.startswith("--"))
    source = context.get_parameter_source(getattr(option, "name", ""))
    if getattr(source, "name", "") == "ENVIRONMENT":
        name = f"the variable {getattr(option, 'envvar', '')}"
    return f"{name} {in_plain_words(failure.message)}".rstrip(".")


def _what_was_meant(failure: typer.TyperException) -> str:
    """Name the option or command that was probably meant."""
    word = getattr(failure, "option_name", None) or ""
    close = get_close_matches(word, getattr(failure, "possibilities", None) or (), n=1)
    if close:
        return f"did you mean {close[0]}?"
    context = getattr(failure, "ctx", None)
    listed = "commands" if context is None or hasattr(context.command, "commands") else "options"
    path = "localspec" if context is None else context.command_path
    return f"{path} --help lists the {listed}"


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def _write_json(shown: Shown) -> None:
    from localspec.report.documents import ErrorDocument  # noqa: PLC0415  (pydantic is slow)
    from localspec.report.write import to_json  # noqa: PLC0415

    document = ErrorDocument(
        error=_one_line(shown.message), hint=shown.hint, exit_code=shown.exit_code
    )
    sys.stdout.write(to_json(document) + "\n")
    sys.stdout.flush()


def _keep_traceback(failure: Exception) -> Path | None:
    from localspec.runtime.folders import state_dir  # noqa: PLC0415  (only for a bug)

    folder = state_dir() / "log"
    path = folder / f"bug-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(failure)), encoding="utf-8")
    except OSError:
        return None
    return path
