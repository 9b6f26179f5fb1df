"""How a context attends: in one fused step ("flash attention"), or by plain products of matrices.

Knows what the engine is told and how wide a pass may then be. Does not know a model's weights.

On a processor the engine's fused step takes the rows of a pass one after the other, while the plain
products take several at once, as those of the weights do: at 1,000 tokens of context a pass of 16
rows of a 1.5B model is a fifth shorter, one of a single row no longer (`DECISIONS.md`). They need a
table of scores, so passes are kept narrow. A sliding window is left to the fused step, which skips
what the window does not see; and quantised values can only be read by it.
"""

from dataclasses import dataclass
from typing import Literal

Attention = Literal["auto", "on", "off"]
"""Flash attention: as is best here, always, or never."""

CHOICES: tuple[Attention, ...] = ("auto", "on", "off")
FLOATS = ("f32", "f16", "bf16")
BATCH = 512
"""Tokens of a pass where nothing else is asked for."""
PLAIN_PASS = 128
"""Tokens of a pass with plain products; wider ones read a prompt no faster and need more room."""


@dataclass(frozen=True, slots=True)
class Place:
    """What the choice depends on. `window`: tokens a sliding window sees, 0 without one."""

    on_processor: bool
    value_type: str
    window: int = 0


def is_plain(wanted: Attention, place: Place) -> bool:
    """Say whether a context attends by plain products."""
    if wanted != "auto":
        return wanted == "off"
    return place.on_processor and not place.window and place.value_type in FLOATS


def pass_width(batch: int, rows: int, *, plain: bool) -> int:
    """Give the most tokens of one pass, which holds `rows` rows of logits in any case."""
    return min(batch, max(PLAIN_PASS, rows)) if plain else batch
