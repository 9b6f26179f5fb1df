"""From options to `RunSettings`: words to numbers, ranges checked, silence left to the defaults.

Knows which values make sense one by one. What contradicts what is known by `RunSettings`.
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from localspec.cli.config_file import nearest
from localspec.cli.options import ModelOptions
from localspec.core.rules import RuleName
from localspec.core.sampling import DEFAULT_SAMPLING, SamplingParams
from localspec.engine.attention import CHOICES
from localspec.errors import OptionError
from localspec.runtime.settings import (
    AUTO,
    DRAFTERS,
    FROM_FILES,
    NONE,
    PairFiles,
    Placement,
    RunSettings,
    unknown_drafter,
)

KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
ALL = "all"
COLORS = ("auto", "always", "never")
THREADS_A_CPU = 4
MOST = 2**31 - 1
TokenOf = Callable[[str], int]
Layers = int | Literal["auto", "all"]


def build_settings(
    options: ModelOptions,
    files: PairFiles,
    *,
    recommended: SamplingParams = DEFAULT_SAMPLING,
    token_of: TokenOf | None = None,
) -> RunSettings:
    """Give the run that the options ask for; `recommended` is the pair's own sampling.

    `token_of` finds the id of a text, for a logit bias given by text.
    Raises: OptionError.
    """
    if "" in (options.stop or ()):
        raise OptionError("--stop is empty: every text holds it", "leave it out")
    chosen: dict[str, Any] = {
        "drafters": _drafters(options),
        "head": options.head,
        "gamma": count("--gamma", options.gamma),
        "rule": _rule(options),
        "strict": options.strict,
        "strict_rows": whole("--strict-rows", options.strict_rows, low=2, high=512),
        "seed": whole("--seed", options.seed, low=0, high=2**63 - 1),
        "max_tokens": whole("--max-tokens", options.max_tokens, low=0),
        "threads": count("--threads", options.threads, high=most_threads()),
        "expect": options.expect,
        "ngram_from": tuple(options.ngram_from or ()),
        "flash_attn": one_of("--flash-attn", options.flash_attn or AUTO, CHOICES),
        "draft_required": options.draft is not None,
        "lookup_min": whole("--lookup-min", options.lookup_min, low=1, high=64),
    }
    return RunSettings(
        files,
        sampling=sampling(options, recommended, token_of),
        target=_target(options),
        draft=_draft(options),
        **{name: value for name, value in chosen.items() if value is not None},
    )


def _drafters(options: ModelOptions) -> tuple[str, ...] | None:
    names = None
    if options.drafter is not None:
        names = tuple(name.strip() for name in options.drafter.split(","))
        for name in names:
            if name not in DRAFTERS:
                raise unknown_drafter(name)
    if options.head and names and not {AUTO, *FROM_FILES} & set(names):
        raise OptionError(
            f"--head is for {' and '.join(FROM_FILES)}, not for --drafter {options.drafter}",
            "leave one of the two out",
        )
    if not options.plain:
        return names
    if names not in (None, (NONE,)):
        raise OptionError(
            f"--plain and --drafter {options.drafter} contradict each other", "leave one out"
        )
    return (NONE,)


def _rule(options: ModelOptions) -> RuleName | None:
    """Give the rule asked for; a seed with an automatic gamma asks for the coupled one.

    Automatic lengths depend on the clock, and under the other rules the text depends on them.
    """
    if options.rule is not None:
        return RuleName(one_of("--rule", options.rule, [r.value for r in RuleName]))
    automatic = count("--gamma", options.gamma) is None
    return RuleName.COUPLED if options.seed is not None and automatic else None


def sampling(
    options: ModelOptions, recommended: SamplingParams, token_of: TokenOf | None
) -> SamplingParams:
    """Give the law that the options ask for, over the pair's own.

    Raises: OptionError.
    """
    chosen: dict[str, Any] = {
        "temperature": number("--temp", options.temp, low=0, high=100),
        "top_k": whole("--top-k", options.top_k, low=0),
        "top_p": number("--top-p", options.top_p, low=0, high=1, open_low=True),
        "min_p": number("--min-p", options.min_p, low=0, high=1),
        "repeat_penalty": number("--repeat-penalty", options.repeat_penalty, low=0.01, high=100),
        "logit_bias": logit_bias(options.logit_bias or (), token_of) or None,
    }
    return replace(
        recommended, **{name: value for name, value in chosen.items() if value is not None}
    )


def logit_bias(
    given: "tuple[str, ...] | list[str]", token_of: TokenOf | None
) -> Mapping[int, float]:
    """Read `42=-5` and `' the'=2`.

    Raises: OptionError.
    """
    biases: dict[int, float] = {}
    for entry in given:
        name, equals, value = entry.rpartition("=")
        if not equals or not name:
            raise OptionError(f"--logit-bias is ID=VALUE, not {entry!r}", "like 42=-5")
        biases[_token(name, token_of)] = _bias(value)
    return biases


def _token(name: str, token_of: TokenOf | None) -> int:
    if name.isascii() and name.isdigit():
        return whole("--logit-bias", int(name), low=0) or 0
    if len(name) > 2 and name[0] == name[-1] and name[0] in "'\"":
        if token_of is None:
            raise OptionError("--logit-bias by text needs a model", "give the token's id")
        return token_of(name[1:-1])
    raise OptionError(
        f"--logit-bias: {name!r} is neither a token id nor a text in quotes",
        "like 42=-5 or \"' the'=2\"",
    )


def _bias(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise OptionError(f"--logit-bias: {text!r} is not a number", "like 42=-5") from None
    return number("--logit-bias", value, low=-1e6, high=1e6) or 0.0


def _target(options: ModelOptions) -> Placement:
    return _placement(
        "", gpu_layers=options.gpu_layers, device=options.device, kv=options.kv, context=options.ctx
    )


def _draft(options: ModelOptions) -> Placement:
    return _placement(
        "draft-",
        gpu_layers=options.draft_gpu_layers,
        device=options.draft_device or options.device,
        kv=options.draft_kv,
        context=options.draft_ctx,
    )


def _placement(
    prefix: str,
    *,
    gpu_layers: str | None,
    device: str | None,
    kv: str | None,
    context: str | None,
) -> Placement:
    default = Placement()
    return Placement(
        gpu_layers=layers(f"--{prefix}gpu-layers", gpu_layers, default.gpu_layers),
        device=device,
        kv=one_of(f"--{prefix}kv", kv or default.kv, KV_TYPES),
        context=count(f"--{prefix}ctx", context, high=MOST),
    )


def most_threads() -> int:
    """Give the most threads that are taken: beyond it a machine only waits for itself."""
    return THREADS_A_CPU * (os.cpu_count() or 1)


def number(
    flag: str, value: float | None, *, low: float, high: float, open_low: bool = False
) -> float | None:
    """Check a number's range; None stays None.

    Raises: OptionError, also for nan and infinity.
    """
    if value is None:
        return None
    inside = math.isfinite(value) and low <= value <= high and not (open_low and value == low)
    if not inside:
        above = "above " if open_low else "from "
        raise OptionError(f"{flag} must be a number {above}{low:g} to {high:g}, not {value:g}")
    return value


def whole(flag: str, value: int | None, *, low: int, high: int = MOST) -> int | None:
    """Check a whole number's range; None stays None.

    Raises: OptionError.
    """
    if value is not None and not low <= value <= high:
        raise OptionError(f"{flag} must be a whole number from {low} to {high}, not {value}")
    return value


def count(flag: str, word: str | None, *, high: int = MOST) -> int | None:
    """Read a number or `auto`, which is None.

    Raises: OptionError. What is below 1 is left to `RunSettings` for gamma, which knows better.
    """
    if word is None or word == AUTO:
        return None
    value = _integer(flag, word, "a whole number or auto")
    return value if flag == "--gamma" and value <= high else whole(flag, value, low=1, high=high)


def layers(flag: str, word: str | None, default: Layers) -> Layers:
    """Read a number of layers, `auto` or `all`.

    Raises: OptionError.
    """
    if word is None:
        return default
    if word == AUTO:
        return "auto"
    if word == ALL:
        return "all"
    value = _integer(flag, word, "a whole number, auto or all")
    return whole(flag, value, low=0, high=10_000) or 0


def _integer(flag: str, word: str, what: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise OptionError(f"{flag} must be {what}, not {word!r}") from None


def one_of(flag: str, word: str, known: "tuple[str, ...] | list[str]") -> str:
    """Give a word back that is known.

    Raises: OptionError with the nearest name.
    """
    if word not in known:
        raise OptionError(f"{flag}: unknown value '{word}'", nearest(word, known))
    return word
