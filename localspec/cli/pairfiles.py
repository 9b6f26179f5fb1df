"""Which files a run uses: a pair's name, two files, or the demo pair.

Knows words and paths. Does not open a model, and fetches nothing that was not answered yes.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from localspec.cli import pairs_here
from localspec.cli.notes import Notes
from localspec.cli.options import ModelOptions
from localspec.core.sampling import DEFAULT_SAMPLING, SamplingParams
from localspec.errors import LocalspecError, NotHere, OptionError
from localspec.pairs.catalogue import Pair, Sampling
from localspec.pairs.header import read_header
from localspec.pairs.kinds import mode_of
from localspec.pairs.resolve import Request, Resolved, resolve
from localspec.runtime.demo_pair import pair_files
from localspec.runtime.settings import EAGLE3, MEDUSA, MODEL, READY, PairFiles

GGUF = ".gguf"


@dataclass(frozen=True)
class Chosen:
    """The files of a run, and the sampling that the pair's makers recommend."""

    files: PairFiles
    recommended: SamplingParams = DEFAULT_SAMPLING


def find_pair(options: ModelOptions, notes: Notes) -> Chosen:
    """Find the files that the options name.

    Raises: NotHere with the command that fetches what is missing, OptionError when nothing is
    named or several files could be meant, HubError.
    """
    request = request_of(options)
    found = _resolved(request, options, notes)
    files = pair_files(found, notes.say)
    named = request.pair if request.pair and not request.target else found.target.path.stem
    files = _heads_apart(replace(files, name=named))
    pair = found.pair
    if pair and not request.draft and pair.drafter not in READY:
        notes.say(f"its drafter '{pair.drafter}' is not available yet: the draft is left out")
        files = replace(files, draft=None)
    return Chosen(files, recommended(pair.sampling) if pair else DEFAULT_SAMPLING)


def _heads_apart(files: PairFiles) -> PairFiles:
    """Take a head that was named as the draft for what it is."""
    try:
        kind = mode_of(read_header(files.draft)) if files.draft else MODEL
    except LocalspecError:
        return files  # said when it is loaded, if it is needed
    if files.draft is None or kind not in (EAGLE3, MEDUSA):
        return files
    return replace(files, draft=None, heads=(*files.heads, (kind, files.draft)))


def request_of(options: ModelOptions) -> Request:
    """Tell a pair's name from files.

    Raises: OptionError when nothing is named, NotHere for a file that is not there.
    """
    pair, target = options.pair, options.target
    if pair and looks_like_file(pair):
        if target:
            raise OptionError(f"{pair} and --target {target} are both a target", "leave one out")
        target, pair = str(local_file("PAIR", pair)), None
    for flag, word in (("--target", target), ("--draft", options.draft)):
        if word and looks_like_file(word):
            local_file(flag, word)
    if not pair and not target:
        raise OptionError(
            "no pair is named",
            "localspec chat demo, or --target FILE; localspec models list shows the catalogue",
        )
    return Request(pair, target, options.draft)


def recommended(own: Sampling) -> SamplingParams:
    """Give the defaults with what a pair's makers recommend over them."""
    given: dict[str, Any] = {
        "temperature": own.temp,
        "top_k": own.top_k,
        "top_p": own.top_p,
        "min_p": own.min_p,
        "repeat_penalty": own.repeat_penalty,
    }
    known = {name: value for name, value in given.items() if value is not None}
    return replace(DEFAULT_SAMPLING, **known)


def _resolved(request: Request, options: ModelOptions, notes: Notes) -> Resolved:
    """Find the files, after a download that the user agreed to if need be."""
    known = pairs_here.catalogue()
    try:
        return resolve(request, known)
    except NotHere:
        pair = _missing(request, known.get(request.pair) if request.pair else None)
        if pair is None:
            raise
    offline = bool(options.offline)
    pairs_here.offer(pair, request.pair or "", notes, yes=options.yes, offline=offline)
    return resolve(request, known)


def _missing(request: Request, pair: Pair | None) -> Pair | None:
    """Give the pair whose own files are what is missing."""
    if pair is None or request.target or request.draft or pairs_here.is_here(pair):
        return None
    return pair if all(model.source == "hub" for model in pair.models) else None


def looks_like_file(reference: str) -> bool:
    """Tell a path from a name of the hub or the catalogue."""
    return (
        (reference.lower().endswith(GGUF) and ":" not in reference)
        or reference.startswith((".", "~", os.sep))
        or Path(reference).is_file()
    )


def local_file(flag: str, reference: str) -> Path:
    """Find the file that a reference stands for.

    Raises: NotHere.
    """
    path = Path(os.path.expanduser(reference))
    if path.is_file():
        return path
    if path.is_dir():
        raise NotHere(f"{flag}: {path} is a folder", "name the GGUF file in it")
    raise NotHere(f"{flag}: no file {path}", "localspec models list shows what is here")
