"""A rest saves deciding the same again; it must not outlast a wait, the room, or a change."""

from localspec.core.pace import Pace
from localspec.core.policy import Plan
from localspec.core.probing import Backoff, Credit
from localspec.core.resting import LONGEST, SHORTEST, Rest
from localspec.core.standing import DrafterFacts, Standing

PLAN = Plan(15, ("lookup", "model"), limits=(15, 3))


def parked(wait: int = 0, waited: int = 0) -> Standing:
    return Standing(DrafterFacts("model"), backoff=Backoff(wait, waited))


def copies(*, active: bool = False) -> Standing:
    facts = DrafterFacts("lookup", deterministic=True, match=lambda: 3.0)
    return Standing(facts, active=active)


def rounds(rest: Rest) -> int:
    """Count the rounds after the first that go by the plan."""
    count = 0
    while rest.take(15) is not None:
        count += 1
    return count


def test_a_rest_ends_when_a_wait_is_over() -> None:
    for left, held in ((1, SHORTEST), (9, 9), (500, LONGEST)):
        rest = Rest()
        rest.begin(PLAN, (), [parked(600, 600 - left), copies()])
        assert rounds(rest) == held - 1


def test_a_rest_with_copies_at_work_is_short() -> None:
    rest = Rest()
    rest.begin(PLAN, (), [parked(500), copies(active=True)])
    assert rounds(rest) == SHORTEST - 1


def test_a_plan_is_cut_to_the_room_that_is_left() -> None:
    rest = Rest()
    rest.begin(PLAN, (), [parked(500)])
    assert rest.take(15) == PLAN
    assert rest.take(2) == Plan(2, ("lookup", "model"), limits=(2, 2))
    assert rest.take(0) is None


def test_quiet_rounds_are_told_on_waking_and_a_change_ends_the_rest() -> None:
    standing, rest = parked(500), Rest()
    standing.stale = False
    rest.begin(PLAN, (), [standing])
    for _ in range(3):
        rest.take(15)
        assert rest.doze(changed=False)
    rest.take(15)
    assert not rest.doze(changed=True)
    assert rest.wake([standing], changed=True) == 3
    assert standing.backoff.waited == 3
    assert standing.stale
    assert rest.take(15) is None


def test_plain_rounds_counted_together_weigh_as_one_by_one() -> None:
    together, single = Pace(), Pace()
    for pace in (together, single):
        pace.round(9.0, 3.0)
    together.plain(7)
    for _ in range(7):
        single.round(1.0, 1.0)
    assert abs(together.rate - single.rate) < 1e-12


def test_a_hit_shortens_the_wait_by_how_likely_luck_was() -> None:
    likely, unlikely = Backoff(64, 64), Backoff(64, 64)
    likely.paid(0.5)
    unlikely.paid(0.1)
    assert (likely.wait, unlikely.wait) == (32, 0)


def test_failed_probes_make_the_next_rarer_and_only_an_unlikely_hit_makes_up() -> None:
    credit = Credit()
    for _ in range(10):
        credit.charge(0.5, 0.5, stood=False, known=True, luck=1.0)
    tired = credit.patience
    assert tired < 0.7
    credit.charge(-0.5, 0.5, stood=True, known=True, luck=0.5)
    assert credit.patience == tired
    credit.charge(-0.5, 0.5, stood=True, known=True, luck=0.1)
    assert credit.patience == 1.0
