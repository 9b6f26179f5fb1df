"""`localspec models add`: a pair of the user's own, written into the own models file.

Knows files that are here, and what their headers say. Touches no network.
"""

from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from localspec.cli import pairs_here
from localspec.cli.binding import Common
from localspec.cli.build import one_of
from localspec.cli.models_list import pair_document, write
from localspec.cli.models_options import AddOptions
from localspec.cli.notes import Notes
from localspec.errors import OptionError
from localspec.pairs.catalogue import Kind, ModelFile, Pair
from localspec.pairs.compat import compare
from localspec.pairs.header import Header, read_header
from localspec.pairs.hub_cache import cached_files
from localspec.pairs.own import add_pair
from localspec.pairs.resolve import find_reference, parse_reference
from localspec.pairs.split import quant_of
from localspec.report.write import to_json
from localspec.runtime.settings import DEFAULT_CONTEXT

UNKNOWN = "unknown"
GENERAL = "general"
KINDS = tuple(str(kind) for kind in get_args(Kind) if kind != "demo")
HEAD_DRAFTERS = ("eagle3", "mtp", "medusa")


def run_add(options: AddOptions, common: Common) -> int:
    """Add a pair, after looking whether its draft fits.

    Raises: OptionError, NotHere, PairRefused.
    """
    if not options.target or not options.draft:
        missing = "--draft" if options.target else "--target"
        raise OptionError(
            f"{missing} is missing",
            f"localspec models add {options.name} --target big.gguf --draft small.gguf",
        )
    target, draft = find_reference(options.target), find_reference(options.draft)
    headers = read_header(target), read_header(draft)
    fit = compare(*headers)
    fit.require()
    pair = _pair(options, headers, drafter=fit.mode if fit.mode in HEAD_DRAFTERS else "model")
    add_pair(pair, pairs_here.own_models())
    if common.json:
        write(to_json(pair_document(pair)))
        return 0
    notes = Notes(bool(common.quiet))
    notes.say(f"{pair.name}: {fit.verdict}")
    notes.say(f"written into {pairs_here.own_models()}; localspec chat {pair.name}")
    return 0


def _pair(options: AddOptions, headers: tuple[Header, Header], *, drafter: str) -> Pair:
    kind = one_of("--kind", options.kind or GENERAL, KINDS)
    trained = headers[0].number("{arch}.context_length") or DEFAULT_CONTEXT
    try:
        return Pair.model_validate(
            {
                "name": options.name,
                "kind": kind,
                "drafter": drafter,
                "context": trained,
                "target": _model(options.target or "", headers[0], options.licence),
                "draft": _model(options.draft or "", headers[1], options.licence),
            }
        )
    except ValidationError as failure:
        first = failure.errors()[0]
        if first["loc"][:1] == ("name",):
            raise OptionError(
                f"{options.name!r} is no name for a pair",
                "small letters, digits, dots, dashes: like my-pair",
            ) from failure
        raise OptionError(f"{first['loc']}: {first['msg']}") from failure


def _model(reference: str, header: Header, licence: str | None) -> ModelFile:
    """Describe a file: by its repository when the hub's cache holds it, else by its path."""
    path = find_reference(reference).absolute()
    size = sum(part.stat().st_size for part in header.parts)
    known = licence or header.text("general.license") or UNKNOWN
    quant = quant_of(path.name) or UNKNOWN
    if not isinstance(parse_reference(reference), Path):
        file = next(file for file, found in cached_files() if found.absolute() == path)
        return ModelFile(
            repo=file.repo,
            file=file.name,
            revision=file.revision,
            quant=quant,
            bytes=size,
            licence=known,
        )
    return ModelFile(source="path", file=str(path), quant=quant, bytes=size, licence=known)
