"""A smaller model with the same vocabulary guesses, token by token.

Its cache is an optimisation nobody else sees: it is only rewound and extended, never read again.
"""

from localspec.core.distribution import Distribution
from localspec.core.draft import NO_DRAFT, Draft, DraftRequest
from localspec.core.events import Step
from localspec.core.sampling import Sampler
from localspec.core.tempering import DraftTemperature, tempered
from localspec.core.tokens import Token, TokenBuffer, Tokens, TokenSequence, sync


class ModelDrafter:
    """Draft from a model of its own, with the sampler that the target's law goes through too.

    The sampler's `usable` must not exceed the target's, so that no id is guessed which the target
    does not have. With a `heat` the laws are tempered as the judged rows teach.
    """

    name: str

    def __init__(
        self,
        sequence: TokenSequence,
        sampler: Sampler,
        *,
        name: str = "model",
        heat: DraftTemperature | None = None,
    ) -> None:
        self.name = name
        self.sequence = sequence
        self.sampler = sampler
        self.heat = heat

    def prefill(self, history: Tokens) -> None:
        """Read the prompt, if it fits the draft's context."""
        if len(history) <= self.sequence.capacity:
            sync(self.sequence, history, 0)

    def propose(self, history: Tokens, request: DraftRequest) -> Draft:
        """Draw tokens one by one; each pass but the first adds one row to the draft's cache."""
        limit = min(request.limit, self.sequence.capacity - len(history) + 1)
        if limit <= 0:
            return NO_DRAFT
        seen = TokenBuffer(history)
        heat = self.heat.value if self.heat else 1.0
        tokens: list[Token] = []
        laws: list[Distribution] = []
        while len(tokens) < limit:
            if tokens and not request.worth_looking(len(tokens)):
                break
            row = sync(self.sequence, seen.view, 1)[-1]
            law = tempered(self.sampler.distribution(row, seen.view), heat)
            if not request.keep_going(len(tokens), law):
                break
            tokens.append(request.pick(law, len(tokens)))
            laws.append(law)
            seen.extend(tokens[-1:])
        return Draft(tuple(tokens), tuple(laws), temperature=heat)

    def observe(self, step: Step) -> None:
        """Learn how sharp the laws should be; the next `sync` repairs the cache."""
        if self.heat and step.laws and step.drafter == self.name:
            self.heat.learn(step.laws, step.judged, step.draft_temperature)
