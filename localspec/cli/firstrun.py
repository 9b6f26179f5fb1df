"""The first run: `localspec chat` and nothing more. One pair is proposed, once.

Knows the catalogue, free memory and cores. Does not open a model.
"""

from collections.abc import Iterable

from localspec.cli import pairs_here
from localspec.cli.notes import Notes
from localspec.core.counted import counted
from localspec.errors import HubError, NotHere
from localspec.measure.machine import Machine, this_machine
from localspec.pairs.catalogue import Pair
from localspec.pairs.memory import show_bytes
from localspec.runtime.demo_pair import NAME as DEMO
from localspec.runtime.settings import READY

# Every pass reads the whole target. Two cores of a small server read about 12 GB a second, so at
# this many bytes a core a pass takes about a fifth of a second: still pleasant to read along.
BYTES_A_CORE = 1_200_000_000
SHARE = 0.8
LIKED = ("general", "multilingual", "reasoning", "code")


def propose(pairs: Iterable[Pair], machine: Machine) -> Pair | None:
    """Choose the pair to propose: the largest that fits, is quick enough and free for all.

    One that is here already comes before any other.
    """
    room = int(machine.available_bytes * SHARE)
    quick = BYTES_A_CORE * machine.threads
    fitting = [
        pair
        for pair in pairs
        if pair.name != DEMO
        and pair.drafter in READY
        and pair.memory_bytes <= room
        and pair.target.bytes <= quick
        and not any(model.gated for model in pair.models)
    ]
    return max(fitting, key=_liking, default=None)


def _liking(pair: Pair) -> tuple[bool, int, bool, int]:
    return (
        pairs_here.is_here(pair),
        pair.target.bytes,
        not pair.unverified,
        -LIKED.index(pair.kind) if pair.kind in LIKED else -len(LIKED),
    )


def first_pair(notes: Notes, *, yes: bool, offline: bool) -> str:
    """Give the name of the pair to talk to, downloaded by now.

    Raises: NotHere when nobody may be asked, nothing fits, or the answer was no; HubError.
    """
    machine = this_machine()
    pair = propose(pairs_here.catalogue().pairs.values(), machine)
    demo = "localspec chat demo needs no download"
    if pair is None:
        free = show_bytes(machine.available_bytes)
        raise NotHere(f"no pair is named, and none of the catalogue fits in {free}", demo)
    asking = yes or pairs_here.on_a_terminal()
    if pairs_here.is_here(pair) and asking:
        notes.say(f"{pair.name} is here already; localspec models list shows what else there is")
        return pair.name
    if not asking or pairs_here.no_network(offline):
        raise NotHere(
            "no pair is named",
            f"localspec models pull {pair.name} ({pairs_here.describe_fetch(pair)}), "
            f"then localspec chat {pair.name}; or localspec chat demo",
        )
    return _asked(pair, machine, notes, yes=yes)


def _asked(pair: Pair, machine: Machine, notes: Notes, *, yes: bool) -> str:
    free, cores = show_bytes(machine.available_bytes), machine.threads
    threads = counted(cores, "thread")
    notes.say(f"{free} of memory is free, {threads} of {machine.processor}.")
    question = f"{pair.name} fits ({pair.kind}). Download {pairs_here.describe_fetch(pair)}?"
    if not yes and not pairs_here.confirm(question):
        raise NotHere("nothing was downloaded", "localspec chat demo needs no download")
    try:
        pairs_here.fetch(pair, notes)
    except HubError as failure:
        hint = f"{failure.hint}; " if failure.hint else ""
        raise HubError(failure.message, f"{hint}localspec chat demo needs no network") from failure
    return pair.name
