"""Files that options name: those to be read are there, those to be written can be written.

Knows flags and paths. What is refused here is refused before a download is offered or a model is
loaded, whether the run would come to use the file or not.
"""

import os
from pathlib import Path

from localspec.cli.options import ModelOptions
from localspec.errors import NotHere, OptionError


def check_inputs(options: ModelOptions) -> None:
    """See that every file that the options of a run name is there.

    Raises: NotHere.
    """
    existing("--head", options.head)
    existing("--expect", options.expect)
    for path in options.ngram_from or ():
        existing("--ngram-from", path)


def existing(flag: str, path: Path | None) -> Path | None:
    """Give a file's path back if the file is there.

    Raises: NotHere.
    """
    if path is None or path.is_file():
        return path
    if path.is_dir():
        raise NotHere(f"{flag}: {path} is a folder", "name the file in it")
    if path.exists():
        raise NotHere(f"{flag}: {path} is a pipe or a device, not a file")
    raise NotHere(f"{flag}: no file {path}", "check the spelling and the folder")


def writable(flag: str, path: Path | None) -> None:
    """See that a file can be written.

    Raises: OptionError, NotHere for a folder that is not there.
    """
    if path is None:
        return
    folder = path.parent
    if path.is_dir():
        raise OptionError(f"{flag}: {path} is a folder", "name a file")
    if not folder.is_dir():
        raise NotHere(f"{flag}: there is no folder {folder}", f"type: mkdir -p {folder}")
    place = path if path.exists() else folder
    if not os.access(place, os.W_OK):
        raise OptionError(f"{flag}: {path} cannot be written", "choose another place")


def write_whole(path: Path, text: str) -> None:
    """Replace a file as a whole, so that no reader ever finds half of it.

    Raises: OptionError.
    """
    device = path.exists() and not path.is_file()  # /dev/null is written to, never replaced
    part = path if device else path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        if not device:
            part.replace(path)
    except OSError as failure:
        raise OptionError(f"{path} cannot be written: {failure.strerror}") from failure
