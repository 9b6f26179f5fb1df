"""From flags, variables and the settings file to `RunSettings`."""

from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest

from localspec.cli import app, binding
from localspec.cli.build import build_settings
from localspec.cli.effective import settings_echo
from localspec.cli.files import check_inputs
from localspec.cli.known import setting_names
from localspec.cli.notes import Notes
from localspec.cli.options import ModelOptions
from localspec.core.sampling import DEFAULT_SAMPLING, SamplingParams
from localspec.errors import NotHere, OptionError
from localspec.runtime.settings import PairFiles, RunSettings

FILES = PairFiles(Path("target.gguf"), Path("draft.gguf"), "pair")


def test_silence_gives_the_defaults_and_nothing_else() -> None:
    assert build_settings(ModelOptions(), FILES) == RunSettings(FILES)


def test_every_setting_of_every_command_may_stand_in_the_settings_file() -> None:
    groups = {
        group
        for _, function in (*app.COMMANDS, *app.MODELS)
        for group in function.__annotations__.values()
        if is_dataclass(group)
    }
    declared = {
        binding.setting_name(each.type)
        for group in groups
        for each in fields(group)
        if binding.is_setting(each.type)
    }
    assert declared == set(setting_names())


FLIPS = {
    "drafter": ("lookup,model", "lookup,model"),
    "plain": (True, "none"),
    "gamma": ("3", 3),
    "rule": ("coupled", "coupled"),
    "strict": (True, True),
    "strict_rows": (4, 4),
    "lookup_min": (3, 3),
    "temp": (0.0, 0.0),
    "top_k": (0, 0),
    "top_p": (0.5, 0.5),
    "min_p": (0.0, 0.0),
    "repeat_penalty": (1.3, 1.3),
    "logit_bias": (["42=-5", "7=1e3"], {"42": -5.0, "7": 1000.0}),
    "seed": (11, 11),
    "max_tokens": (9, 9),
    "ctx": ("777", 777),
    "draft_ctx": ("99", 99),
    "threads": ("3", 3),
    "gpu_layers": ("all", "all"),
    "draft_gpu_layers": ("7", 7),
    "device": ("CUDA0", "CUDA0"),
    "draft_device": ("CPU", "CPU"),
    "kv": ("q8_0", "q8_0"),
    "draft_kv": ("q4_0", "q4_0"),
    "flash_attn": ("off", "off"),
}
KEYS = {"plain": "drafter"}


@pytest.mark.parametrize(("option", "values"), FLIPS.items(), ids=FLIPS)
def test_each_option_changes_what_takes_effect(option: str, values: tuple[object, object]) -> None:
    """E03, E11, G09, G12, I10: each option arrives, and the echo names its value."""
    given, shown = values
    before = settings_echo(build_settings(ModelOptions(), FILES))
    after = settings_echo(build_settings(replace(ModelOptions(), **{option: given}), FILES))
    key = KEYS.get(option, option)
    assert after[key] == shown
    assert before[key] != shown


def test_files_that_lookup_reads_arrive(tmp_path: Path) -> None:
    """J06: a text that the answer will resemble."""
    text = tmp_path / "old.py"
    text.touch()
    settings = build_settings(ModelOptions(expect=text, ngram_from=[text]), FILES)
    assert (settings.expect, settings.ngram_from) == (text, (text,))


def test_a_note_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    notes = Notes()
    for text in ("one", "two", "one"):
        notes.say(text)
    assert capsys.readouterr().err == "one\ntwo\n"
    assert notes.said == ["one", "two"]


@pytest.mark.parametrize("option", ["expect", "ngram_from"])
def test_a_text_that_is_not_there_is_refused(option: str) -> None:
    value = Path("nowhere.txt")
    options = replace(ModelOptions(), **{option: value if option == "expect" else [value]})
    with pytest.raises(NotHere, match=r"nowhere\.txt"):
        check_inputs(options)


def test_one_device_holds_for_both_models() -> None:
    """I02: choosing a device moves the draft, too."""
    settings = build_settings(ModelOptions(device="CPU"), FILES)
    assert (settings.target.device, settings.draft.device) == ("CPU", "CPU")
    other = build_settings(ModelOptions(device="CPU", draft_device="CUDA0"), FILES)
    assert (other.target.device, other.draft.device) == ("CPU", "CUDA0")


def test_a_quantised_cache_of_the_target_leaves_the_draft_alone() -> None:
    """E14, G12: the draft's cache has its own option and stays f16."""
    settings = build_settings(ModelOptions(kv="q8_0"), FILES)
    assert (settings.target.kv, settings.draft.kv) == ("q8_0", "f16")


def test_the_pairs_own_sampling_is_used_where_nothing_was_said() -> None:
    own = SamplingParams(temperature=0.2, top_k=7)
    settings = build_settings(ModelOptions(top_k=9), FILES, recommended=own)
    assert settings.sampling == replace(own, top_k=9)
    assert settings.sampling.top_p == DEFAULT_SAMPLING.top_p


