"""`localspec models list` and `show`: what the catalogue knows, and what of it runs here.

Knows pairs, files and free memory. Touches no network.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from localspec.cli import pairs_here
from localspec.cli.binding import Common
from localspec.cli.build import COLORS, one_of
from localspec.cli.models_layouts import layout_documents, layout_lines
from localspec.cli.models_options import ListOptions, PairName
from localspec.cli.pairfiles import local_file, looks_like_file
from localspec.core.theory import MAX_GAMMA
from localspec.errors import LocalspecError
from localspec.measure.machine import available_bytes
from localspec.pairs.catalogue import ModelFile, Pair
from localspec.pairs.header import read_header
from localspec.pairs.local import Candidate, fits_for, local_files
from localspec.pairs.memory import Load, Room, show_bytes
from localspec.pairs.resolve import Request, find_model, find_reference, resolve
from localspec.pairs.rollback import in_words, keeping
from localspec.report.documents import ModelsPair
from localspec.report.pair_documents import (
    DraftCandidate,
    DraftsDocument,
    ModelFacts,
    ModelsDocument,
    PairDocument,
)
from localspec.report.write import to_json
from localspec.ui.tables import facts, table
from localspec.ui.terminal import Terminal, open_terminal

LEFT = frozenset({0, 3, 4, 5, 6})
HEADINGS = ["pair", "size", "memory", "here", "kind", "licence", "drafter"]
UNCUT = 10_000


@dataclass(frozen=True)
class Listed:
    """A pair, and what it means on this machine."""

    pair: Pair
    here: bool
    fits: bool

    @property
    def document(self) -> ModelsPair:
        """Give it as a part of a document."""
        pair = self.pair
        licences = dict.fromkeys(model.licence for model in pair.models)
        return ModelsPair(
            name=pair.name,
            target=_model_name(pair.target),
            draft=_model_name(pair.draft) if pair.draft else None,
            bytes=pair.bytes,
            memory_bytes=pair.memory_bytes,
            here=self.here,
            fits=self.fits,
            licence=" and ".join(licences),
            gated=any(model.gated for model in pair.models),
        )


def run_list(options: ListOptions, common: Common) -> int:
    """List pairs, or with --for the files here that could draft for a target."""
    if options.target:
        return _list_drafts(options, common)
    listed = [
        each
        for each in map(look_at, pairs_here.catalogue().pairs.values())
        if (each.fits or not options.fits) and (each.here or not options.downloaded)
    ]
    if common.json:
        pairs = [each.document for each in listed]
        write(to_json(ModelsDocument(pairs=pairs, layouts=layout_documents())))
        return 0
    terminal = terminal_of(common)
    for line in _pair_lines(listed, terminal):
        write(line)
    for line in layout_lines(layout_documents(), width_of(terminal)):
        write(line)
    return 0


def look_at(pair: Pair) -> Listed:
    """Say what a pair means here."""
    fits = pair.memory_bytes <= Room(available_bytes()).usable
    return Listed(pair, pairs_here.is_here(pair), fits)


def terminal_of(common: Common) -> Terminal:
    """Open the terminal as the common options ask."""
    return open_terminal(one_of("--color", common.color or "auto", COLORS))


def write(text: str) -> None:
    """Write a line of the answer."""
    sys.stdout.write(f"{text}\n")


def _model_name(model: ModelFile) -> str:
    return f"{model.repo or model.package}/{model.file}".lstrip("/")


def width_of(terminal: Terminal) -> int:
    """Give the columns for a table; off a screen nothing is cut."""
    return terminal.width() - 1 if terminal.shown else UNCUT


def _pair_lines(listed: list[Listed], terminal: Terminal) -> list[str]:
    if not listed:
        return ["nothing: localspec models list shows every pair"]
    rows = [HEADINGS, *(_row(each) for each in listed)]
    gated = [each.pair.name for each in listed if each.document.gated]
    notes = []
    if gated:
        notes.append(f" gated, agree on the hub first: {', '.join(gated)}")
    if any(each.pair.unverified for each in listed):
        notes.append(" ? a fact could not be confirmed: localspec models verify PAIR asks the hub")
    lines = table(rows, width_of(terminal), left=LEFT)
    return [*lines, *([""] if notes else []), *notes]


def _row(each: Listed) -> list[str]:
    pair = each.pair
    state = "yes" if each.here else ("" if each.fits else "too big")
    return [
        pair.name,
        f"{show_bytes(pair.bytes)}{'?' if pair.unverified else ' '}",
        show_bytes(pair.memory_bytes),
        state if each.fits or not each.here else "yes, too big",
        pair.kind,
        each.document.licence or "",
        pair.drafter,
    ]


def run_show(options: PairName, common: Common) -> int:
    """Show everything known about a pair."""
    pair = pairs_here.catalogue().get(options.name)
    document = pair_document(pair)
    if common.json:
        write(to_json(document))
        return 0
    for line in facts(_facts(document), width_of(terminal_of(common))):
        write(line)
    return 0


def pair_document(pair: Pair) -> PairDocument:
    """Put a pair into the document `localspec/pair/1`."""
    roles = [("target", pair.target), *([("draft", pair.draft)] if pair.draft else [])]
    return PairDocument(
        pair=look_at(pair).document,
        kind=pair.kind,
        drafter=pair.drafter,
        context=pair.context,
        sampling=pair.sampling.model_dump(exclude_none=True),
        variants=list(pair.variants),
        note=pair.note,
        models=[
            ModelFacts(
                role="target" if role == "target" else "draft",
                source=model.source,
                file=_model_name(model),
                quant=model.quant,
                bytes=model.bytes,
                licence=model.licence,
                gated=model.gated,
                unverified=model.unverified,
                path=_text(find_model(model)),
                rollback=_rollback(find_model(model), pair.context),
            )
            for role, model in roles
        ],
    )


def _text(path: Path | None) -> str | None:
    return str(path) if path else None


def _rollback(path: Path | None, n_ctx: int) -> str | None:
    """Say what a file that is here needs so that guesses can be taken back."""
    if path is None:
        return None
    try:
        header = read_header(path)
    except LocalspecError:
        return None
    return in_words(header, keeping(header, Load(n_ctx), gamma=MAX_GAMMA)) or None


def _facts(document: PairDocument) -> list[tuple[str, str]]:
    pair = document.pair
    sampling = " · ".join(f"{name} {value}" for name, value in document.sampling.items())
    fits = "fits in what is free now" if pair.fits else "does not fit in what is free now"
    rows = [
        ("pair", f"{pair.name} · {document.kind} · context {document.context:,}"),
        ("drafter", document.drafter),
        ("memory", f"about {show_bytes(pair.memory_bytes or 0)} · {fits}"),
        ("sampling", sampling or "the defaults"),
    ]
    for model in document.models:
        gated = " · gated" if model.gated else ""
        doubt = " · not confirmed" if model.unverified else ""
        here = model.path or f"not here: localspec models pull {pair.name}"
        rows.append((model.role, f"{model.file} · {model.quant} · {show_bytes(model.bytes)}"))
        rows.append(("", f"licence {model.licence}{gated}{doubt}"))
        rows.append(("", here))
        rows += [("", f"to take guesses back: {model.rollback}")] if model.rollback else []
    if document.variants:
        rows.append(("layouts", " · ".join(f"{pair.name}@{name}" for name in document.variants)))
    return [*rows, *([("note", document.note)] if document.note else [])]


def _list_drafts(options: ListOptions, common: Common) -> int:
    target = target_file(options.target or "")
    extra = [Path(os.path.expanduser(folder)) for folder in options.folder or ()]
    for folder in extra:
        if not folder.is_dir():
            local_file("--in", str(folder / "*.gguf"))
    beside = [] if _in_a_cache(target) else [target.absolute().parent]
    found = fits_for(read_header(target), local_files(extra=[*beside, *extra]))
    found.sort(key=lambda each: not each.ok)
    if common.json:
        write(to_json(_drafts_document(target, found)))
        return 0
    if not found:
        write(f"no other GGUF file is here; localspec models list shows pairs for {target.name}")
        return 0
    rows = [["fits", "file", "where", "why"]]
    rows += [["yes" if c.ok else "no", c.file.name, _where(c), c.reason] for c in found]
    for line in table(rows, width_of(terminal_of(common)), left=frozenset({0, 1, 2, 3})):
        write(line)
    return 0


def target_file(reference: str) -> Path:
    """Find the file that a pair's name, a reference or a path means.

    Raises: NotHere, OptionError.
    """
    if looks_like_file(reference):
        return local_file("--for", reference)
    if "/" in reference:
        return find_reference(reference)
    return resolve(Request(reference), pairs_here.catalogue()).target.path


def _in_a_cache(path: Path) -> bool:
    """Tell whether a file lies in the hub's cache, which is listed anyway."""
    return "snapshots" in path.parts or "blobs" in path.parts


def _where(candidate: Candidate) -> str:
    tool = candidate.file.tool
    return str(candidate.file.path.parent) if "/" in tool or "\\" in tool else tool


def _drafts_document(target: Path, found: list[Candidate]) -> DraftsDocument:
    return DraftsDocument(
        target=str(target),
        drafts=[
            DraftCandidate(
                path=str(each.file.path),
                tool=each.file.tool,
                name=each.file.name,
                fits=each.ok,
                reason=each.reason,
            )
            for each in found
        ],
    )
