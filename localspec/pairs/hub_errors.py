"""What went wrong with the hub, in words, with the next step for each cause.

Knows status codes, the hub's own error names and the usual network failures. Never shows an
address, a header or a token.
"""

import errno
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.request import getproxies

from localspec.errors import HubError


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusing answer: its status and the hub's words for it; `known` tells of a token."""

    status: int
    code: str
    words: str
    known: bool


def refused(what: str, repo: str, answer: Answer) -> HubError:
    """Say what a refusing answer means, and what to do."""
    gated = answer.code == "GatedRepo" or (
        answer.status in (401, 403) and "gated" in answer.words.lower()
    )
    if gated or answer.status == 403:
        return _gated(what, repo, answer)
    if answer.status == 401:
        return _unauthorised(repo, answer)
    if answer.status == 404:
        return _missing(what, repo, answer)
    if answer.status == 429:
        return HubError(f"{what}: the hub asks to slow down", "wait some minutes and run it again")
    return HubError(f"{what}: the hub answered {answer.status}", "try again later")


def _gated(what: str, repo: str, answer: Answer) -> HubError:
    if not answer.known:
        return HubError(
            f"{repo} asks you to accept its licence, and no token is set",
            f"accept it on the page of {repo}, then `hf auth login`, or set HF_TOKEN",
        )
    if "fine-grained" in answer.words.lower() or "permission" in answer.words.lower():
        return HubError(
            f"the token may not read gated repositories such as {repo}",
            "give the token the right to read public gated repositories, in its settings",
        )
    return HubError(
        f"{what}: access to {repo} is not granted to this account",
        f"accept the licence on the page of {repo} with the account the token belongs to",
    )


def _unauthorised(repo: str, answer: Answer) -> HubError:
    if answer.known and "invalid" in answer.words.lower():
        return HubError(
            "the hub does not accept the token", "`hf auth login` again, or unset HF_TOKEN"
        )
    hint = "check the spelling" + ("" if answer.known else "; if it is private, `hf auth login`")
    return HubError(f"no repository {repo} that may be read here", hint)


def _missing(what: str, repo: str, answer: Answer) -> HubError:
    if answer.code == "RepoNotFound":
        return HubError(f"no repository {repo}", "check the spelling of owner and name")
    if answer.code == "RevisionNotFound":
        return HubError(f"{repo} has no such revision", "leave the revision out, or look it up")
    hint = f"look at the files of {repo}: names are exact, with upper and lower case"
    return HubError(f"no file {what}", hint)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def network(what: str, error: Exception) -> HubError:
    """Say why the network failed."""
    causes = list(_causes(error))
    texts = " ".join(str(cause) for cause in causes)
    if any(isinstance(cause, ssl.SSLError) for cause in causes) or "CERTIFICATE" in texts:
        return HubError(
            f"{what}: the server's certificate is not trusted",
            "behind a company proxy set SSL_CERT_FILE to its certificate; checks stay on",
        )
    if getproxies() or any("Proxy" in type(cause).__name__ for cause in causes):
        return HubError(
            f"{what}: the hub behind the proxy cannot be reached, or the proxy cannot be reached",
            "check HTTPS_PROXY and NO_PROXY",
        )
    return HubError(
        f"{what}: the hub cannot be reached",
        "check the network; behind a proxy set HTTPS_PROXY; `--offline` uses what is here",
    )


def disk(what: str, error: OSError) -> HubError:
    """Say why the disk failed."""
    if error.errno == errno.ENOSPC:
        return HubError(f"{what}: the disk is full", "free some space and run it again: it goes on")
    return HubError(f"{what}: cannot write ({error.strerror})", "check HF_HOME and its permissions")


def offline(what: str) -> HubError:
    """Say that the network may not be used."""
    return HubError(
        f"{what} is not here and we are offline", "unset HF_HUB_OFFLINE, drop --offline"
    )
