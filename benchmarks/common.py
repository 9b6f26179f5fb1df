"""What the benchmarks share: files, prompts, one run of the loop, medians with spread."""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localspec.core.generate import Speculation, generate
from localspec.core.options import GenerateOptions
from localspec.core.policy import FixedPolicy
from localspec.core.rules import RuleName
from localspec.core.sampling import Sampler, SamplingParams
from localspec.core.tally import Tally
from localspec.core.tokens import Tokens
from localspec.drafters.lookup import LookupDrafter
from localspec.drafters.model import ModelDrafter
from localspec.engine.context import Context, ContextOptions
from localspec.engine.model import Model
from localspec.engine.quantise import Recipe
from localspec.runtime.layouts import ensure_layout

GREEDY = SamplingParams(temperature=0)
PURE_Q4_0 = Recipe(type="q4_0", pure=True)
CODE_PROMPT = (
    "Write a Python class for a binary search tree with insert, find and delete, "
    "with type hints and docstrings."
)


@dataclass(frozen=True)
class Duo:
    """A target's context and a draft's, with the target's vocabulary."""

    target: Context
    draft: Context | None


@contextmanager
def opened(
    target: Path,
    draft: Path | None,
    *,
    n_ctx: int = 2048,
    strict_rows: int | None = None,
    threads: int | None = None,
) -> Iterator[Duo]:
    """Load one or two files and make their contexts."""
    with Model.load(target) as model:
        shape = ContextOptions(n_ctx, strict_rows=strict_rows, threads=threads)
        with Context(model, shape) as context:
            if draft is None:
                yield Duo(context, None)
                return
            guessing = ContextOptions(n_ctx, threads=threads)
            with Model.load(draft) as small, Context(small, guessing) as guess:
                yield Duo(context, guess)


@dataclass(frozen=True)
class Ask:
    """One answer to be measured."""

    prompt: Tokens
    gamma: int = 0
    drafters: tuple[str, ...] = ()
    max_tokens: int = 128
    sampling: SamplingParams = GREEDY
    rule: RuleName = RuleName.BLOCK
    seed: int = 0


def answer(duo: Duo, ask: Ask, *, fresh: bool = True) -> Tally:
    """Write one answer; `fresh` empties both caches first."""
    for context in (duo.target, duo.draft):
        if context and fresh:
            context.rewind(0)
    vocabulary = duo.target.model.vocabulary
    sampler = Sampler(ask.sampling, vocabulary.usable)
    made = {"lookup": lambda: LookupDrafter(vocabulary.eog)}
    if duo.draft:
        made["model"] = lambda: ModelDrafter(duo.draft, sampler)  # type: ignore[arg-type]
    speculation = Speculation(
        FixedPolicy(ask.gamma, ask.drafters), [made[name]() for name in ask.drafters]
    )
    options = GenerateOptions(
        max_tokens=ask.max_tokens,
        rule=ask.rule,
        sampling=ask.sampling,
        seed=ask.seed,
        ends=vocabulary.eog,
        usable=vocabulary.usable,
    )
    tally = Tally()
    for event in generate(duo.target, ask.prompt, options, speculation=speculation):
        tally.add(event)
    return tally


def chat_ids(model: Model, text: str) -> Tokens:
    """Wrap a question in the ChatML that the benchmarks' models use."""
    wrapped = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    return np.array(model.vocabulary.tokenize(wrapped, special=True, bos=True), np.int32)


def pure_q4_0(path: Path) -> Path:
    """Give the pure Q4_0 layout of a file, made once and kept in the cache."""
    return ensure_layout(path, PURE_Q4_0, print)


def spread(values: Sequence[float]) -> str:
    """Show a median with the distance to the quartiles."""
    middle = statistics.median(values)
    if len(values) < 4:
        return f"{middle:.2f} ({min(values):.2f}-{max(values):.2f})"
    low, _, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"
