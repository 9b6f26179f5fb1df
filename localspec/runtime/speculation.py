"""Drafters and policy for a loaded pair, made from their names.

Knows which drafter needs what. Does not know files, conversations or screens.
"""

from collections.abc import Sequence
from functools import cached_property

from localspec.core.adaptive import AdaptivePolicy, PolicyOptions
from localspec.core.costs import CostModel
from localspec.core.draft import Drafter
from localspec.core.generate import Speculation
from localspec.core.policy import BaselineSchedule, FixedPolicy, Policy
from localspec.core.sampling import Sampler
from localspec.core.standing import DrafterFacts
from localspec.drafters.lookup import LookupDrafter
from localspec.drafters.model import ModelDrafter
from localspec.errors import OptionError
from localspec.runtime.calibration import known_costs
from localspec.runtime.loading import Loaded
from localspec.runtime.settings import AUTO, LOOKUP, MODEL, NONE, RunSettings


class Workshop:
    """Make drafters once and keep them, so that a change of settings loads nothing."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._made: dict[str, Drafter] = {}

    def speculation(self, settings: RunSettings) -> Speculation:
        """Put together what the settings ask for.

        Raises: OptionError for a drafter whose model is not loaded.
        """
        drafters = [self._drafter(name, settings) for name in self.names(settings)]
        return Speculation(self._policy(drafters, settings), drafters)

    def plain(self) -> Speculation:
        """Leave every drafter out."""
        return Speculation(FixedPolicy(0, ()))

    def names(self, settings: RunSettings) -> tuple[str, ...]:
        """Give the drafters in the order they are asked; `auto` is every one at hand."""
        if settings.drafters == (NONE,):
            return ()
        if settings.drafters == (AUTO,):
            return (LOOKUP, MODEL) if self._loaded.draft else (LOOKUP,)
        return settings.drafters

    def _policy(self, drafters: Sequence[Drafter], settings: RunSettings) -> Policy:
        names = tuple(drafter.name for drafter in drafters)
        if settings.gamma is not None or not names:
            return FixedPolicy(settings.gamma or 0, names, schedule=BaselineSchedule())
        return AdaptivePolicy(
            [_facts(drafter) for drafter in drafters],
            costs=self.costs,
            options=PolicyOptions(settings.max_gamma, fixed_order=settings.drafters != (AUTO,)),
        )

    @cached_property
    def costs(self) -> CostModel:
        """Give what passes cost here; kept from one policy to the next."""
        return CostModel(known_costs(self._loaded), max_rows=self._loaded.target.max_rows)

    def _drafter(self, name: str, settings: RunSettings) -> Drafter:
        if name == MODEL:
            return self._model_drafter(settings)
        if name not in self._made:
            self._made[name] = self._make(name, settings)
        return self._made[name]

    def _make(self, name: str, settings: RunSettings) -> Drafter:
        if name == LOOKUP:
            return LookupDrafter(self._loaded.model.vocabulary.eog, shortest=settings.lookup_min)
        raise OptionError(f"drafter '{name}' is not available yet")

    def _model_drafter(self, settings: RunSettings) -> Drafter:
        loaded = self._loaded
        if loaded.draft is None or loaded.draft_model is None:
            raise OptionError("drafter 'model' needs a draft model", "name one with --draft FILE")
        ours, theirs = loaded.model.vocabulary, loaded.draft_model.vocabulary
        usable = min(ours.usable, theirs.usable)
        banned = tuple(sorted(t for t in ours.banned | theirs.banned if t < usable))
        return ModelDrafter(loaded.draft, Sampler(settings.sampling, usable, banned))


def _facts(drafter: Drafter) -> DrafterFacts:
    """Tell the policy what a drafter is like."""
    if isinstance(drafter, LookupDrafter):
        return DrafterFacts(drafter.name, True, lambda: float(drafter.match_length))
    return DrafterFacts(drafter.name)
