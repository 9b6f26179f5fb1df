"""A smaller model with the same vocabulary guesses, token by token.

Its cache is an optimisation nobody else sees: it is only rewound and extended, never read again.
"""

from localspec.core.distribution import Distribution
from localspec.core.draft import NO_DRAFT, Draft, DraftRequest
from localspec.core.events import Step
from localspec.core.sampling import Sampler
from localspec.core.tokens import Token, TokenBuffer, Tokens, TokenSequence, sync


class ModelDrafter:
    """Draft from a model of its own, with the sampler that the target's law goes through too.

    The sampler's `usable` must not exceed the target's, so that no id is guessed which the target
    does not have.
    """

    name: str

    def __init__(self, sequence: TokenSequence, sampler: Sampler, *, name: str = "model") -> None:
        self.name = name
        self.sequence = sequence
        self.sampler = sampler

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
        tokens: list[Token] = []
        laws: list[Distribution] = []
        while len(tokens) < limit:
            row = sync(self.sequence, seen.view, 1)[-1]
            law = self.sampler.distribution(row, seen.view)
            if not request.keep_going(len(tokens), law):
                break
            tokens.append(request.pick(law, len(tokens)))
            laws.append(law)
            seen.extend(tokens[-1:])
        return Draft(tuple(tokens), tuple(laws))

    def observe(self, step: Step) -> None:
        """Learn nothing: the next `sync` repairs the cache."""
