"""What each round teaches about costs: which seconds belong to a pass, a call, or a draft token.

Knows the round at hand and the cost model. Decides nothing.
"""

from collections.abc import Mapping, Sequence

from localspec.core.costs import CostModel
from localspec.core.events import Step
from localspec.core.standing import Round, Standing
from localspec.core.switching import Switching

SOME = 4
MANY = 64


class Lessons:
    """Tell a cost model what passes and drafts took."""

    def __init__(self) -> None:
        self._switching = Switching()
        self._rounds = 0

    def table(self, costs: CostModel, position: int) -> Sequence[float]:
        """Give v(1), v(2), ..., with what a change of width makes the next pass pay."""
        return self._switching.on(costs.table(position))

    def learn(
        self, costs: CostModel, step: Step, now: Round, standings: Mapping[str, Standing]
    ) -> None:
        """Learn from a round.

        Of plain passes that no model was asked about one in a few is enough, once many were seen.
        """
        asker = now.asker
        silent = not step.drafted and (asker is None or asker.facts.deterministic)
        self._rounds += 1
        enough = costs.passes > MANY and self._rounds % SOME > 0
        if silent and enough and not now.baseline:
            self._switching.pass_by(step)
            return
        seconds = self._switching.seconds(step, costs.one_row_s)
        costs.saw_pass(step.drafted + 1, step.position, seconds)
        standing = standings.get(step.drafter) or asker
        if standing is None:
            return
        name = standing.facts.name
        if standing.facts.deterministic:
            costs.saw_call(name, step.draft_s)
            return
        lag = (step.position - standing.read) * standing.facts.reads
        costs.saw_draft(name, now.asked.get(name, step.drafted), step.draft_s, lag=lag)
        standing.read = step.position
