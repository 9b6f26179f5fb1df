"""From finalists to files: how long each would take to write, and whether there is time for it.

Knows recipes, the cache and a deadline. Does not know which finalist is best.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

from localspec.engine.layout_plan import PlannedTensor
from localspec.engine.quantise import Recipe, quantise
from localspec.errors import LocalspecError
from localspec.measure.tune.candidates import Arrangement, Deadline, Layout
from localspec.measure.tune.recipes import as_it_is
from localspec.measure.tune.samples import sample_folder
from localspec.measure.tune.search import FINALISTS, worth_trying
from localspec.measure.tune.trial import Finalist, finalist
from localspec.pairs.header import read_header
from localspec.runtime.layout_records import whole
from localspec.runtime.layouts import ensure_layout, layout_path, remove_layout
from localspec.runtime.settings import PairFiles, with_draft

QUICK_WEIGHTS = 50_000_000
"""A layout of fewer weights is written without asking how long it takes."""


@dataclass
class Maker:
    """Write layouts while there is time; each once. `say` now, `note` for afterwards."""

    deadline: Deadline
    say: Callable[[str], None] = field(repr=False)
    note: Callable[[str], None] = field(repr=False)
    _made: dict[Layout, Path | None] = field(default_factory=dict, repr=False)
    _fresh: set[Path] = field(default_factory=set, repr=False)

    def file_of(self, layout: Layout) -> Path | None:
        """Give the layout's file, written if need be; None when it cannot or may not be."""
        if layout not in self._made:
            self._made[layout] = self._file(layout)
        return self._made[layout]

    def drop(self, layout: Layout) -> None:
        """Delete a layout that was written here and is of no use."""
        path = self._made.get(layout)
        if path is not None and path in self._fresh:
            _remove(path)

    def keep_only(self, paths: Collection[Path | None]) -> None:
        """Delete what was written here besides these."""
        for path in self._fresh.difference(paths):
            _remove(path)

    def _file(self, layout: Layout) -> Path | None:
        recipe = layout.recipe
        if recipe is None:
            return layout.source
        if whole(layout_path(layout.source, recipe)):
            return layout_path(layout.source, recipe)
        try:
            needed = self._seconds(layout, recipe)
            if needed > self.deadline.left_s:
                self.note(
                    f"{layout.name} of {layout.source.name} was left out: writing it takes about "
                    f"{needed / 60:.1f} min; a longer --max-time lets it"
                )
                return None
            self.say(f"writing {layout.name} of {layout.source.name}")
            path = ensure_layout(layout.source, recipe, lambda _text: None)
            self._fresh.add(path)
            return path
        except LocalspecError as failure:
            self.note(f"{layout.name} of {layout.source.name} was left out: {failure.message}")
            return None

    def _seconds(self, layout: Layout, recipe: Recipe) -> float:
        """Write one block alone, and give what the whole would take; 0 for a small model."""
        plan = as_it_is(layout, read_header(layout.source)).plan
        total = sum(tensor.weights for tensor in plan)
        kept = [tensor for tensor in plan if tensor.block == 0]
        blocks = {tensor.block for tensor in plan if tensor.block is not None}
        if total < QUICK_WEIGHTS or not kept:
            return 0.0
        self.say(f"trying how long {layout.name} of {layout.source.name} takes to write")
        one = Recipe(
            recipe.type,
            pure=recipe.pure,
            output_type=_type_of(plan, "output.weight"),
            embedding_type=_type_of(plan, "token_embd.weight"),
            prune_layers=tuple(sorted(blocks - {0})),
        )
        with sample_folder() as place:
            began = perf_counter()
            quantise(layout.source, place / "block.gguf", one)
            taken = perf_counter() - began
        copied = sum(t.weights for t in plan if t.block is None)
        return taken * (total - copied / 2) / sum(tensor.weights for tensor in kept)


def _remove(path: Path) -> None:
    with suppress(LocalspecError):
        remove_layout(path)


Heads = tuple[tuple[str, Path], ...]
Admit = Callable[[Layout, Path], bool]
"""Say whether a new target is near enough to the given one."""


def ready_finalists(
    found: Sequence[Arrangement],
    maker: Maker,
    admit: Admit,
    *,
    temperature: float,
    heads: Heads = (),
) -> list[Finalist]:
    """Give the best arrangements whose files are there, or can be written in time, and admitted.

    `heads`: the pair's own, which go with every layout of its target. Where one is not admitted,
    none is tried that keeps fewer bits. The best target's layout stands there without a draft, too,
    so that what it gives and what the draft gives can be told apart.
    """
    ready: list[Finalist] = []
    refused: list[Layout] = []
    for each in found:
        if len(ready) == FINALISTS:
            break
        if not worth_trying(each, [other.arrangement for other in ready]):
            continue
        if any(each.target == other or each.target.bits < other.bits for other in refused):
            continue
        files = _files(each, maker, heads)
        if files and not admit(each.target, files.target):
            refused.append(each.target)
            maker.drop(each.target)
        elif files:
            ready.append(finalist(each, files, temperature))
    return _with_layout_alone(ready, found, temperature)


def _with_layout_alone(
    ready: list[Finalist], found: Sequence[Arrangement], temperature: float
) -> list[Finalist]:
    if not ready or ready[0].arrangement.target.as_given:
        return ready
    target = ready[0].arrangement.target
    alone = next(each for each in found if each.target == target and each.guesser is None)
    if any(each.arrangement is alone for each in ready):
        return ready
    files = replace(ready[0].files, draft=None, skipped=None)
    return [*ready, finalist(alone, files, temperature)]


def _files(arrangement: Arrangement, maker: Maker, heads: Heads) -> PairFiles | None:
    target = maker.file_of(arrangement.target)
    if target is None:
        return None
    files = PairFiles(target, derived=True, heads=heads)
    if arrangement.draft is None:
        return files
    draft = maker.file_of(arrangement.draft)
    if draft is None:
        return None
    return with_draft(files, arrangement.drafter, draft)


def _type_of(plan: tuple[PlannedTensor, ...], name: str) -> str | None:
    return next((tensor.type for tensor in plan if tensor.name == name), None)
