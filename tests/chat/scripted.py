"""A pair that says what it is told to: one token a byte, rounds of a chosen size and cost."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from types import SimpleNamespace

import numpy as np

from localspec.core.events import Event, Finish, FinishReason, Notice, Origin, Prefill, Step
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Baseline
from localspec.errors import LocalspecError

EOG = 256
BOS = 257
ROLES = {"system": 258, "user": 259, "assistant": 260}
END = 261


class ByteVocabulary:
    """Every byte is a token, so every character of several bytes is split."""

    eog = frozenset({EOG})

    def piece(self, token: int, special: bool = False) -> bytes:
        return bytes([token]) if token < 256 else b""

    def tokenize(self, text: str, *, special: bool, bos: bool) -> list[int]:
        return [BOS] * bos + list(text.encode())


class RoleTemplate:
    """Role marker, bytes, end marker; the structure is easy to check."""

    def prompt_ids(
        self, messages: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> list[int]:
        ids = [BOS]
        for message in messages:
            ids += [ROLES[message["role"]], *message["content"].encode(), END]
        return ids + [ROLES["assistant"]] * add_generation_prompt


class Cancelled(LocalspecError):
    """What an engine raises when a prefill is stopped."""


@dataclass(frozen=True)
class Settings:
    max_tokens: int = 0
    gamma: int | None = None
    drafters: tuple[str, ...] = ("auto",)
    sampling: SamplingParams = field(default_factory=SamplingParams)


@dataclass
class ScriptedRuntime:
    """Answers with `script(prompt ids)`; every round writes `block` tokens and takes `pass_s`.

    Every fifth round is plain. `sleep` makes the seconds pass for real.
    """

    script: Callable[[np.ndarray], bytes]
    block: int = 4
    pass_s: float = 0.02
    capacity: int = 4096
    sleep: bool = False
    prefill_s: float = 0.0
    notice: str = ""
    seed: int = 4711
    template: object | None = field(default_factory=RoleTemplate)
    settings: Settings = field(default_factory=Settings)
    baseline: Baseline = field(default_factory=Baseline)
    why_off: str = ""

    def __post_init__(self) -> None:
        self.vocabulary = ByteVocabulary()
        self.cancel = Flag()
        self.prompts: list[list[int]] = []

    def generate(self, prompt: np.ndarray, *, plain: bool = False) -> Iterator[Event]:
        self.cancel.clear()
        self.prompts.append(prompt.tolist())
        return self._events(prompt, plain or self.settings.drafters == ("none",))

    def _events(self, prompt: np.ndarray, plain: bool) -> Iterator[Event]:
        self._wait(self.prefill_s)
        if self.cancel.is_set():
            raise Cancelled("stopped")
        yield Prefill(len(prompt), 0, self.prefill_s)
        if self.notice:
            yield Notice(self.notice)
        tokens = [*self.script(prompt), EOG]
        limit = self.settings.max_tokens or len(tokens)
        done, position, number = 0, len(prompt), 0
        while done < min(limit, len(tokens)):
            size = 1 if plain or number % 5 == 0 else self.block
            size = min(size, limit - done, len(tokens) - done, self.capacity - position)
            self._wait(self.pass_s)
            yield self._step(tuple(tokens[done : done + size]), position)
            done, position, number = done + size, position + size, number + 1
            if position >= self.capacity:
                yield Finish(FinishReason.CONTEXT)
                return
        yield Finish(FinishReason.STOP if done == len(tokens) else FinishReason.LENGTH)

    def _step(self, tokens: tuple[int, ...], position: int) -> Step:
        guessed = len(tokens) - 1
        return Step(
            tokens=tokens,
            origins=(Origin.DRAFT,) * guessed + (Origin.TARGET,),
            position=position,
            drafter="lookup" if guessed else "",
            drafted=guessed + (guessed > 0),
            judged=guessed + (guessed > 0),
            accepted=guessed,
            draft_s=self.pass_s / 4 if guessed else 0.0,
            verify_s=self.pass_s * 3 / 4 if guessed else self.pass_s,
            baseline=not guessed,
        )

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.sleep and time.monotonic() < end and not self.cancel.is_set():
            time.sleep(min(0.01, seconds))

    def set_drafters(self, names: tuple[str, ...]) -> None:
        self.settings = replace(self.settings, drafters=names)

    def set_gamma(self, gamma: int | None) -> None:
        self.settings = replace(self.settings, gamma=gamma)

    def set_sampling(self, sampling: SamplingParams) -> None:
        self.settings = replace(self.settings, sampling=sampling)

    def describe(self) -> SimpleNamespace:
        gamma = self.settings.gamma
        return SimpleNamespace(
            name="scripted",
            target="bytes 1B, CPU 2 threads",
            draft="no draft model",
            drafter=",".join(self.settings.drafters),
            gamma="auto" if gamma is None else str(gamma),
            sampling=f"temp {self.settings.sampling.temperature:g}, seed {self.seed}",
        )

    def reason(self) -> str:
        return self.why_off


def saying(*answers: str) -> Callable[[np.ndarray], bytes]:
    """Answer turn n with answers[n], the last one from then on."""

    def script(prompt: np.ndarray) -> bytes:
        turn = int(np.count_nonzero(prompt == ROLES["user"])) - 1
        return answers[min(max(turn, 0), len(answers) - 1)].encode()

    return script
