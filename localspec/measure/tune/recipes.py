"""Which layouts of a file are worth a look: recipes, what they would hold, and what is left out.

Knows storage types and the engine's plans. Times nothing and writes nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localspec.engine.layout_plan import PlannedTensor, plan_of
from localspec.engine.quantise import Recipe
from localspec.errors import LocalspecError
from localspec.measure.tune.candidates import Layout
from localspec.measure.tune.samples import plan_bytes
from localspec.pairs.ggml_types import GGML_TYPES, TYPE_NAMES
from localspec.pairs.header import Header, TensorInfo, read_header
from localspec.runtime.layouts import recipe_words

BLOCKS = ("q4_0", "iq4_nl", "q4_k_s", "q5_0", "q5_k_s", "q6_k", "q8_0", "bf16", "f16")
"""Pure layouts, the likeliest first; the engine replaces a type that does not fit a tensor."""
HEADS = {"q4_0": ("q6_k",), "iq4_nl": ("q6_k",), "q4_k_s": ("q4_0", "q6_k")}
TENSORS = {"q4_k_s": "q4_k", "q5_k_s": "q5_k"}
"""What a pure layout of these names is made of."""
MIXES = ("q4_k_m", "q4_0")
LARGEST = 2.0
"""Times the given file: decoding reads every weight, so a layout beyond it cannot win."""
HEAD, EMBEDDING = "output.weight", "token_embd.weight"
FULL = frozenset({"F32", "F16", "BF16"})


@dataclass(frozen=True)
class Planned:
    """A layout with the tensors it would have."""

    layout: Layout
    plan: tuple[PlannedTensor, ...]


@dataclass(frozen=True)
class Skipped:
    """A layout that was not looked at, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Considered:
    """The layouts of one file, the given one first."""

    given: Planned
    others: tuple[Planned, ...]
    skipped: tuple[Skipped, ...]


def consider(source: Path, published: Sequence[Layout] = ()) -> Considered:
    """Plan every recipe, and leave out what is alike or far too large.

    Raises: PairRefused when the file is not sound.
    """
    header = read_header(source)
    given = as_it_is(Layout(source, bytes=header.weight_bytes), header)
    found, skipped = [given], []
    for layout in published:
        found.append(as_it_is(layout, read_header(layout.source)))
    for recipe in recipes(header):
        try:
            planned = _planned(source, recipe)
        except LocalspecError as failure:
            skipped.append(Skipped(recipe_words(recipe), failure.message))
            continue
        reason = _unwanted(planned, found)
        if reason:
            skipped.append(Skipped(planned.layout.name, reason))
        else:
            found.append(planned)
    return Considered(given, tuple(found[1:]), tuple(skipped))


def recipes(header: Header) -> Iterator[Recipe]:
    """Give the recipes for a file: pure ones, heads apart, and the engine's own mixes.

    The embedding of a model with a head of its own is read one row a token, whatever its type, so
    it stays as it is.
    """
    head, embedding = header.tensor(HEAD), header.tensor(EMBEDDING)
    kept = None if head is None or embedding is None else _type_name(embedding)
    for kind in BLOCKS:
        plain = Recipe(kind, pure=True, embedding_type=kept)
        yield replace(plain, output_type=_fitting(TENSORS.get(kind, kind), head))
        for apart in HEADS.get(kind, ()):
            tensor = head or embedding
            if _fitting(apart, tensor):
                yield _with_head(plain, apart, own=head is not None)
    for kind in MIXES:
        yield Recipe(kind, embedding_type=kept)


def _with_head(recipe: Recipe, kind: str, *, own: bool) -> Recipe:
    """Give the head another type; where there is none of its own, the embedding is the head."""
    if own:
        return replace(recipe, output_type=kind)
    return replace(recipe, embedding_type=kind)


def _type_name(tensor: TensorInfo) -> str:
    return GGML_TYPES[tensor.type].name.lower()


def _fitting(kind: str, tensor: TensorInfo | None) -> str | None:
    """Give a type back that a tensor's rows are whole blocks of.

    The engine does not look for another one where the head's type is named.
    """
    fits = tensor is not None and tensor.shape[0] % TYPE_NAMES[kind].block == 0
    return kind if fits else None


def as_it_is(layout: Layout, header: Header) -> Planned:
    """Give the plan of a file that is there."""
    plan = tuple(
        PlannedTensor(tensor.name, tensor.shape, GGML_TYPES[tensor.type].name.lower())
        for tensor in header.tensors
    )
    return Planned(_sized(layout, plan), plan)


def is_quantised(header: Header) -> bool:
    """Say whether a file has lost weights' bits already, so that a new layout loses twice."""
    return any(
        GGML_TYPES[tensor.type].name not in FULL
        for tensor in header.tensors
        if len(tensor.shape) > 1
    )


def _planned(source: Path, recipe: Recipe) -> Planned:
    plan = plan_of(source, recipe)
    return Planned(_sized(Layout(source, recipe), plan), plan)


def _sized(layout: Layout, plan: Sequence[PlannedTensor]) -> Layout:
    size = plan_bytes(plan)
    return replace(layout, bytes=size, bits=8 * size / max(sum(t.weights for t in plan), 1))


def _unwanted(planned: Planned, known: Sequence[Planned]) -> str:
    """Say why a layout is not worth timing; empty when it is."""
    given = known[0]
    types = _types(planned)
    for other in known:
        if _types(other) == types:
            return f"the same as {other.layout.name} in this model"
    times = planned.layout.bytes / max(given.layout.bytes, 1)
    if times > LARGEST:
        return f"{times:.1f} times as many bytes to read for every token"
    return ""


def _types(planned: Planned) -> dict[str, str]:
    return {tensor.name: tensor.type for tensor in planned.plan}
