import random
from dataclasses import replace
from pathlib import Path

import pytest
from pairs_gguf import NORMAL, UNUSED, Spec, texts, token_type, write

from localspec.errors import PairRefused
from localspec.pairs.compat import Finding, Fit, compare, compare_vocabularies, own_head
from localspec.pairs.header import read_header
from localspec.pairs.kinds import mode_of
from localspec.pairs.vocabulary import Vocabulary, read_vocabulary

TARGET = Spec(blocks=4)
CHATML = "{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}"


class Pair:
    """Write two headers and compare them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, target: Spec, draft: Spec) -> Fit:
        paths = [
            write(self.folder / f"{name}.gguf", spec)
            for name, spec in (("target", target), ("draft", draft))
        ]
        return compare(read_header(paths[0]), read_header(paths[1]))


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def found(fit: Fit, name: str) -> Finding:
    return next(finding for finding in fit.findings if finding.id == name)


def renamed(spec: Spec, token: int, text: str) -> Spec:
    tokens = list(spec.tokens)
    types = tuple(token_type(old) for old in tokens)
    tokens[token] = text
    return replace(spec, tokens=tuple(tokens), types=types)


def test_a_pair_with_one_vocabulary_fits_without_a_word(pair: Pair) -> None:
    fit = pair(TARGET, Spec(blocks=2))
    assert fit.verdict == "fits"
    assert fit.mode == "model"
    assert fit.overlap == 1
    assert fit.target_usable == fit.draft_usable == 512
    fit.require()


def test_a_renamed_token_is_refused_with_its_id_and_both_texts(pair: Pair) -> None:
    """A01."""
    fit = pair(TARGET, renamed(Spec(blocks=2), 300, "Ġbanana"))
    with pytest.raises(PairRefused, match=r"token 300 is 'word300' in the target and ' banana'"):
        fit.require()
    with pytest.raises(PairRefused) as caught:
        fit.require(["small-1", "small-2"])
    assert caught.value.hint == "these would fit: small-1, small-2"


@pytest.mark.parametrize(("longer", "side"), [(0, "target"), (1, "draft")])
def test_a_longer_side_with_the_same_beginning_fits_and_is_named(
    pair: Pair, longer: int, side: str
) -> None:
    """A02."""
    specs = [replace(TARGET, tokens=tuple(texts(512 + 16 * (n == longer)))) for n in (0, 1)]
    fit = pair(specs[0], replace(specs[1], blocks=2))
    assert f"the {side} has 16 extra ids" in found(fit, "size").detail
    assert fit.refusal is None


@pytest.mark.parametrize("longer", [0, 1])
def test_padding_at_the_end_of_either_side_fits(pair: Pair, longer: int) -> None:
    """A03, A04."""
    padded = tuple(texts(768, padding=256))
    specs = [replace(TARGET, tokens=padded if n == longer else TARGET.tokens) for n in (0, 1)]
    fit = pair(specs[0], replace(specs[1], blocks=1))
    assert fit.refusal is None
    assert found(fit, "size").detail.endswith("256 extra ids, all padding")
    assert (fit.target_usable, fit.draft_usable) == (512, 512)


def test_a_vocabulary_of_another_size_altogether_is_refused(pair: Pair) -> None:
    """A09."""
    fit = pair(TARGET, Spec(tokens=tuple(texts(300)), blocks=2))
    assert fit.refusal is not None
    assert "212 extra ids" in fit.refusal.detail


def test_two_hundred_single_edits_are_refused_inside_and_accepted_in_the_tail() -> None:
    """A05."""
    words = tuple(text.encode() for text in texts(512, padding=64))
    kinds = tuple(token_type(text.decode()) for text in words)
    ours = Vocabulary("gpt2", "gpt-2", words, kinds, {}, 448)
    rng = random.Random(3)
    for _ in range(200):
        token = rng.randrange(512)
        edited = list(words)
        edited[token] = bytes(rng.choices(range(97, 123), k=12))
        fit = Fit("model", compare_vocabularies(ours, replace(ours, texts=tuple(edited))))
        if token < 448:
            assert fit.refusal is not None
            assert f"token {token} is" in fit.refusal.detail
        else:
            assert fit.refusal is None
            assert "the same but for 1 unused" in found(fit, "tokens").detail


def test_a_normal_token_renamed_to_look_like_padding_is_still_refused(pair: Pair) -> None:
    """A05."""
    fit = pair(TARGET, renamed(Spec(blocks=2), 400, "[PAD400]"))
    assert fit.refusal is not None


def test_reserved_specials_that_got_a_name_later_are_counted_not_refused(pair: Pair) -> None:
    def reserved(spec: Spec) -> Spec:
        tokens = [*spec.tokens[:500], *(f"<|reserved_special_token_{n}|>" for n in range(12))]
        return replace(spec, tokens=tuple(tokens))

    named = list(reserved(TARGET).tokens)
    named[503] = "<|tool|>"
    fit = pair(replace(TARGET, tokens=tuple(named)), reserved(Spec(blocks=2)))
    assert found(fit, "tokens").detail == "the same but for 1 unused specials"


def test_another_tokenizer_type_is_refused_and_says_what_to_do(pair: Pair) -> None:
    """A07."""
    fit = pair(replace(TARGET, tokenizer="llama"), Spec(blocks=2))
    assert fit.refusal is not None
    assert "tokenizer type" in fit.refusal.detail
    assert "use a draft converted with the target's tokenizer" in fit.refusal.detail


SPECIAL_CASES = [
    ({"eot_token_id": 256}, {}, "eot", "only the target has an EOT token"),
    ({}, {"eot_token_id": 256}, "eot", "only the draft has an EOT token"),
    ({"eot_token_id": 256}, {"eot_token_id": 258}, "eot", "EOT is 256"),
    ({"eot_token_id": 256}, {"eot_token_id": 256}, "eot", ""),
    ({"padding_token_id": 258}, {"padding_token_id": 256}, "pad", "PAD is 258"),
    ({"padding_token_id": 258}, {}, "pad", "only the target has an PAD token"),
    ({"eos_token_id": 256}, {"eos_token_id": 258}, "eos", "EOS is 256 '<|end|>'"),
    ({"eos_token_id": 256}, {"eos_token_id": 9999}, "eos", "only the target has an EOS token"),
    ({"bos_token_id": 257}, {"bos_token_id": 256}, "bos", "BOS is 257"),
    ({"add_bos_token": True}, {"add_bos_token": False}, "add_bos", "only the target adds BOS"),
    ({"add_eos_token": False}, {"add_eos_token": True}, "add_eos", "only the draft adds EOS"),
    ({"add_eos_token": True}, {}, "add_eos", ""),
]


@pytest.mark.parametrize(("ours", "theirs", "name", "words"), SPECIAL_CASES)
def test_special_ids_that_differ_are_worth_a_warning_and_never_a_refusal(
    pair: Pair, ours: dict[str, int], theirs: dict[str, int], name: str, words: str
) -> None:
    """A08."""
    fit = pair(replace(TARGET, specials=ours), Spec(blocks=2, specials=theirs))
    finding = found(fit, name)
    assert fit.refusal is None
    assert finding.level == ("warning" if words else "ok")
    assert words in finding.detail


def test_architectures_of_other_names_fit_by_their_vocabulary(pair: Pair) -> None:
    """A13."""
    assert pair(TARGET, Spec(arch="qwen2", blocks=2)).verdict == "fits"


def test_a_chat_draft_for_a_base_target_is_worth_a_warning(pair: Pair) -> None:
    """B16."""
    fit = pair(TARGET, Spec(blocks=2, template=CHATML))
    assert fit.refusal is None
    assert "the draft was trained to chat (ChatML)" in found(fit, "template").detail
    other = pair(replace(TARGET, template="[INST] {{ x }}"), Spec(blocks=2, template=CHATML))
    assert "target Mistral, draft ChatML" in found(other, "template").detail
    same = pair(replace(TARGET, template=CHATML + " "), Spec(blocks=2, template=CHATML))
    assert found(same, "template").level == "note"


def test_a_swapped_pair_is_noticed(pair: Pair) -> None:
    """A15."""
    fit = pair(Spec(blocks=2), TARGET)
    assert "draft is larger than target" in found(fit, "smaller").detail
    assert found(fit, "smaller").level == "warning"


def head(width: int = 64, taps: tuple[int, ...] = (0, 1, 3), tokens: int = 512) -> Spec:
    numbers = {"{arch}.target_layers": list(taps), "{arch}.target_hidden_size": width}
    return Spec(arch="eagle3", blocks=1, tokens=tuple(texts(tokens)), extra=numbers)


def test_a_head_is_recognised_and_held_against_its_target(pair: Pair) -> None:
    """A14, I07."""
    fit = pair(TARGET, head())
    assert fit.mode == "eagle3"
    assert fit.refusal is None
    assert "--drafter eagle3" in found(fit, "kind").detail
    wide = pair(TARGET, head(width=96))
    assert "made for a hidden size of 96, the target has 64" in wide.verdict
    deep = pair(TARGET, head(taps=(0, 1, 7)))
    assert "reads layer 7, the target has 4" in deep.verdict
    other = pair(TARGET, head(tokens=300))
    assert other.refusal is not None


@pytest.mark.parametrize(
    ("spec", "mode"),
    [
        (Spec(arch="qwen35", blocks=1, extra={"{arch}.nextn_predict_layers": 1}), "mtp"),
        (Spec(arch="qwen35", blocks=2, extra={"{arch}.nextn_predict_layers": 1}), "model"),
        (Spec(arch="medusa", blocks=0), "medusa"),
        (Spec(arch="clip", blocks=0, tokenizer=""), "projector"),
        (Spec(arch="llama", blocks=0, extra={"general.type": "mmproj"}), "projector"),
        (Spec(arch="bert", blocks=1), "embedding"),
        (Spec(arch="qwen3", blocks=1, extra={"{arch}.pooling_type": 3}), "embedding"),
        (Spec(arch="llama", blocks=1, extra={"general.type": "adapter"}), "adapter"),
        (Spec(arch="dflash", blocks=1), "dflash"),
    ],
)
def test_a_file_says_what_it_is_for(tmp_path: Path, spec: Spec, mode: str) -> None:
    """I07."""
    assert mode_of(read_header(write(tmp_path / "file.gguf", spec))) == mode


def test_a_target_says_whether_it_can_guess_for_itself(tmp_path: Path) -> None:
    said = {"{arch}.nextn_predict_layers": 1}
    layered = Spec(arch="qwen35", blocks=3, extra=said, prediction_layers=1)
    fit = own_head(read_header(write(tmp_path / "with.gguf", layered)))
    assert fit.mode == "mtp"
    assert fit.refusal is None
    assert fit.target_usable == 512
    cut = own_head(read_header(write(tmp_path / "cut.gguf", replace(layered, prediction_layers=0))))
    assert "left out of its file" in cut.verdict
    plain = own_head(read_header(write(tmp_path / "without.gguf", TARGET)))
    assert "no prediction layer" in plain.verdict


def test_what_writes_no_text_is_refused_as_either_side(pair: Pair) -> None:
    projector = Spec(arch="clip", blocks=0, tokenizer="")
    assert "the draft is a projector" in pair(TARGET, projector).verdict
    assert "the target is an embedding model" in pair(Spec(arch="bert"), TARGET).verdict
    assert "the target is an eagle3 head" in pair(head(), TARGET).verdict


def test_a_file_without_vocabulary_is_refused_in_words(tmp_path: Path) -> None:
    header = read_header(write(tmp_path / "bare.gguf", Spec(tokenizer="")))
    with pytest.raises(PairRefused, match="carries no vocabulary"):
        read_vocabulary(header)


def test_types_decide_what_a_padding_name_means() -> None:
    words = (b"a", b"[PAD1]", b"")
    assert Vocabulary("gpt2", "", words, (NORMAL, UNUSED, NORMAL), {}, 1).means_nothing(1)
    assert not Vocabulary("gpt2", "", words, (NORMAL,) * 3, {}, 2).means_nothing(1)
    assert Vocabulary("gpt2", "", words, (NORMAL,) * 3, {}, 2).means_nothing(2)


def test_the_demo_model_fits_itself(smol: Path) -> None:
    header = read_header(smol)
    fit = compare(header, header)
    assert fit.refusal is None
    assert found(fit, "smaller").detail == "draft and target are the same file"
