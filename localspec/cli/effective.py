"""Every option as it took effect, named like its flag: what was asked, and what the engine got.

Knows settings and a loaded pair. Does not know where a value came from.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localspec.runtime.settings import AUTO, RunSettings

if TYPE_CHECKING:
    from localspec.engine.context import Context
    from localspec.runtime.pair import Runtime

OptionValue = str | int | float | bool | None | list[str] | dict[str, float]


def effective_options(
    runtime: "Runtime", *, stops: Sequence[str] = (), system: str = ""
) -> dict[str, OptionValue]:
    """Give what a run really used, its seed and the engine's own settings included."""
    return {
        **settings_echo(runtime.settings),
        "seed": runtime.seed,
        "stop": list(stops),
        "system": system,
        **_engine(runtime),
    }


def settings_echo(settings: RunSettings) -> dict[str, OptionValue]:
    """Give the settings of a run by the names of their flags."""
    files, target, draft = settings.files, settings.target, settings.draft
    return {
        "target": str(files.target),
        "draft": str(files.draft) if files.draft else None,
        "head": str(settings.head) if settings.head else None,
        "drafter": ",".join(settings.drafters),
        "gamma": AUTO if settings.gamma is None else settings.gamma,
        "rule": settings.rule.value,
        "strict": settings.strict,
        "strict_rows": settings.strict_rows,
        "expect": str(settings.expect) if settings.expect else None,
        "ngram_from": [str(path) for path in settings.ngram_from],
        "lookup_min": settings.lookup_min,
        **_sampling(settings),
        "seed": settings.seed,
        "max_tokens": settings.max_tokens,
        "ctx": target.context or AUTO,
        "draft_ctx": draft.context or AUTO,
        "threads": settings.threads or AUTO,
        "gpu_layers": target.gpu_layers,
        "draft_gpu_layers": draft.gpu_layers,
        "device": target.device,
        "draft_device": draft.device,
        "kv": target.kv,
        "draft_kv": draft.kv,
        "flash_attn": settings.flash_attn,
    }


def _sampling(settings: RunSettings) -> dict[str, OptionValue]:
    law = settings.sampling
    return {
        "temp": law.temperature,
        "top_k": law.top_k,
        "top_p": law.top_p,
        "min_p": law.min_p,
        "repeat_penalty": law.repeat_penalty,
        "presence_penalty": law.presence_penalty,
        "frequency_penalty": law.frequency_penalty,
        "logit_bias": {str(token): bias for token, bias in law.logit_bias.items()},
    }


def _engine(runtime: "Runtime") -> dict[str, OptionValue]:
    """Give what `auto` became, and the engine's settings that no flag names."""
    from localspec.engine.library import (  # noqa: PLC0415  (loaded by now)
        engine_version,
        waiting_policy,
    )

    loaded = runtime.loaded
    return {
        "ctx": loaded.target.capacity,
        "draft_ctx": loaded.draft.capacity if loaded.draft else None,
        "threads": loaded.target.threads[0],
        "threads_of_wider_passes": loaded.target.threads[1],
        "waiting": waiting_policy(),
        "engine": f"llama-cpp-python {engine_version()}",
        **_context("target", loaded.target),
        **(_context("draft", loaded.draft) if loaded.draft else {}),
    }


def _context(side: str, context: "Context") -> dict[str, OptionValue]:
    from localspec.engine.shape import attends_plainly  # noqa: PLC0415  (loaded by now)

    options = context.options
    return {
        f"{side}_batch": context.width,
        f"{side}_max_rows": context.max_rows,
        f"{side}_flash_attn": not attends_plainly(context.model, options),
        f"{side}_swa_full": options.swa_full,
        f"{side}_rollback": context.way.value,
        f"{side}_snapshots": context.forgetting.snapshots,
        f"{side}_offload_kqv": options.offload_kqv,
    }
