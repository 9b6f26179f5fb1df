"""Drafters and policy for a loaded pair, made from their names.

Knows which drafter needs what. Does not know files, conversations or screens.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

from localspec.core.adaptive import AdaptivePolicy, PolicyOptions
from localspec.core.costs import CostModel
from localspec.core.draft import Drafter
from localspec.core.generate import Speculation
from localspec.core.habits import merged
from localspec.core.policy import BaselineSchedule, FixedPolicy, Policy
from localspec.core.rules import RuleName
from localspec.core.sampling import DEFAULT_SAMPLING, Sampler, SamplingParams
from localspec.core.standing import DrafterFacts
from localspec.core.tempering import DraftTemperature
from localspec.core.tokens import TokenSequence
from localspec.drafters.head import HeadDrafter
from localspec.drafters.lookup import LookupDrafter
from localspec.drafters.medusa import MedusaDrafter
from localspec.drafters.model import ModelDrafter
from localspec.drafters.ngram import NgramDrafter
from localspec.drafters.ngram_table import NgramTable
from localspec.drafters.with_law import WithLaw
from localspec.engine import Model
from localspec.errors import OptionError, PairRefused
from localspec.runtime.caches import can_speculate, refuse_useless
from localspec.runtime.calibration import known_costs
from localspec.runtime.habits import Habits
from localspec.runtime.heads import (
    eagle3_parts,
    head_for,
    mtp_parts,
)
from localspec.runtime.loading import Loaded, Notify
from localspec.runtime.settings import (
    AUTO,
    EAGLE3,
    HEADS,
    LAYERSKIP,
    LOOKUP,
    MEDUSA,
    MODEL,
    MTP,
    NGRAM,
    NONE,
    RunSettings,
)
from localspec.runtime.shelf import HeadParts
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
        self._heads = loaded.heads.running
        self._refused: set[str] = set()

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
            model = (MODEL,) if self._loaded.draft else ()
            return (LOOKUP, *ngram, *model, *self._usable_heads(settings))
        return settings.drafters

    def _policy(self, drafters: Sequence[Drafter], settings: RunSettings) -> Policy:
        names = tuple(drafter.name for drafter in drafters)
        if settings.gamma is not None or not names:
            return FixedPolicy(settings.gamma or 0, names, schedule=BaselineSchedule())
        self.habits()
        law = law_name(settings)
        policy = AdaptivePolicy(
            [facts_of(drafter) for drafter in drafters],
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
        makers: dict[str, Callable[[RunSettings], Drafter]] = {
            MODEL: self._model_drafter,
            LAYERSKIP: self._layerskip_drafter,
            LOOKUP: self._lookup_drafter,
            NGRAM: self._ngram_drafter,
            MEDUSA: self._medusa_drafter,
            EAGLE3: self._eagle3_drafter,
            MTP: self._mtp_drafter,
        }
        return makers[name](settings)

    def _usable_heads(self, settings: RunSettings) -> tuple[str, ...]:
        """Give the head drafters that `auto` may use; a head nobody named may fail, said once."""
        return tuple(name for name in HEADS if self._is_usable(name, settings))

    def _is_usable(self, name: str, settings: RunSettings) -> bool:
        own = name == MTP and self._loaded.model.options.prediction_layers
        if name in self._refused or not (own or head_for(name, settings)):
            return False
        try:
            self._drafter(name, settings)
        except PairRefused as failure:
            if settings.head is not None or settings.draft_required:
                raise
            self._refused.add(name)
            self._notify(f"drafter {name} is left out: {failure.message}")
            return False
        return True

    def _medusa_drafter(self, settings: RunSettings) -> MedusaDrafter:
        path = head_for(MEDUSA, settings)
        if path is None:
            raise OptionError("drafter 'medusa' needs a file of heads", "start with --head FILE")
        parts = self._loaded.heads.medusa(path, self._loaded.target)
        vocabulary = self._loaded.model.vocabulary
        sampler = Sampler(settings.sampling, vocabulary.usable, tuple(sorted(vocabulary.banned)))
        return MedusaDrafter(parts.states, parts.heads, sampler, size=vocabulary.size)

    def _eagle3_drafter(self, settings: RunSettings) -> WithLaw:
        path = head_for(EAGLE3, settings)
        if path is None:
            raise OptionError("drafter 'eagle3' needs a file of its head", "start with --head FILE")
        known = self._heads.get(EAGLE3)
        if known is None or known[0] != path:
            if known is not None:
                known[1].close()
            parts = eagle3_parts(self._loaded, path, settings)
            self._heads[EAGLE3] = path, parts, _head_drafter(EAGLE3, parts)
        return self._head_for(EAGLE3, settings)

    def _mtp_drafter(self, settings: RunSettings) -> WithLaw:
        if MTP not in self._heads:
            parts = mtp_parts(self._loaded, settings)
            self._heads[MTP] = self._loaded.model.path, parts, _head_drafter(MTP, parts)
        return self._head_for(MTP, settings)

    def _head_for(self, name: str, settings: RunSettings) -> WithLaw:
        """Give the one drafter of a head, which knows what it has read, a law."""
        vocabulary = self._loaded.model.vocabulary
        banned = tuple(sorted(vocabulary.banned))
        sampler = Sampler(settings.sampling, vocabulary.usable, banned, telling=True)
        return WithLaw(self._heads[name][2], sampler)

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
            raise OptionError("drafter 'ngram' learns from texts", "start with --ngram-from FILE")
        if self._table is None:
            self._table = ngram_table(settings.ngram_from, vocabulary, self._notify)
        special = vocabulary.eog | vocabulary.control
        return NgramDrafter(self._table, special, greedy=settings.sampling.greedy)

    def _model_drafter(self, settings: RunSettings) -> Drafter:
        loaded = self._loaded
        if self._draft is None or loaded.draft_model is None:
            raise OptionError("drafter 'model' needs a draft model", "name one with --draft FILE")
        return self._drafting_with(self._draft, loaded.draft_model, settings)

    def _layerskip_drafter(self, settings: RunSettings) -> Drafter:
        if self._loaded.skipped is None:
            raise OptionError(
                "drafter 'layerskip' needs a draft made of the target, which is made at the start",
                "start again with --drafter layerskip",
            )
        skipped = self._loaded.skipped
        return self._drafting_with(skipped, skipped.model, settings, name=LAYERSKIP)

    def _drafting_with(
        self, sequence: TokenSequence, model: Model, settings: RunSettings, *, name: str = MODEL
    ) -> Drafter:
        ours, theirs = self._loaded.model.vocabulary, model.vocabulary
        usable = min(ours.usable, theirs.usable)
        banned = tuple(sorted(t for t in ours.banned | theirs.banned if t < usable))
        sampler = Sampler(settings.sampling, usable, banned, telling=True)
        heat = self._temperature(settings) if name == MODEL else None
        return ModelDrafter(sequence, sampler, name=name, heat=heat)

    def _temperature(self, settings: RunSettings) -> DraftTemperature | None:
        """Fit the draft's sharpness where gamma is automatic; a fixed gamma is left as it is."""
        if settings.gamma is not None or settings.sampling.greedy:
            return None
        if settings.sampling != self._heated:
            self._heat, self._heated = DraftTemperature(), settings.sampling
        return self._heat


def _head_drafter(name: str, parts: HeadParts) -> HeadDrafter:
    """Draw from a head; where its states run out of room it reads them first."""
    drafter = HeadDrafter(parts.head, parts.states, Sampler(DEFAULT_SAMPLING), name=name)
    parts.states.reader = drafter.read_ahead
    return drafter


def facts_of(drafter: Drafter) -> DrafterFacts:
    """Tell the policy what a drafter is like."""
    if isinstance(drafter, LookupDrafter):
        return DrafterFacts(drafter.name, True, lambda: drafter.evidence)
    return DrafterFacts(
        drafter.name,
        reads=not isinstance(drafter, MedusaDrafter | NgramDrafter),
        asks=isinstance(drafter, ModelDrafter | WithLaw),
    )


def law_name(settings: RunSettings) -> str:
    """Name what acceptance depends on besides the files."""
    if settings.sampling.greedy:
        return "greedy"
    return "coupled" if settings.rule is RuleName.COUPLED else "sampled"
