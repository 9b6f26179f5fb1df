"""Everything before the first answer of a bench: costs, prompts, and which arms to compare.

Knows a loaded pair and what was asked for. Chooses a gamma by replay where none was given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler
from localspec.core.theory import MAX_GAMMA
from localspec.errors import OptionError, PairRefused
from localspec.measure.arms import Arm, Design, Kind, arms_of
from localspec.measure.costs import REPEATS, Costs
from localspec.measure.heads import heads_at_hand
from localspec.measure.live import ANSWER_TOKENS, LiveRunner, prompts_of
from localspec.measure.screen import (
    Screened,
    plain_answers,
    screen_heads,
    screen_lookup,
    screen_model,
)
from localspec.measure.survey import real_text, survey
from localspec.measure.texts import Texts
from localspec.runtime.pair import Runtime
from localspec.runtime.settings import AUTO, HEADS, LOOKUP, MODEL

REPLAYED_EACH = 1
Notify = Callable[[str], None]


def _silent(_text: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Asked:
    """What to compare. Empty `gammas`: chosen by replay; empty `drafters`: all at hand."""

    texts: tuple[Texts, ...]
    gammas: tuple[int, ...] = ()
    drafters: tuple[str, ...] = ()
    temperatures: tuple[float, ...] = (0.0,)
    runs: int = 3
    verify: bool = True
    raw: bool = False
    repeats: int = REPEATS
    notify: Notify = field(default=_silent, repr=False)


@dataclass(frozen=True)
class Prepared:
    """A bench ready to run. `screens`: what replay expects of each drafter."""

    design: Design
    runner: LiveRunner
    costs: Costs
    screens: tuple[Screened, ...] = ()
    gammas: tuple[int, ...] = ()

    def costs_again(self) -> Costs:
        """Measure what passes and drafts cost once more, in fewer repeats."""
        return survey(self.runner.runtime, self.gammas, repeats=REPEATS // 2).costs


def prepare(runtime: Runtime, asked: Asked) -> Prepared:
    """Measure costs, make prompts, replay plain answers and choose the arms.

    Raises: OptionError, PairRefused for a draft that is larger than its target.
    """
    check_sizes(runtime)
    drafters = asked.drafters or drafters_at_hand(runtime)
    kinds = kinds_of(runtime, asked)
    asked.notify("measuring what passes cost …")
    costs = survey(runtime, asked.gammas, repeats=asked.repeats).costs
    runner = LiveRunner(runtime, real_text(runtime), _answer_tokens(runtime))
    asked.notify("writing plain answers to replay …")
    screens = screened(runner, kinds, drafters=drafters, costs=costs, asked=asked)
    design = Design(
        kinds,
        _arms(drafters, screens, asked),
        asked.runs,
        seed=runtime.seed,
        verify=asked.verify,
        coupled=runtime.settings.rule is RuleName.COUPLED,
    )
    return Prepared(design, runner, costs, screens, asked.gammas)


def check_sizes(runtime: Runtime) -> None:
    """Refuse a draft that is larger than its target: the two were probably swapped."""
    draft, target = runtime.loaded.draft_model, runtime.loaded.model
    if draft is not None and draft.size_bytes > target.size_bytes:
        raise PairRefused(
            f"draft is larger than target: {draft.path.name} against {target.path.name}",
            "swap them: the target is the large one",
        )


def drafters_at_hand(runtime: Runtime) -> tuple[str, ...]:
    """Name what can be compared with the files that are loaded."""
    model = (MODEL,) if runtime.loaded.draft is not None else ()
    return (*model, *heads_at_hand(runtime), LOOKUP, AUTO)


def kinds_of(runtime: Runtime, asked: Asked) -> tuple[Kind, ...]:
    """Turn texts into prompts that leave room for an answer."""
    kinds = []
    for texts in asked.texts:
        kinds.append(prompts_of(texts, runtime))
        if asked.raw and not all(text.continued for text in texts.prompts):
            kinds.append(prompts_of(texts, runtime, raw=True))
    return tuple(_fitting(kind, runtime.capacity) for kind in kinds)


def _fitting(kind: Kind, capacity: int) -> Kind:
    """Leave out prompts that do not fit the context."""
    fitting = tuple(p for p in kind.prompts if 2 <= len(p.ids) <= capacity - 8)
    if not fitting:
        raise OptionError(
            f"no prompt of '{kind.name}' fits a context of {capacity} tokens", "raise --ctx"
        )
    return replace(kind, prompts=fitting)


def _answer_tokens(runtime: Runtime) -> int:
    return runtime.settings.max_tokens or ANSWER_TOKENS


def screened(
    runner: LiveRunner,
    kinds: Sequence[Kind],
    *,
    drafters: Sequence[str],
    costs: Costs,
    asked: Asked,
) -> tuple[Screened, ...]:
    """Replay each drafter that can be replayed; nothing where the answers are too short."""
    runtime = runner.runtime
    temperature = asked.temperatures[0]
    stored = plain_answers(
        runner, kinds, each=REPLAYED_EACH, temperature=temperature, seed=runtime.seed
    )
    if not stored.transcripts:
        return ()
    most = max((*asked.gammas, min(MAX_GAMMA, runtime.loaded.target.max_rows - 1)))
    found = []
    names = {name for chain in drafters for name in chain.split("+")}
    sampling = replace(runtime.settings.sampling, temperature=temperature)
    sampler = Sampler(sampling, runtime.vocabulary.usable)
    wanted = names | ({MODEL} if AUTO in names else set())
    for name, draft in runtime.loaded.drafts.items():
        if name in wanted:
            own = replace(costs, drafts={**costs.drafts, MODEL: costs.drafts.get(name, ())})
            seen = screen_model(draft.model, draft, sampler, stored=stored, costs=own, most=most)
            found.append(replace(seen, drafter=name))
    if names & {*HEADS, AUTO}:
        for name, head in heads_at_hand(runtime, sampling).items():
            if names & {name, AUTO}:
                found.append(screen_heads(runtime.loaded.target, head, stored=stored, costs=costs))
    if names & {LOOKUP, AUTO}:
        found.append(screen_lookup(runtime, stored=stored, costs=costs, most=most))
    return tuple(found)


def _arms(drafters: Sequence[str], screens: Sequence[Screened], asked: Asked) -> tuple[Arm, ...]:
    """Give the arms: the gammas asked for, or the best of each drafter by replay."""
    if asked.gammas:
        return arms_of(drafters, asked.gammas, asked.temperatures)
    best = {screen.drafter: screen.best.gamma for screen in screens}
    arms: list[Arm] = []
    for temperature in asked.temperatures:
        for name in drafters:
            gamma = best.get(name.split("+")[-1], 1)
            arms += arms_of([name], [gamma], [temperature])
    return tuple(dict.fromkeys(arms))
