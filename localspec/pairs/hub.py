"""Download the exact files of a pair from the hub, finish what was begun, and prove each file.

The only module that imports huggingface_hub, and only when something is to be fetched. The cache
stays the hub's ordinary one. Does not choose files, and does not show progress: it reports it.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localspec.errors import HubError
from localspec.pairs import hub_errors
from localspec.pairs.hub_cache import (
    PART_SUFFIX,
    RemoteFile,
    cache_folder,
    find_cached,
    repo_folder,
)
from localspec.pairs.memory import show_bytes
from localspec.pairs.transfer import Broken, Patience, Stream, Wanted, digest_of, fetch

DISK_MARGIN_BYTES = 64 * 1024 * 1024
# Answers that another try may turn into a good one.
PASSING = (408, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Hub:
    """Where to fetch from and where to keep it; None means what the environment says."""

    endpoint: str | None = None
    cache: Path | None = None
    offline: bool = False
    patience: Patience = field(default_factory=Patience)

    @property
    def folder(self) -> Path:
        """Give the cache folder."""
        return self.cache or cache_folder()


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One file to have: its size, its hash, and how much of it lies here already."""

    file: RemoteFile
    size: int
    digest: str
    here: int

    @property
    def complete(self) -> bool:
        """Tell whether nothing has to come."""
        return self.here == self.size


@dataclass(frozen=True, slots=True)
class DownloadPlan:
    """All files of one pull together; what a dry run shows."""

    files: tuple[FilePlan, ...]
    free_bytes: int

    @property
    def bytes_total(self) -> int:
        """Give the bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def bytes_to_fetch(self) -> int:
        """Give the bytes still to come."""
        return sum(file.size - file.here for file in self.files)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one file is; `resumed` bytes were here before this run began."""

    file: RemoteFile
    done: int
    size: int
    resumed: int


Report = Callable[[Progress], None]


def plan_download(files: Sequence[RemoteFile], hub: Hub) -> DownloadPlan:
    """Ask the hub for the sizes and hashes of all files.

    Raises: HubError with the cause and the next step.
    """
    plans = tuple(_plan_file(file, hub) for file in dict.fromkeys(files))
    return DownloadPlan(plans, shutil.disk_usage(_existing(hub.folder)).free)


def pull(plan: DownloadPlan, hub: Hub, report: Report) -> list[Path]:
    """Fetch every file of a plan that is not here yet; give their paths in order.

    Raises: HubError before the first byte when the disk is too small for all files together, and
    for each thing that can go wrong on the way.
    """
    lacking = plan.bytes_to_fetch + DISK_MARGIN_BYTES - plan.free_bytes
    if plan.bytes_to_fetch and lacking > 0:
        raise HubError(
            f"the disk has {show_bytes(plan.free_bytes)} free, "
            f"{show_bytes(plan.bytes_to_fetch)} are to come",
            f"free {show_bytes(lacking)}, or set HF_HOME to a larger disk",
        )
    return [_pull_file(file, hub, report) for file in plan.files]


def list_files(repo: str, revision: str, hub: Hub) -> list[tuple[str, int]]:
    """List the GGUF files of a repository with their sizes.

    Raises: HubError with the cause and the next step.
    """
    with _explained(repo, repo, hub):
        api = _library().HfApi(endpoint=hub.endpoint)
        tree = api.list_repo_tree(repo, recursive=True, revision=revision)
        files = [(entry.path, int(getattr(entry, "size", 0) or 0)) for entry in tree]
    return sorted((name, size) for name, size in files if name.lower().endswith(".gguf"))


def verify(path: Path, plan: FilePlan) -> bool:
    """Tell whether a file on disk has the published hash."""
    wanted = Wanted(plan.file.name, plan.size, plan.digest)
    return path.stat().st_size == plan.size and digest_of(path, wanted) == plan.digest


def _library() -> Any:
    """Import the hub library with its own transfer engine, bars and telemetry switched off."""
    for name in ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS"):
        os.environ.setdefault(name, "1")
    import huggingface_hub  # noqa: PLC0415  # slow to import, and only pulling needs it
    import huggingface_hub.constants  # noqa: PLC0415
    import huggingface_hub.errors  # noqa: PLC0415
    import huggingface_hub.utils  # noqa: PLC0415

    return huggingface_hub


def _existing(folder: Path) -> Path:
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _plan_file(file: RemoteFile, hub: Hub) -> FilePlan:
    with _explained(str(file), file.repo, hub):
        library = _library()
        url = library.hf_hub_url(
            file.repo, file.name, revision=file.revision, endpoint=hub.endpoint
        )
        token = library.get_token()
        found = library.get_hf_file_metadata(url, token=token, endpoint=hub.endpoint)
    if found.size is None or not found.etag:
        raise HubError(f"{file}: the server names no size or hash", "check HF_ENDPOINT")
    blobs = repo_folder(file.repo, hub.folder) / "blobs"
    here = found.size if (blobs / found.etag).is_file() else _size(blobs, found.etag)
    return FilePlan(file, found.size, found.etag, min(here, found.size))


