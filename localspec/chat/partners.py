"""What a conversation asks of the pair it talks through.

Protocols only: anything that offers these can answer, a scripted stand-in too.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from localspec.core.events import Event
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Baseline
from localspec.core.tokens import Token, Tokens

Message = dict[str, str]
"""One message as chat templates take it: `role` and `content`."""


class Vocabulary(Protocol):
    """Text to ids and ids to bytes."""

    @property
    def eog(self) -> frozenset[Token]:
        """Give the ids that end an answer."""
        ...

    def piece(self, token: Token, special: bool = False) -> bytes:
        """Give a token's bytes."""
        ...

    def tokenize(self, text: str, *, special: bool, bos: bool) -> list[Token]:
        """Turn text into ids; `bos` honours the header's wish for exactly one BOS."""
        ...


class Template(Protocol):
    """The target's own chat template."""

    def prompt_ids(
        self, messages: list[Message], add_generation_prompt: bool = True
    ) -> Sequence[Token]:
        """Turn messages into the ids of a prompt, BOS included."""
        ...


class Cancel(Protocol):
    """A flag that stops a running answer, prefill included."""

    def is_set(self) -> bool:
        """Say whether the answer shall stop."""
        ...

    def set(self) -> None:
        """Ask the answer to stop."""
        ...

    def clear(self) -> None:
        """Take that back."""
        ...


class Settings(Protocol):
    """What a conversation looks at of a run's settings."""

    @property
    def max_tokens(self) -> int:
        """Give the longest answer in tokens; 0 means until it stops."""
        ...

    @property
    def gamma(self) -> int | None:
        """Give the drafted tokens a pass; None is auto."""
        ...

    @property
    def drafters(self) -> tuple[str, ...]:
        """Give the chain of drafters."""
        ...

    @property
    def sampling(self) -> SamplingParams:
        """Give the law asked for."""
        ...


class Facts(Protocol):
    """What the first lines of a conversation say about the run."""

    @property
    def name(self) -> str:
        """Give the pair's name."""
        ...

    @property
    def target(self) -> str:
        """Give the target in words."""
        ...

    @property
    def draft(self) -> str:
        """Give the draft in words."""
        ...

    @property
    def drafter(self) -> str:
        """Give the drafters in words."""
        ...

    @property
    def gamma(self) -> str:
        """Give gamma in words."""
        ...

    @property
    def sampling(self) -> str:
        """Give the law and the seed in words."""
        ...


class Runtime(Protocol):
    """A loaded pair with its present settings; one answer at a time."""

    baseline: Baseline
    seed: int

    @property
    def settings(self) -> Settings:
        """Give the present settings."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Give the target's vocabulary."""
        ...

    @property
    def template(self) -> Template | None:
        """Give the chat template; None when the file has none."""
        ...

    @property
    def capacity(self) -> int:
        """Give the tokens the context holds."""
        ...

    @property
    def cancel(self) -> Cancel:
        """Give the flag that stops an answer."""
        ...

    def generate(self, prompt: Tokens, *, plain: bool = False) -> Iterator[Event]:
        """Write an answer after `prompt`; clears `cancel` when called, not when advanced."""
        ...

    def set_drafters(self, names: tuple[str, ...]) -> None:
        """Use other drafters from the next answer on."""
        ...

    def set_gamma(self, gamma: int | None) -> None:
        """Use another gamma from the next answer on."""
        ...

    def set_sampling(self, sampling: SamplingParams) -> None:
        """Use another law from the next answer on."""
        ...

    def describe(self) -> Facts:
        """Say in words what is loaded and chosen."""
        ...

    def reason(self) -> str:
        """Say why drafting is off at the moment; empty while it is on."""
        ...
