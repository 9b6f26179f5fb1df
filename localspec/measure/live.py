"""The runner of a real pair: every answer from cold caches, by the loop that chat uses.

Knows a loaded pair. Does not know what the answers are compared for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from localspec.core.events import Event
from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.tokens import Tokens, TokenSequence, sync
from localspec.measure.arms import Arm, Kind, Prompt, Slot
from localspec.measure.texts import Text, Texts
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import RunSettings
from localspec.runtime.speculation import Workshop

ANSWER_TOKENS = 64
PROBES = 9
PROBE_CONTEXT = 64
LONGEST_PROMPT = 384


@dataclass
class LiveRunner:
    """Answer with a runtime. `probe_text`: ids of real text for the plain pass that is repeated.

    A policy lives as long as its arm and kind, as it lives as long as a conversation in chat; it
    remembers costs and chances, never text.
    """

    runtime: Runtime
    probe_text: Tokens = field(repr=False)
    max_tokens: int = ANSWER_TOKENS
    _known: dict[tuple[Arm, str], Speculation] = field(default_factory=dict, repr=False)

    def answer(self, slot: Slot) -> Iterator[Event]:
        """Answer with empty caches."""
        self.reset()
        speculation = self._speculation(slot.arm, slot.kind)
        target = self.runtime.loaded.target
        return generate(target, slot.prompt.ids, self.options(slot), speculation=speculation)

    def reset(self) -> None:
        """Empty every cache."""
        for context in self.runtime.loaded.contexts:
            context.rewind(0)

    def settings(self, arm: Arm) -> RunSettings:
        """Give the settings of an arm."""
        own = self.runtime.settings
        sampling = replace(own.sampling, temperature=arm.temperature)
        return replace(own, drafters=arm.drafters, gamma=arm.gamma, sampling=sampling)

    def _speculation(self, arm: Arm, kind: str) -> Speculation:
        known = self._known.get((arm, kind))
        if known is None:
            known = self._known[arm, kind] = self.speculation(arm)
        return known

    def speculation(self, arm: Arm, *, draft: TokenSequence | None = None) -> Speculation:
        """Make an arm's drafters and policy anew, to draft on `draft` if it is given."""
        made = Workshop(self.runtime.loaded, draft=draft).speculation(self.settings(arm))
        if arm.gamma is None:
            return made
        order = tuple(drafter.name for drafter in made.drafters)
        # a fixed arm takes no plain passes in between
        return Speculation(FixedPolicy(arm.gamma, order), made.drafters)

    def options(self, slot: Slot) -> GenerateOptions:
        """Give the request that a slot makes."""
        sampling = replace(self.runtime.settings.sampling, temperature=slot.arm.temperature)
        return replace(
            self.runtime.options(),
            max_tokens=self.max_tokens,
            sampling=sampling,
            seed=slot.seed,
            keep_laws=slot.arm.plain,
        )

    def probe_s(self) -> float:
        """Give the seconds of one plain pass, the median of a few."""
        target = self.runtime.loaded.target
        context = min(PROBE_CONTEXT, len(self.probe_text) - 1, target.capacity - 2)
        self.reset()
        taken = []
        for _ in range(PROBES):
            sync(target, self.probe_text[:context], 0)
            begun = perf_counter()
            target.extend(self.probe_text[context : context + 1], 1)
            taken.append(perf_counter() - begun)
        return float(np.median(taken))

    def top_two_gap(self, slot: Slot, tokens: Sequence[int]) -> float | None:
        """Give the difference of the two largest logits after the prompt and these tokens."""
        self.reset()
        history = np.concatenate([slot.prompt.ids, np.array(tokens, np.int32)]).astype(np.int32)
        row = sync(self.runtime.loaded.target, history, 1)[-1]
        second, first = np.partition(row, -2)[-2:]
        return float(first - second)


def prompts_of(texts: Texts, runtime: Runtime, *, raw: bool = False) -> Kind:
    """Turn a kind of text into ids: through the chat template, or as it is.

    Texts to be continued never go through the template. Equal ids stand once.
    """
    name = f"{texts.name} (raw)" if raw else texts.name
    made: dict[bytes, Prompt] = {}
    for number, text in enumerate(texts.prompts, 1):
        ids = np.array(_ids(text, runtime, raw), np.int32)
        made.setdefault(ids.tobytes(), Prompt(name, ids, f"{texts.name} {number}"))
    return Kind(name, tuple(made.values()))


def _ids(text: Text, runtime: Runtime, raw: bool) -> list[int]:
    if raw or text.continued or runtime.template is None:
        found = runtime.vocabulary.tokenize(text.words, special=False, bos=True)
        return found[: min(LONGEST_PROMPT, runtime.capacity // 2)]
    return runtime.template.prompt_ids([{"role": "user", "content": text.words}])