def _size(blobs: Path, digest: str) -> int:
    part = blobs / f"{digest}{PART_SUFFIX}"
    return part.stat().st_size if part.is_file() else 0


def _pull_file(plan: FilePlan, hub: Hub, report: Report) -> Path:
    file = plan.file
    folder = repo_folder(file.repo, hub.folder)
    blob = folder / "blobs" / plan.digest
    part = blob.with_name(f"{plan.digest}{PART_SUFFIX}")
    lock = hub.folder / ".locks" / folder.name / f"{plan.digest}.localspec.lock"
    try:
        for path in (blob, lock):
            path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(lock):
            if not blob.is_file():
                _fetch(part, plan, hub, report)
                part.replace(blob)
    except OSError as error:
        raise hub_errors.disk(str(file), error) from error
    report(Progress(file, plan.size, plan.size, plan.here))
    return _link(file, hub)


def _fetch(part: Path, plan: FilePlan, hub: Hub, report: Report) -> None:
    fetch(
        part,
        Wanted(str(plan.file), plan.size, plan.digest),
        lambda offset: _open(plan.file, offset, hub),
        lambda done: report(Progress(plan.file, done, plan.size, plan.here)),
        hub.patience,
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    from filelock import FileLock  # noqa: PLC0415  # only pulling needs it

    with FileLock(path):
        yield


def _link(file: RemoteFile, hub: Hub) -> Path:
    """Let the hub library link the snapshot; it finds the blob and fetches nothing."""
    with _explained(str(file), file.repo, hub):
        library = _library()
        path = library.hf_hub_download(
            file.repo,
            file.name,
            revision=file.revision,
            cache_dir=hub.folder,
            endpoint=hub.endpoint,
        )
    return find_cached(file, hub.folder) or Path(path)


@contextmanager
def _open(file: RemoteFile, offset: int, hub: Hub) -> Iterator[Stream]:
    library = _library()
    import httpx2  # noqa: PLC0415  # the hub library's own client

    url = library.hf_hub_url(file.repo, file.name, revision=file.revision, endpoint=hub.endpoint)
    headers = library.utils.build_hf_headers() | {"Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    wait = httpx2.Timeout(hub.patience.stall_s)
    with _explained(str(file), file.repo, hub):
        try:
            with library.utils.get_session().stream(
                "GET", url, headers=headers, timeout=wait
            ) as answer:
                if answer.status_code in PASSING:
                    raise Broken(f"the hub answered {answer.status_code}")
                library.utils.hf_raise_for_status(answer)
                yield _stream(answer)
        except httpx2.TimeoutException as error:
            raise Broken(f"no byte came for {hub.patience.stall_s:g} s") from error
        except httpx2.ConnectError:
            raise
        except (httpx2.NetworkError, httpx2.RemoteProtocolError) as error:
            raise Broken("the connection broke") from error


def _stream(answer: Any) -> Stream:
    # "bytes 100-199/200" in a partial answer; a whole one starts at 0.
    span = str(answer.headers.get("Content-Range", ""))
    if answer.status_code == 206 and "/" in span:
        start, total = span.removeprefix("bytes ").split("-")[0], span.rsplit("/", 1)[1]
        whole = int(total) if total.isdigit() else None
        return Stream(int(start) if start.isdigit() else -1, whole, answer.iter_raw())
    length = str(answer.headers.get("Content-Length", ""))
    return Stream(0, int(length) if length.isdigit() else None, answer.iter_raw())


@contextmanager
def _explained(what: str, repo: str, hub: Hub) -> Iterator[None]:
    """Turn what the hub library and its client raise into words."""
    library = _library()
    import httpx2  # noqa: PLC0415  # the hub library's own client

    if hub.offline or library.constants.is_offline_mode():
        raise hub_errors.offline(what)
    try:
        yield
    except library.errors.HFValidationError as error:
        raise HubError(f"{repo!r} is no repository name", "write owner/name") from error
    except library.errors.HfHubHTTPError as error:
        headers = error.response.headers
        answer = hub_errors.Answer(
            error.response.status_code,
            headers.get("X-Error-Code", ""),
            headers.get("X-Error-Message", ""),
            library.get_token() is not None,
        )
        # The library's own text holds the address; ours must not, so the chain is cut.
        raise hub_errors.refused(what, repo, answer) from None
    except (httpx2.HTTPError, library.errors.LocalEntryNotFoundError) as error:
        raise hub_errors.network(what, error) from error
