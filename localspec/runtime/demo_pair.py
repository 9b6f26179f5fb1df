"""From what the catalogue names to files that can be opened, layouts made where a recipe says so.

Knows resolved pairs and recipes. No hub, no network.
"""

from pathlib import Path

from localspec.engine.quantise import Recipe
from localspec.pairs.catalogue import load_catalogue
from localspec.pairs.resolve import LocalModel, Request, Resolved, resolve
from localspec.runtime.layouts import Notify, ensure_layout
from localspec.runtime.settings import PairFiles

NAME = "demo"


def pair_files(found: Resolved, notify: Notify) -> PairFiles:
    """Make what has a recipe, and give the files of a pair.

    Raises: PairRefused when a file cannot be requantised or pruned.
    """
    draft = found.draft
    derived = draft is not None and draft.path == found.target.path and draft.recipe is not None
    return PairFiles(
        target=_made(found.target, notify),
        draft=_made(draft, notify) if draft else None,
        name=found.pair.name if found.pair else found.target.path.stem,
        derived=derived,
        heads=found.heads,
    )


def demo_files(notify: Notify) -> PairFiles:
    """Give the demo pair's files, made on first use from the package of the extra `demo`.

    Raises: NotHere when the extra is not installed.
    """
    return pair_files(resolve(Request(NAME), load_catalogue()), notify)


def _made(model: LocalModel, notify: Notify) -> Path:
    if model.recipe is None:
        return model.path
    recipe = model.recipe
    made = Recipe(type=recipe.type, pure=recipe.pure, prune_layers=recipe.prune_layers)
    return ensure_layout(model.path, made, notify)
