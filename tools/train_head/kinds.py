"""From kept chats to a file of heads, for each kind of them.

Knows which steps a kind takes and what its file says of how it was made. Needs torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tools.eagle3_writer import write_eagle3
from tools.medusa_writer import Writing, write_medusa
from tools.train_head.dataset import load_chats
from tools.train_head.eagle3 import Eagle3Training, train_eagle3
from tools.train_head.eagle3_start import shape_of
from tools.train_head.loop import Schedule
from tools.train_head.medusa import Training, train
from tools.train_head.states import check_shown, gather
from tools.train_head.target import licence_of
from tools.train_head.windows import Chats


@dataclass(frozen=True)
class Job:
    """What to make, and from what.

    `guesses` is the number of Medusa heads, or of the tokens that an EAGLE-3 head's drafts are
    unrolled to; `layers` are the blocks an EAGLE-3 head reads, None for the usual ones. Units:
    `end` on the monotonic clock.
    """

    target: Path
    out: Path
    work: Path
    ids: int
    guesses: int
    steps: int
    seed: int
    threads: int
    type: str
    layers: tuple[int, ...] | None = None
    end: float = float("inf")

    @property
    def chats(self) -> Path:
        """Give the folder of chats."""
        return self.work / "chats"

    def schedule(self) -> Schedule:
        """Give what is left of this call's time to train in."""
        seconds = 0.0 if self.end == float("inf") else max(self.end - monotonic(), 1e-9)
        return Schedule(self.steps, self.seed, self.threads, seconds)


@dataclass(frozen=True)
class Kind:
    """The parts of a kind: `check` a target before chats are written, `make` the file of heads.

    `make` says whether the file is written; time may be up before.
    """

    check: Callable[[Job], None]
    make: Callable[[Job], bool]


def _any_target(job: Job) -> None:
    """Take every target that can chat."""
    del job


def _make_medusa(job: Job) -> bool:
    how = Training(heads=job.guesses, ids=job.ids)
    data = load_chats(job.chats)
    heads = train(job.target, data, folder=job.work, how=how, schedule=job.schedule())
    if heads is None:
        return False
    notes = _notes(job, f"{len(heads)} heads, {len(heads.ids)} ids, {len(data.train)} tokens")
    how_written = Writing(job.type, job.type, licence=licence_of(job.target), notes=notes)
    write_medusa(job.out, heads, job.target, how_written)
    return True


def _check_eagle3(job: Job) -> None:
    check_shown(job.target, shape_of(job.target, job.layers).layers)


def _make_eagle3(job: Job) -> bool:
    shape = shape_of(job.target, job.layers)
    if not gather(job.target, job.chats, shape.layers, threads=job.threads, end=job.end):
        return False
    how, chats = Eagle3Training(ids=job.ids, unroll=job.guesses), Chats(job.chats, shape.layers)
    head = train_eagle3(job.target, chats, shape, folder=job.work, how=how, schedule=job.schedule())
    if head is None:
        return False
    made = f"unrolled to {how.unroll}, {len(head.ids)} ids, {len(chats)} tokens"
    write_eagle3(job.out, head, job.target, kind=job.type, notes=_notes(job, made))
    return True


def _notes(job: Job, made: str) -> str:
    return f"trained by tools.train_head, seed {job.seed}, {job.steps} steps, {made}"


KINDS = {
    "medusa": Kind(_any_target, _make_medusa),
    "eagle3": Kind(_check_eagle3, _make_eagle3),
}
