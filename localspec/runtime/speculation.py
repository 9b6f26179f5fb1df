"""Drafters and policy for a loaded pair, made from their names.

Knows which drafter needs what. Does not know files, conversations or screens.
"""

from collections.abc import Sequence
from functools import cached_property

from localspec.core.adaptive import AdaptivePolicy, PolicyOptions
from localspec.core.costs import CostModel
from localspec.core.draft import Drafter
from localspec.core.generate import Speculation
from localspec.core.habits import merged
from localspec.core.policy import BaselineSchedule, FixedPolicy, Policy
from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.standing import DrafterFacts
from localspec.core.tempering import DraftTemperature
from localspec.core.tokens import TokenSequence
from localspec.drafters.lookup import LookupDrafter
from localspec.drafters.model import ModelDrafter
from localspec.drafters.ngram import NgramDrafter
from localspec.drafters.ngram_table import NgramTable
from localspec.errors import OptionError
from localspec.runtime.caches import can_speculate, refuse_useless
from localspec.runtime.calibration import known_costs
from localspec.runtime.habits import Habits
from localspec.runtime.loading import Loaded, Notify
from localspec.runtime.settings import AUTO, LOOKUP, MODEL, NGRAM, NONE, RunSettings
from localspec.runtime.texts import ngram_table, text_ids


class Workshop:
    """Make drafters once and keep them, so that a change of settings loads nothing.

    `draft`: the sequence to draft on, where it is not the one that was loaded.
    """

    def __init__(
        self,
        loaded: Loaded,
        notify: Notify = lambda _text: None,
        *,
        known: Habits | None = None,
        draft: TokenSequence | None = None,
    ) -> None:
        self._loaded = loaded
        self._draft = draft if draft is not None else loaded.draft
        self._notify = notify
        self._habits = known or {}
        self._at_work: tuple[str, AdaptivePolicy] | None = None
        self._heat = DraftTemperature()
        self._heated: SamplingParams | None = None
        self._lookup: LookupDrafter | None = None
        self._table: NgramTable | None = None

    def speculation(self, settings: RunSettings) -> Speculation:
        """Put together what the settings ask for.

        Raises: OptionError for a drafter whose model is not loaded, and for a token that is none;
        PairRefused for a target that cannot take a guess back, unless the choice is `auto`.
        """
        size = self._loaded.model.n_vocab
        unknown = [token for token in settings.sampling.logit_bias if not 0 <= token < size]
        if unknown:
            raise OptionError(
                f"there is no token {unknown[0]}: the last one of this model is {size - 1}"
            )
        names = self.names(settings)
        if names:
            refuse_useless(self._loaded.target)
        drafters = [self._drafter(name, settings) for name in names]
        return Speculation(self._policy(drafters, settings), drafters)

    def plain(self) -> Speculation:
        """Leave every drafter out."""
        return Speculation(FixedPolicy(0, ()))

    def names(self, settings: RunSettings) -> tuple[str, ...]:
        """Give the drafters in the order they are asked; `auto` is every one at hand."""
        if settings.drafters == (NONE,):
            return ()
        if settings.drafters == (AUTO,) and not can_speculate(self._loaded.target):
            return ()
        if settings.drafters == (AUTO,):
            ngram = (NGRAM,) if settings.ngram_from else ()
            return (LOOKUP, *ngram, MODEL) if self._loaded.draft else (LOOKUP, *ngram)
        return settings.drafters

    def _policy(self, drafters: Sequence[Drafter], settings: RunSettings) -> Policy:
        names = tuple(drafter.name for drafter in drafters)
        if settings.gamma is not None or not names:
            return FixedPolicy(settings.gamma or 0, names, schedule=BaselineSchedule())
        self.habits()
        law = law_name(settings)
        policy = AdaptivePolicy(
            [_facts(drafter) for drafter in drafters],
            costs=self.costs,
            options=PolicyOptions(settings.max_gamma, fixed_order=settings.drafters != (AUTO,)),
            habits=self._habits.get(law),
        )
        self._at_work = law, policy
        return policy

    def habits(self) -> Habits:
        """Give what is known of the drafters' acceptance, what was seen here included."""
        if self._at_work is not None:
            law, policy = self._at_work
            self._habits = {**self._habits, law: merged(self._habits.get(law, {}), policy.habits)}
            self._at_work = None
        return self._habits

    @cached_property
    def costs(self) -> CostModel:
        """Give what passes cost here; kept from one policy to the next."""
        return CostModel(known_costs(self._loaded), max_rows=self._loaded.target.max_rows)

    def _drafter(self, name: str, settings: RunSettings) -> Drafter:
        if name == MODEL:
            return self._model_drafter(settings)
        if name == LOOKUP:
            return self._lookup_drafter(settings)
        if name == NGRAM:
            return self._ngram_drafter(settings)
        raise OptionError(f"drafter '{name}' is not available yet")

    def _lookup_drafter(self, settings: RunSettings) -> LookupDrafter:
        """Keep one index over the conversation, and the expected text before it."""
        vocabulary = self._loaded.model.vocabulary
        if self._lookup is None:
            path = settings.expect
            texts = [text_ids(path, vocabulary, self._notify)] if path else []
            special = vocabulary.eog | vocabulary.control
            self._lookup = LookupDrafter(special, expected=texts, shortest=settings.lookup_min)
        return self._lookup

    def _ngram_drafter(self, settings: RunSettings) -> NgramDrafter:
        vocabulary = self._loaded.model.vocabulary
        if not settings.ngram_from:
            raise OptionError("drafter 'ngram' learns from texts", "name some: --ngram-from FILE")
        if self._table is None:
            self._table = ngram_table(settings.ngram_from, vocabulary, self._notify)
        special = vocabulary.eog | vocabulary.control
        return NgramDrafter(self._table, special, greedy=settings.sampling.greedy)

    def _model_drafter(self, settings: RunSettings) -> Drafter:
        loaded = self._loaded
        if self._draft is None or loaded.draft_model is None:
            raise OptionError("drafter 'model' needs a draft model", "name one with --draft FILE")
        ours, theirs = loaded.model.vocabulary, loaded.draft_model.vocabulary
        usable = min(ours.usable, theirs.usable)
        banned = tuple(sorted(t for t in ours.banned | theirs.banned if t < usable))
        sampler = Sampler(settings.sampling, usable, banned, telling=True)
        return ModelDrafter(self._draft, sampler, heat=self._temperature(settings))

    def _temperature(self, settings: RunSettings) -> DraftTemperature | None:
        """Fit the draft's sharpness where gamma is automatic; a fixed gamma is left as it is."""
        if settings.gamma is not None or settings.sampling.greedy:
            return None
        if settings.sampling != self._heated:
            self._heat, self._heated = DraftTemperature(), settings.sampling
        return self._heat


def _facts(drafter: Drafter) -> DrafterFacts:
    """Tell the policy what a drafter is like."""
    if isinstance(drafter, LookupDrafter):
        return DrafterFacts(drafter.name, True, lambda: drafter.evidence)
    return DrafterFacts(drafter.name, asks=isinstance(drafter, ModelDrafter))


def law_name(settings: RunSettings) -> str:
    """Name what acceptance depends on besides the files."""
    if settings.sampling.greedy:
        return "greedy"
    return "coupled" if settings.rule is RuleName.COUPLED else "sampled"
