"""Where a bench goes when it is done: the screen, files, and the exit code.

Knows documents and options. Does not measure.
"""

import sys
from contextlib import suppress
from pathlib import Path

from localspec.cli.bench_options import BenchOptions
from localspec.cli.bench_request import Request
from localspec.cli.binding import Common
from localspec.cli.files import write_whole
from localspec.cli.streams import INTERRUPTED
from localspec.errors import NotIdentical, OptionError
from localspec.report.bench_compare import changes
from localspec.report.bench_documents import BenchDocument
from localspec.report.bench_text import arm_name, bench_csv, bench_markdown
from localspec.report.write import to_json
from localspec.ui.bench import bench_lines
from localspec.ui.terminal import Terminal

NO = 3


def show(document: BenchDocument, common: Common, terminal: Terminal) -> None:
    """Write the screen, or the document, to stdout."""
    if common.json:
        sys.stdout.write(to_json(document) + "\n")
        return
    lines = bench_lines(
        document, terminal.width(), unicode=terminal.unicode, detail=common.verbose > 0
    )
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def save(document: BenchDocument, path: Path | None, kept: Path) -> None:
    """Write the JSON where the user wants it, and among our own runs where that is possible."""
    text = to_json(document) + "\n"
    if path is not None:
        write_whole(path, text)
    with suppress(OSError, OptionError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, text)


def export(document: BenchDocument, options: BenchOptions) -> None:
    """Write the other formats asked for.

    Raises: OptionError.
    """
    if options.csv:
        write_whole(options.csv, bench_csv(document))
    if options.md:
        write_whole(options.md, bench_markdown(document))
    if options.html:
        from localspec.report.bench_page import bench_page  # noqa: PLC0415  (matplotlib is slow)

        write_whole(options.html, bench_page(document))


def exit_code(document: BenchDocument, request: Request, *, strict: bool) -> int:
    """Give 0, 3 for a no, or 130.

    Raises: NotIdentical when texts differ that --strict promises to be equal.
    """
    if strict and request.verify:
        _check_identical(document)
    if document.stopped == "interrupted":
        return INTERRUPTED
    code = 0
    if request.old is not None:
        for change in changes(request.old, document):
            sys.stderr.write(f"{change.text}\n")
            code = NO if change.loss else code
    return NO if _missed(document, request.min_speedup) else code


def _check_identical(document: BenchDocument) -> None:
    for kind in document.kinds:
        for arm in kind.arms:
            if arm.identical and arm.identical.first_differences:
                first = arm.identical.first_differences[0]
                raise NotIdentical(
                    f"{kind.kind}, prompt {first.prompt + 1}: {arm_name(arm)} differs from plain "
                    f"at token {first.position + 1}",
                    "please report it: with --strict this must not happen",
                )


def _missed(document: BenchDocument, wanted: float | None) -> bool:
    """Say whether no drafter is surely as fast as wanted, over all kinds."""
    if wanted is None:
        return False
    reached = [
        arm.speedup.low
        for kind in document.overall
        for arm in kind.arms
        if arm.speedup and arm.speedup.low is not None and arm.word != "too noisy to say"
    ]
    if max(reached, default=0.0) >= wanted:
        return False
    sys.stderr.write(f"no drafter is surely {wanted:g} times as fast as plain decoding here\n")
    return True
