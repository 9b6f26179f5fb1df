"""Everything a user may choose about a run, with its default; one home for both.

Knows names and values. Does not know how they are parsed, or what they do.
"""

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from localspec.core.options import DEFAULT_STRICT_ROWS
from localspec.core.rules import RuleName
from localspec.core.sampling import DEFAULT_SAMPLING, SamplingParams
from localspec.core.theory import MAX_GAMMA
from localspec.engine import strict_width
from localspec.engine.attention import FLOATS, Attention
from localspec.errors import OptionError

AUTO = "auto"
NONE = "none"
MODEL = "model"
LOOKUP = "lookup"
NGRAM = "ngram"
LAYERSKIP = "layerskip"
EAGLE3 = "eagle3"
MTP = "mtp"
MEDUSA = "medusa"
HEADS = (EAGLE3, MTP, MEDUSA)
FROM_FILES = (EAGLE3, MEDUSA)
"""Heads that are a file of their own."""
DRAFTERS = (AUTO, MODEL, LOOKUP, NGRAM, LAYERSKIP, *HEADS, NONE)
READY = (AUTO, MODEL, LOOKUP, NGRAM, LAYERSKIP, *HEADS, NONE)
DEFAULT_CONTEXT = 4096


@dataclass(frozen=True)
class Placement:
    """Where one model runs. `gpu_layers`: a number, "auto" (all that fit) or "all"."""

    gpu_layers: int | Literal["auto", "all"] = "auto"
    device: str | None = None
    kv: str = "f16"
    context: int | None = None


@dataclass(frozen=True)
class PairFiles:
    """The files of a pair, and the name shown for it.

    `derived`: the draft was made from the target by leaving blocks out, so it fits by construction.
    `skipped`: another such file, made for the drafter `layerskip`.
    `heads`: files of heads that come with the pair, each behind the name of its drafter.
    """

    target: Path
    draft: Path | None = None
    name: str = ""
    derived: bool = False
    skipped: Path | None = None
    heads: tuple[tuple[str, Path], ...] = ()


def with_draft(files: PairFiles, drafter: str, draft: Path) -> PairFiles:
    """Add the file that a drafter decodes with."""
    if drafter == LAYERSKIP:
        return replace(files, skipped=draft)
    return replace(files, draft=draft)


@dataclass(frozen=True)
class RunSettings:
    """One run. None means `auto` for gamma and threads, and random for the seed.

    `draft_required`: the user named the draft, so a draft that fails stops the run. `head`: a file
    of heads that the user named; those of the pair are in `files`.
    """

    files: PairFiles
    drafters: tuple[str, ...] = (AUTO,)
    gamma: int | None = None
    rule: RuleName = RuleName.BLOCK
    strict: bool = False
    strict_rows: int = DEFAULT_STRICT_ROWS
    sampling: SamplingParams = DEFAULT_SAMPLING
    seed: int | None = None
    max_tokens: int = 0
    threads: int | None = None
    target: Placement = field(default_factory=Placement)
    draft: Placement = field(default_factory=Placement)
    head: Path | None = None
    expect: Path | None = None
    ngram_from: tuple[Path, ...] = ()
    lookup_min: int = 2
    keep_laws: bool = False
    flash_attn: Attention = "auto"
    draft_required: bool = False

    def __post_init__(self) -> None:
        """Refuse what contradicts itself.

        Raises: OptionError.
        """
        _check_drafters(self.drafters)
        _check_gamma(self.gamma)
        if self.flash_attn == "off":
            _check_values(self.target.kv, "--kv")
            _check_values(self.draft.kv, "--draft-kv")
        if self.strict:
            _check_strict(self.strict_rows, (self.gamma or 0) + 1)

    @property
    def wants_draft_model(self) -> bool:
        """Say whether the draft's file is to be loaded."""
        return self.files.draft is not None and bool({AUTO, MODEL} & set(self.drafters))

    @property
    def max_gamma(self) -> int:
        """Give the most tokens a round may ever draft."""
        if self.gamma is not None:
            return self.gamma
        return min(MAX_GAMMA, self.strict_rows - 1) if self.strict else MAX_GAMMA


def unknown_drafter(name: str) -> OptionError:
    """Give the error for a name that no drafter has, with the one that was probably meant."""
    said = f"unknown drafter '{name}'"
    chain = name.replace("+", ",")
    if chain != name and set(chain.split(",")) <= set(READY):
        return OptionError(said, f"a chain is written with commas: {chain}")
    close = get_close_matches(name.lower(), READY, n=1, cutoff=0.5)
    return OptionError(
        said, f"did you mean '{close[0]}'?" if close else f"one of: {', '.join(READY)}"
    )


def _check_drafters(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in DRAFTERS:
            raise unknown_drafter(name)
        if name not in READY:
            raise OptionError(f"drafter '{name}' is not available yet", f"try: {', '.join(READY)}")
    if len(names) > 1 and {AUTO, NONE} & set(names):
        raise OptionError("'auto' and 'none' stand alone, not in a chain")
    if len(set(names)) < len(names) or not names:
        raise OptionError(f"each drafter once: {','.join(names) or 'nothing given'}")


def _check_gamma(gamma: int | None) -> None:
    if gamma is not None and gamma < 1:
        raise OptionError(f"γ must be 1 or more, not {gamma}", "for plain decoding use --plain")
    if gamma is not None and gamma > 4 * MAX_GAMMA:
        raise OptionError(f"γ is at most {4 * MAX_GAMMA}, not {gamma}")


def _check_values(kind: str, flag: str) -> None:
    if kind not in FLOATS:
        raise OptionError(
            f"{flag} {kind} can only be read with flash attention",
            f"leave --flash-attn off out, or take {flag} f16",
        )


def _check_strict(rows: int, needed: int) -> None:
    """Refuse a strict width that is too narrow, or one that rounds by how rows are grouped."""
    if rows < needed:
        raise OptionError(
            f"γ {needed - 1} needs {needed} rows, --strict-rows is {rows}",
            f"raise --strict-rows to {strict_width(needed)} or lower --gamma",
        )
    if rows != strict_width(rows):
        raise OptionError(
            f"--strict-rows must be a multiple of 4, not {rows}",
            f"the next one is {strict_width(rows)}",
        )
