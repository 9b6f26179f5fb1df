"""The options of the commands that run a pair: one declaration each, no default stated here.

A field is None (or empty) when nobody said anything; the default is then the pair's or the one of
`runtime.settings` and `core`. Every `setting` is a flag, a variable LOCALSPEC_… and a key of the
settings file at once. Does not know what an option does.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from localspec.cli.binding import flag, setting
from localspec.cli.complete import draft_names, drafter_names, pair_names

PAIR = "Pair"
DRAFTING = "Drafting"
SAMPLING = "Sampling"
MACHINE = "Machine"
ANSWER = "Answer"
LOOK = "Look"


@dataclass(frozen=True)
class ModelOptions:
    """What chat, bench, check and trace share."""

    pair: Annotated[
        str | None,
        typer.Argument(
            metavar="PAIR",
            help="A name of `localspec models list`; @QUANT picks another quantisation.",
            autocompletion=pair_names,
            show_default=False,
        ),
    ] = None
    target: Annotated[
        str | None,
        setting(
            "--target",
            group=PAIR,
            metavar="REF",
            help="Target: a GGUF file or user/repo[:quant].",
            complete=draft_names,
        ),
    ] = None
    draft: Annotated[
        str | None,
        setting(
            "--draft",
            group=PAIR,
            metavar="REF",
            help="Draft model: a second, smaller GGUF file or user/repo[:quant].",
            complete=draft_names,
        ),
    ] = None
    head: Annotated[
        Path | None,
        setting(
            "--head",
            group=PAIR,
            metavar="FILE",
            help="Heads that guess from the target's own states (eagle3, medusa); made for it.",
        ),
    ] = None
    tuned: Annotated[
        bool | None,
        flag(
            "--tuned/--no-tuned",
            group=PAIR,
            help="Use the files, drafter and γ that `localspec tune` chose for this pair.",
        ),
    ] = None
    offline: Annotated[
        bool | None,
        setting("--offline", group=PAIR, help="Use what is here; touch no network."),
    ] = None
    yes: Annotated[bool, flag("--yes", "-y", group=PAIR, help="Answer yes to a download.")] = False
    drafter: Annotated[
        str | None,
        setting(
            "--drafter",
            group=DRAFTING,
            metavar="NAMES",
            complete=drafter_names,
            help="Who guesses: auto, model, lookup, ngram, layerskip, eagle3, mtp, medusa "
            "or none; a comma list asks them in that order.",
        ),
    ] = None
    plain: Annotated[
        bool, flag("--plain", "--no-draft", group=DRAFTING, help="The same as --drafter none.")
    ] = False
    gamma: Annotated[
        str | None,
        setting(
            "--gamma",
            "-g",
            group=DRAFTING,
            metavar="N|auto",
            help="Draft tokens asked for per target pass.",
        ),
    ] = None
    rule: Annotated[
        str | None,
        setting(
            "--rule",
            group=DRAFTING,
            metavar="RULE",
            help="How guesses are judged, exact each: block, token, or coupled (the text "
            "depends on the seed alone; the default with --seed and an automatic γ).",
        ),
    ] = None
    strict: Annotated[
        bool | None,
        setting(
            "--strict/--no-strict",
            group=DRAFTING,
            help="Pad every pass to one width: text equal to the last bit with any drafter, "
            "or none. Slower.",
        ),
    ] = None
    strict_rows: Annotated[
        int | None,
        setting("--strict-rows", group=DRAFTING, metavar="N", help="That width."),
    ] = None
    expect: Annotated[
        Path | None,
        setting(
            "--expect",
            group=DRAFTING,
            metavar="FILE",
            help="A text that the answer will resemble; lookup guesses from it.",
        ),
    ] = None
    ngram_from: Annotated[
        list[Path] | None,
        flag(
            "--ngram-from",
            group=DRAFTING,
            metavar="FILE",
            help="A text that the ngram drafter learns from; may be repeated.",
        ),
    ] = None
    lookup_min: Annotated[
        int | None,
        setting(
            "--lookup-min",
            group=DRAFTING,
            metavar="N",
            help="Shortest repeated run of tokens that lookup believes.",
        ),
    ] = None
    temp: Annotated[
        float | None,
        setting("--temp", group=SAMPLING, metavar="T", help="Temperature; 0 is greedy."),
    ] = None
    top_k: Annotated[
        int | None,
        setting(
            "--top-k", group=SAMPLING, metavar="K", help="Keep the K likeliest tokens; 0 keeps all."
        ),
    ] = None
    top_p: Annotated[
        float | None,
        setting(
            "--top-p",
            group=SAMPLING,
            metavar="P",
            help="Keep the likeliest tokens up to this mass; 1 keeps all.",
        ),
    ] = None
    min_p: Annotated[
        float | None,
        setting(
            "--min-p",
            group=SAMPLING,
            metavar="P",
            help="Drop tokens below this share of the likeliest; 0 drops none.",
        ),
    ] = None
    repeat_penalty: Annotated[
        float | None,
        setting(
            "--repeat-penalty",
            group=SAMPLING,
            metavar="X",
            help="Make tokens seen lately less likely; 1 does not.",
        ),
    ] = None
    logit_bias: Annotated[
        list[str] | None,
        flag(
            "--logit-bias",
            group=SAMPLING,
            metavar="ID=VALUE",
            help="Add to a token's logit, by its id or by its text in quotes: 42=-5 or "
            "\"' the'=2\"; may be repeated.",
        ),
    ] = None
    seed: Annotated[
        int | None,
        setting(
            "--seed",
            group=SAMPLING,
            metavar="N",
            help="Repeats a text. Random, and shown, if not given.",
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        setting(
            "--max-tokens",
            "-n",
            group=ANSWER,
            metavar="N",
            help="Longest answer; 0: until it stops or the context is full.",
        ),
    ] = None
    stop: Annotated[
        list[str] | None,
        flag(
            "--stop",
            group=ANSWER,
            metavar="TEXT",
            help="End the answer before this text; may be repeated.",
        ),
    ] = None
    ctx: Annotated[
        str | None,
        setting("--ctx", "-c", group=MACHINE, metavar="N|auto", help="Context, in tokens."),
    ] = None
    draft_ctx: Annotated[
        str | None,
        setting(
            "--draft-ctx",
            group=MACHINE,
            metavar="N|auto",
            help="The draft's context; auto is the target's.",
        ),
    ] = None
    threads: Annotated[
        str | None,
        setting(
            "--threads",
            "-t",
            group=MACHINE,
            metavar="N|auto",
            help="auto: the fast physical cores we may use.",
        ),
    ] = None
    gpu_layers: Annotated[
        str | None,
        setting(
            "--gpu-layers",
            group=MACHINE,
            metavar="N|auto|all",
            help="The target's layers on the GPU; auto: all that fit.",
        ),
    ] = None
    draft_gpu_layers: Annotated[
        str | None,
        setting(
            "--draft-gpu-layers",
            group=MACHINE,
            metavar="N|auto|all",
            help="The draft's layers on the GPU.",
        ),
    ] = None
    device: Annotated[
        str | None,
        setting(
            "--device",
            group=MACHINE,
            metavar="NAME",
            help="Device for both models; `localspec doctor` lists them.",
        ),
    ] = None
    draft_device: Annotated[
        str | None,
        setting(
            "--draft-device", group=MACHINE, metavar="NAME", help="Another device for the draft."
        ),
    ] = None
    kv: Annotated[
        str | None,
        setting("--kv", group=MACHINE, metavar="TYPE", help="The target's cache: f16, q8_0, …"),
    ] = None
    draft_kv: Annotated[
        str | None,
        setting("--draft-kv", group=MACHINE, metavar="TYPE", help="The draft's cache."),
    ] = None
    flash_attn: Annotated[
        str | None,
        setting("--flash-attn", group=MACHINE, metavar="auto|on|off", help="auto: if faster."),
    ] = None