BAD = [
    ({"temp": float("nan")}, "--temp"),
    ({"temp": float("inf")}, "--temp"),
    ({"temp": -0.1}, "--temp"),
    ({"top_k": -1}, "--top-k"),
    ({"top_p": 0.0}, "--top-p"),
    ({"top_p": 1.01}, "--top-p"),
    ({"min_p": -0.5}, "--min-p"),
    ({"repeat_penalty": 0.0}, "--repeat-penalty"),
    ({"seed": -1}, "--seed"),
    ({"seed": 2**63}, "--seed"),
    ({"max_tokens": -1}, "--max-tokens"),
    ({"max_tokens": 10**30}, "--max-tokens"),
    ({"gamma": "0"}, "γ must be 1 or more"),
    ({"gamma": "-3"}, "γ must be 1 or more"),
    ({"gamma": "many"}, "--gamma"),
    ({"gamma": "1000"}, "γ is at most"),
    ({"threads": "0"}, "--threads"),
    ({"threads": "1e3"}, "--threads"),
    ({"ctx": "-1"}, "--ctx"),
    ({"ctx": "99999999999"}, "--ctx"),
    ({"draft_ctx": "x"}, "--draft-ctx"),
    ({"gpu_layers": "-1"}, "--gpu-layers"),
    ({"draft_gpu_layers": "some"}, "--draft-gpu-layers"),
    ({"kv": "q9"}, "--kv"),
    ({"draft_kv": "Q8_0"}, "--draft-kv"),
    ({"flash_attn": "fast"}, "--flash-attn"),
    ({"flash_attn": "off", "kv": "q8_0"}, "--kv q8_0 can only be read with flash attention"),
    ({"flash_attn": "off", "draft_kv": "q4_0"}, "--draft-kv q4_0"),
    ({"rule": "tokens"}, "--rule"),
    ({"strict_rows": 1}, "--strict-rows"),
    ({"strict": True, "gamma": "8"}, "--strict-rows is 8"),
    ({"strict": True, "strict_rows": 6}, "multiple of 4"),
    ({"drafter": "lokup"}, "lokup"),
    ({"drafter": ""}, "unknown drafter"),
    ({"drafter": "lookup,"}, "unknown drafter"),
    ({"drafter": "lookup,lookup"}, "each drafter once"),
    ({"drafter": "auto,lookup"}, "stand alone"),
    ({"drafter": "model", "plain": True}, "contradict"),
    ({"logit_bias": ["42"]}, "--logit-bias"),
    ({"logit_bias": ["=3"]}, "--logit-bias"),
    ({"logit_bias": ["42=nan"]}, "--logit-bias"),
    ({"logit_bias": ["42=much"]}, "--logit-bias"),
    ({"logit_bias": ["the=1"]}, "--logit-bias"),
    ({"logit_bias": ["'the'=1"]}, "needs a model"),
    ({"lookup_min": 0}, "--lookup-min"),
]


@pytest.mark.parametrize(("options", "named"), BAD, ids=[str(case[0]) for case in BAD])
def test_nonsense_is_refused_in_one_line_that_names_it(options, named: str) -> None:
    with pytest.raises(OptionError) as caught:
        build_settings(replace(ModelOptions(), **options), FILES)
    assert named in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"seed": 7}, "coupled"),
        ({"seed": 7, "gamma": "auto"}, "coupled"),
        ({"seed": 7, "gamma": "3"}, "block"),
        ({"seed": 7, "rule": "token"}, "token"),
        ({}, "block"),
    ],
    ids=str,
)
def test_a_seed_repeats_a_text_also_where_lengths_depend_on_the_clock(options, rule: str) -> None:
    """C04: with an automatic gamma only the coupled rule makes a text of the seed alone."""
    assert build_settings(replace(ModelOptions(), **options), FILES).rule.value == rule


def test_a_draft_of_no_tokens_leads_to_plain() -> None:
    with pytest.raises(OptionError) as caught:
        build_settings(ModelOptions(gamma="0"), FILES)
    assert "--plain" in caught.value.hint


@pytest.mark.parametrize("name", ["eagle3", "mtp", "medusa", "layerskip"])
def test_a_drafter_that_is_not_built_yet_is_refused_or_ready(name: str) -> None:
    """No option is accepted and then ignored."""
    from localspec.runtime.settings import READY

    if name in READY:
        assert build_settings(ModelOptions(drafter=name), FILES).drafters == (name,)
        return
    with pytest.raises(OptionError, match=name):
        build_settings(ModelOptions(drafter=name), FILES)


def test_the_nearest_drafter_is_named() -> None:
    with pytest.raises(OptionError) as caught:
        build_settings(ModelOptions(drafter="lokup"), FILES)
    assert caught.value.hint == "did you mean 'lookup'?"


def test_a_bias_by_text_is_looked_up() -> None:
    options = ModelOptions(logit_bias=["' the'=2", "'a=b'=-1"])
    settings = build_settings(options, FILES, token_of={" the": 262, "a=b": 9}.__getitem__)
    assert settings.sampling.logit_bias == {262: 2.0, 9: -1.0}
