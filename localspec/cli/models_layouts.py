"""The layouts made on this machine, in `models list` and `models rm`.

Knows records and words. Does not make a layout.
"""

from collections.abc import Sequence
from pathlib import Path

from localspec.cli import pairs_here
from localspec.core.counted import counted
from localspec.errors import NotHere
from localspec.pairs.catalogue import Pair
from localspec.pairs.memory import show_bytes
from localspec.pairs.resolve import find_model
from localspec.report.pair_documents import ModelsLayout
from localspec.runtime.layout_records import Kept
from localspec.runtime.layouts import kept_layouts, recipe_words, remove_layout
from localspec.ui.tables import table

GGUF = ".gguf"


def layout_documents() -> list[ModelsLayout]:
    """Give every layout that is here."""
    return [_document(each) for each in kept_layouts()]


def _document(kept: Kept) -> ModelsLayout:
    return ModelsLayout(
        file=str(kept.path),
        bytes=kept.bytes,
        recipe=recipe_words(kept.recipe) if kept.recipe else None,
        made_from=kept.origin.path if kept.origin else None,
        made_from_digest=kept.origin.digest if kept.origin else None,
        sha256=kept.sha256,
        engine=kept.engine,
    )


def layout_lines(layouts: Sequence[ModelsLayout], width: int) -> list[str]:
    """Give the part of the list that shows them; nothing where there is none."""
    if not layouts:
        return []
    rows = [["layout made here", "size", "recipe", "from"]]
    for each in layouts:
        source = Path(each.made_from).name if each.made_from else "?"
        rows.append([Path(each.file).name, show_bytes(each.bytes), each.recipe or "?", source])
    total = show_bytes(sum(each.bytes for each in layouts))
    lines = table(rows, width, left=frozenset({0, 2, 3}))
    return ["", *lines, "", f" {total} in layouts: localspec models rm FILE, or rm --layouts"]


def is_layout(name: str) -> bool:
    """Tell whether a word names a layout that is here."""
    return any(_called(each, name) for each in kept_layouts())


def remove_layouts(name: str | None, *, yes: bool) -> list[str]:
    """Delete one layout by its name, those of a pair's files, or all; give a line for each.

    Raises: NotHere when there is none, LocalspecError while one is being written.
    """
    chosen = _chosen(name)
    if not chosen:
        raise NotHere(f"no layout {name or ''}".rstrip(), "localspec models list shows them")
    total = show_bytes(sum(each.bytes for each in chosen))
    count = counted(len(chosen), "layout")
    asked = yes or not pairs_here.on_a_terminal()
    if not asked and not pairs_here.confirm(f"Delete {count}, {total}?"):
        return []
    for each in chosen:
        remove_layout(each.path)
    return [*(f"  deleted  {each.path.name}" for each in chosen), f"{count}, {total}: gone"]


def _chosen(name: str | None) -> list[Kept]:
    found = kept_layouts()
    if name is None:
        return found
    named = [each for each in found if _called(each, name)]
    known = pairs_here.catalogue()
    if named or name not in known.pairs:
        return named
    return _of_pair(found, known.get(name))


def _called(kept: Kept, name: str) -> bool:
    return kept.path.name in (name, f"{name}{GGUF}") or str(kept.path) == name


def _of_pair(found: Sequence[Kept], pair: Pair) -> list[Kept]:
    sources = {str(path.absolute()) for path in map(find_model, pair.models) if path}
    return [each for each in found if each.origin and each.origin.path in sources]
