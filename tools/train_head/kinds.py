"""From kept chats to a file of heads, for each kind of them.

Knows which steps a kind takes and what its file says of how it was made. Needs torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from localspec.runtime.settings import EAGLE3, MEDUSA
from tools.eagle3_writer import write_eagle3
from tools.medusa_writer import Writing, write_medusa
from tools.train_head.dataset import load_chats
from tools.train_head.eagle3 import Eagle3, Eagle3Training
from tools.train_head.eagle3_start import shape_of
from tools.train_head.loop import Loop, Schedule
from tools.train_head.medusa import Medusa, Training
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

    def left(self) -> float:
        """Give the seconds that are left of this call; 0 where there is no limit."""
        return 0.0 if self.end == float("inf") else max(self.end - monotonic(), 1e-9)

    def schedule(self) -> Schedule:
        """Give the steps, and the time to take them in."""
        return Schedule(self.steps, self.seed, self.threads, self.left())


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
    data = load_chats(job.chats)
    trainee = Medusa(job.target, data, Training(heads=job.guesses, ids=job.ids))
    if not Loop(trainee, job.schedule(), job.work).run():
        return False
    heads = trainee.taken()
    notes = _notes(job, f"{len(heads)} heads, {len(heads.ids)} ids, {len(data.train)} tokens")
    stored = Writing(job.type, job.type, licence=licence_of(job.target), notes=notes)
    write_medusa(job.out, heads, job.target, stored)
    return True


def _check_eagle3(job: Job) -> None:
    check_shown(job.target, shape_of(job.target, job.layers).layers)


def _make_eagle3(job: Job) -> bool:
    shape = shape_of(job.target, job.layers)
    if not gather(job.target, job.chats, shape.layers, threads=job.threads, end=job.end):
        return False
    how, chats = Eagle3Training(ids=job.ids, unroll=job.guesses), Chats(job.chats, shape.layers)
    trainee = Eagle3(job.target, chats, shape, how=how, seed=job.seed)
    if not Loop(trainee, job.schedule(), job.work).run():
        return False
    head = trainee.taken()
    made = f"unrolled to {how.unroll}, {len(head.ids)} ids, {len(chats)} tokens"
    write_eagle3(job.out, head, job.target, kind=job.type, notes=_notes(job, made))
    return True


def _notes(job: Job, made: str) -> str:
    return f"trained by tools.train_head, seed {job.seed}, {job.steps} steps, {made}"


KINDS = {
    MEDUSA: Kind(_any_target, _make_medusa),
    EAGLE3: Kind(_check_eagle3, _make_eagle3),
}
