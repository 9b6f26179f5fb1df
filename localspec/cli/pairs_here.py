"""The catalogue as this user has it, and fetching one of its pairs when that was asked for.

Knows the user's models file, the hub and a yes. Chooses no pair, and opens no model.
"""

import os
import sys
from pathlib import Path

from localspec.cli.notes import Notes
from localspec.errors import NotHere
from localspec.pairs.catalogue import Catalogue, Pair, load_catalogue
from localspec.pairs.hub import Hub, pull
from localspec.pairs.memory import show_bytes
from localspec.pairs.resolve import find_model
from localspec.pairs.store import plan_pull
from localspec.runtime.folders import config_dir
from localspec.ui.progress import Downloads
from localspec.ui.terminal import open_terminal

OWN = "models.toml"
YES = ("", "y", "yes")
OFFLINE = ("1", "ON", "YES", "TRUE")


def own_models() -> Path:
    """Give the place of the user's own pairs."""
    return config_dir() / OWN


def catalogue() -> Catalogue:
    """Read the shipped pairs, and the user's own over them.

    Raises: OptionError.
    """
    return load_catalogue(own_models())


def is_here(pair: Pair) -> bool:
    """Tell whether every file of a pair is on this disk."""
    return all(find_model(model) for model in pair.models)


def missing_bytes(pair: Pair) -> int:
    """Give the bytes of the models that are not here."""
    return sum(model.bytes for model in pair.models if find_model(model) is None)


def on_a_terminal() -> bool:
    """Tell whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def no_network(offline: bool | None) -> bool:
    """Tell whether the hub may not be asked: by --offline, or by the hub's own variable."""
    return bool(offline) or os.environ.get("HF_HUB_OFFLINE", "").upper() in OFFLINE


def confirm(question: str) -> bool:
    """Ask on stderr; Enter means yes, the end of input means no."""
    sys.stderr.write(f"{question} [Y/n] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    return bool(answer) and answer.strip().casefold() in YES


def describe_fetch(pair: Pair) -> str:
    """Say what fetching a pair means: size and licences."""
    licences = " and ".join(dict.fromkeys(model.licence for model in pair.models))
    gated = ", gated: its makers ask you to agree first" if _gated(pair) else ""
    return f"{show_bytes(missing_bytes(pair))}, licence {licences}{gated}"


def _gated(pair: Pair) -> bool:
    return any(model.gated for model in pair.models)


def fetch(pair: Pair, notes: Notes, *, color: str = "auto") -> list[Path]:
    """Download what is missing of a pair, with progress on stderr.

    Raises: HubError.
    """
    hub = Hub()
    notes.say(f"asking the hub about {pair.name} …")
    plan = plan_pull(pair, hub)
    with Downloads(plan, open_terminal(color), quiet=notes.quiet) as report:
        return pull(plan, hub, report)


def offer(pair: Pair, reference: str, notes: Notes, *, yes: bool, offline: bool) -> None:
    """Fetch a pair that is not here, if the user says yes.

    Raises: NotHere with the command to type when nobody may be asked or the answer is no;
    HubError.
    """
    refusal = NotHere(
        f"{pair.name} is not here ({describe_fetch(pair)})", f"localspec models pull {reference}"
    )
    if no_network(offline) or not any(model.remote for model in pair.models):
        raise refusal
    if not yes and not on_a_terminal():
        raise refusal
    if not yes and not confirm(f"{pair.name} is not here. Download {describe_fetch(pair)}?"):
        raise refusal
    fetch(pair, notes)
