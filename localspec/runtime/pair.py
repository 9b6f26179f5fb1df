"""A pair made ready: settings turned into answers, and changed between them without a reload.

Knows engine, drafters and the fit check through its neighbours. Does not know conversations,
measurements or screens.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from threading import Event as Flag

from localspec.core.adaptive import AdaptivePolicy
from localspec.core.draft import Drafter
from localspec.core.events import Event
from localspec.core.generate import generate
from localspec.core.judge import Judge
from localspec.core.options import GenerateOptions
from localspec.core.sampling import SamplingParams
from localspec.core.tally import Baseline
from localspec.core.tokens import Token, Tokens
from localspec.engine.template import ChatTemplate
from localspec.engine.vocabulary import Vocabulary
from localspec.errors import OptionError
from localspec.runtime.calibration import recall_threads
from localspec.runtime.describe import NO_DRAFT, in_words
from localspec.runtime.folders import cache_dir, unwritable
from localspec.runtime.habits import keep_habits, kept_habits
from localspec.runtime.loading import Loaded, Notify, Progress, load_pair, unseen
from localspec.runtime.settings import NONE, RunSettings
from localspec.runtime.speculation import Workshop


@dataclass(frozen=True)
class PairFacts:
    """What the first lines of a conversation say about the run."""

    name: str
    target: str
    draft: str
    drafter: str
    gamma: str
    sampling: str


@dataclass(frozen=True)
class BoundTemplate:
    """A chat template with the vocabulary its texts are turned into ids by."""

    template: ChatTemplate
    vocabulary: Vocabulary

    def prompt_ids(
        self, messages: Sequence[Mapping[str, str]], add_generation_prompt: bool = True
    ) -> list[Token]:
        """Give the ids of a conversation, with exactly the BOS that the header asks for."""
        return self.template.prompt_ids(
            self.vocabulary, messages, add_generation_prompt=add_generation_prompt
        )


@contextmanager
def open_runtime(
    settings: RunSettings, notify: Notify, *, progress: Progress = unseen
) -> Iterator["Runtime"]:
    """Load a pair and give it ready to write; close everything afterwards.

    `progress` is told what is loaded, and which share of it is there.

    Raises: NotHere, PairRefused, OptionError.
    """
    if settings.drafters != (NONE,) and (reason := unwritable(cache_dir())):
        notify(f"{reason}: nothing measured is kept; LOCALSPEC_CACHE=FOLDER chooses another folder")
    with ExitStack() as resources:
        loaded = load_pair(settings, notify, resources, progress=progress)
        progress("getting ready", None)
        runtime = Runtime(settings, loaded, notify)
        try:
            yield runtime
        finally:
            runtime.remember()


class Runtime:
    """A loaded pair with its present settings; one answer at a time."""

    def __init__(self, settings: RunSettings, loaded: Loaded, notify: Notify) -> None:
        self.loaded = loaded
        self.baseline = Baseline()
        self.cancel = Flag()
        for context in loaded.contexts:
            context.cancel = self.cancel
        recall_threads(loaded)
        self.seed = settings.seed if settings.seed is not None else secrets.randbits(31)
        self._workshop = Workshop(loaded, notify, known=kept_habits(loaded))
        self._plain = self._workshop.plain()
        self.settings = settings
        self._speculation = self._workshop.speculation(settings)

    @property
    def vocabulary(self) -> Vocabulary:
        """Give the target's vocabulary."""
        return self.loaded.model.vocabulary

    @property
    def template(self) -> "BoundTemplate | None":
        """Give the target's chat template; None when the file has none."""
        template = self.loaded.template
        return BoundTemplate(template, self.vocabulary) if template else None

    @property
    def capacity(self) -> int:
        """Give the tokens the context holds."""
        return self.loaded.target.capacity

    def generate(
        self, prompt: Tokens, *, plain: bool = False, judge: Judge | None = None
    ) -> Iterator[Event]:
        """Write an answer after `prompt`; `plain` leaves the drafters out this once.

        `judge` takes the place of the one that rule and seed make.
        """
        self.cancel.clear()
        speculation = self._plain if plain else self._speculation
        options = self.options()
        return generate(self.loaded.target, prompt, options, speculation=speculation, judge=judge)

    def remember(self) -> None:
        """Keep for the next session how often the drafters were accepted."""
        keep_habits(self.loaded, self._workshop.habits())

    def options(self) -> GenerateOptions:
        """Give the request that the present settings make."""
        vocabulary = self.vocabulary
        return GenerateOptions(
            max_tokens=self.settings.max_tokens,
            rule=self.settings.rule,
            sampling=self.settings.sampling,
            seed=self.seed,
            ends=vocabulary.eog,
            usable=vocabulary.usable,
            banned=tuple(sorted(vocabulary.banned)),
            keep_laws=self.settings.keep_laws,
        )

    def change(self, settings: RunSettings) -> None:
        """Use other settings from the next answer on; the loaded files stay.

        Raises: OptionError when they need something that is not loaded; nothing changes then.
        """
        self._speculation = self._workshop.speculation(settings)
        self.settings = settings

    def drafter(self, name: str, sampling: SamplingParams | None = None) -> Drafter:
        """Give one drafter as the loop would use it, for measuring it alone.

        Raises: OptionError, PairRefused.
        """
        sampling = sampling or self.settings.sampling
        settings = replace(self.settings, drafters=(name,), gamma=1, sampling=sampling)
        return self._workshop.speculation(settings).drafters[0]

    def set_drafters(self, names: tuple[str, ...]) -> None:
        """Use other drafters from the next answer on."""
        self.change(replace(self.settings, drafters=names))

    def set_gamma(self, gamma: int | None) -> None:
        """Use another gamma from the next answer on; None leaves it to the policy."""
        most = self.loaded.target.max_rows - 1
        if gamma is not None and gamma > most:
            raise OptionError(f"γ is at most {most} in this run, not {gamma}")
        self.change(replace(self.settings, gamma=gamma))

    def set_sampling(self, sampling: SamplingParams) -> None:
        """Use another law from the next answer on."""
        self.change(replace(self.settings, sampling=sampling))

    def describe(self) -> PairFacts:
        """Say in words what is loaded and chosen."""
        loaded, settings = self.loaded, self.settings
        names = self._workshop.names(settings)
        sampling = settings.sampling
        law = "greedy" if sampling.greedy else f"temp {sampling.temperature:g}, seed {self.seed}"
        return PairFacts(
            name=settings.files.name or settings.files.target.stem,
            target=in_words(loaded.model, loaded.target),
            draft=in_words(loaded.draft_model, loaded.draft) if loaded.draft_model else NO_DRAFT,
            drafter=f"{','.join(settings.drafters)}" if names else NONE,
            gamma="auto" if settings.gamma is None else str(settings.gamma),
            sampling=law,
        )

    def reason(self) -> str:
        """Say why drafting is off at the moment; empty while it is on."""
        policy = self._speculation.policy
        if not isinstance(policy, AdaptivePolicy):
            return ""
        choice = policy.chosen
        if choice.gamma or choice.costs_s is None:
            return ""
        return (
            f"This text is hard to guess: {policy.reason()}. "
            "Drafting is off; I look again now and then."
        )
