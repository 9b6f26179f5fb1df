"""The way in and the way out: arguments to a command, exceptions to an exit code.

Imports next to nothing by itself, so that `--version` costs nothing. Does not know any command.
"""

import os
import sys
from collections.abc import Sequence

from localspec import __version__
from localspec.cli import streams

VERSION_FLAGS = (["-V"], ["--version"])


def run() -> None:
    """Run the command of this process and end it."""
    streams.lenient_stderr()
    # Read when numpy loads. Its threads wait for each other by spinning: beside busy programs two
    # of them took 96 ms for the heads' products where one took 20; alone there is little to gain.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = main()
    streams.let_go()
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; whatever goes wrong is shown on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    streams.prepare()
    try:
        return _finished(arguments)
    except KeyboardInterrupt:
        if sys.stderr.isatty():  # the terminal wrote ^C
            sys.stderr.write("\n")
        return streams.INTERRUPTED
    except streams.Terminated:
        return streams.TERMINATED
    except BrokenPipeError:
        return streams.reader_gone()
    except Exception as failure:
        from localspec.cli import failures  # noqa: PLC0415  (only when something failed)

        return failures.show(failure, as_json=failures.wants_json(arguments))


def _finished(arguments: list[str]) -> int:
    """Run, and write out what is still held back.

    Raises: whatever the command raises; BrokenPipeError when nobody reads any more.
    """
    try:
        with streams.terminable():
            code = _run(arguments)
            streams.finish()
            return code
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # as typer handles it
            raise leaving.__context__ from None
        return leaving.code if isinstance(leaving.code, int) else int(bool(leaving.code))


def _run(arguments: list[str]) -> int:
    if arguments in VERSION_FLAGS:
        sys.stdout.write(f"localspec {__version__}\n")
        return 0
    from localspec.cli.app import command  # noqa: PLC0415  (typer is not needed for a version)

    outcome = command()(arguments or ["--help"], prog_name="localspec", standalone_mode=False)
    return outcome if isinstance(outcome, int) else 0
