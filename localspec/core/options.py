"""What one answer is asked to be: the object that goes from the command line to the loop.

Each default that the core knows has its home here or in `SamplingParams`.
"""

from dataclasses import dataclass, field

from localspec.core.rules import RuleName
from localspec.core.sampling import DEFAULT_SAMPLING, SamplingParams
from localspec.core.tokens import Token

DEFAULT_STRICT_ROWS = 8


@dataclass(frozen=True)
class GenerateOptions:
    """One request.

    Units: `max_tokens` 0 means until the model stops or the context is full. `ends`: the target's
    end-of-generation ids. `keep_laws` attaches every round's laws to its `Step`.
    """

    max_tokens: int = 0
    rule: RuleName = RuleName.BLOCK
    sampling: SamplingParams = DEFAULT_SAMPLING
    seed: int = 0
    ends: frozenset[Token] = field(default=frozenset(), repr=False)
    usable: int | None = None
    banned: tuple[Token, ...] = ()
    keep_laws: bool = False
