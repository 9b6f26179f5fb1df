"""Contexts and layers from what is free; `check --quick` from headers alone."""

from pathlib import Path

import pytest

from localspec.cli import quick, room
from localspec.cli.build import build_settings
from localspec.cli.notes import Notes
from localspec.cli.options import ModelOptions
from localspec.cli.quick import quick_check, quick_document, quick_lines
from localspec.errors import PairRefused
from localspec.pairs.memory import estimate
from localspec.pairs.placement import DEVICE_RESERVE_BYTES, Device
from localspec.report.documents import CheckDocument
from localspec.report.write import to_json
from localspec.runtime.settings import PairFiles
from tests.models import write_llama
from tests.pairs.pairs_gguf import Spec, texts, write

MB = 1_000_000


@pytest.fixture
def settings(tiny_pair):
    def make(**options: str):
        files = PairFiles(tiny_pair.target, tiny_pair.draft, "pair")
        return build_settings(ModelOptions(**options), files)

    return make


def _need(settings) -> int:
    headers = room.headers_of(settings)
    assert headers
    return room.need(settings, headers).total


def test_with_memory_enough_nothing_changes(settings) -> None:
    notes = Notes(quiet=True)
    assert room.make_room(settings(), notes) == settings()
    assert notes.said == []


def test_auto_takes_the_longest_context_that_fits_and_says_so(settings, monkeypatch) -> None:
    """H10: nothing is loaded to find out."""
    most, least = _need(settings()), _need(settings(ctx="512"))
    free = int((most + least) / 2 / 0.9)
    monkeypatch.setattr(room, "available_bytes", lambda: free)
    notes = Notes(quiet=True)
    found = room.make_room(settings(), notes).target.context
    assert found
    assert 512 <= found < 4096
    assert _need(settings(ctx=str(found))) <= 0.9 * free
    assert f"a context of {found} tokens" in notes.said[0]


def test_a_context_that_cannot_fit_is_refused_with_its_parts(settings, monkeypatch) -> None:
    """H10, I03: weights, caches and buffers of both are named."""
    monkeypatch.setattr(room, "available_bytes", lambda: 10 * MB)
    with pytest.raises(PairRefused) as caught:
        room.make_room(settings(ctx="4096"), Notes(quiet=True))
    for word in ("target", "draft", "weights", "cache", "buffers", "10 MB is free"):
        assert word in caught.value.message
    assert "--ctx" in caught.value.hint


def test_a_long_context_is_given_to_flash_attention_before_it_is_refused(
    settings, monkeypatch
) -> None:
    """The table of scores that plain products need grows with the context; speed comes second."""
    plain, fused = (_need(settings(ctx="32768", flash_attn=way)) for way in ("off", "on"))
    assert fused < plain
    monkeypatch.setattr(room, "available_bytes", lambda: (plain + fused) // 2)
    notes = Notes(quiet=True)
    assert room.make_room(settings(ctx="32768"), notes).flash_attn == "on"
    with pytest.raises(PairRefused):
        room.make_room(settings(ctx="32768", flash_attn="off"), notes)
    monkeypatch.setattr(room, "available_bytes", lambda: plain + 1)
    assert room.make_room(settings(ctx="32768"), notes).flash_attn == "auto"


def test_not_even_a_short_context_fits(settings, monkeypatch) -> None:
    monkeypatch.setattr(room, "available_bytes", lambda: 1000)
    with pytest.raises(PairRefused, match="the pair needs"):
        room.make_room(settings(), Notes(quiet=True))


def test_a_file_that_is_both_is_counted_once(tiny_pair) -> None:
    """I05: the weights are shared."""
    twice = build_settings(ModelOptions(), PairFiles(tiny_pair.target, tiny_pair.target))
    headers = room.headers_of(twice)
    assert headers
    found = room.need(twice, headers)
    assert found.draft
    assert found.total == found.target.total + found.draft.kv + found.draft.compute


def test_the_draft_goes_onto_a_small_device_first(settings) -> None:
    """I01: and the reason is said in one line."""
    headers = room.headers_of(settings())
    assert headers
    assert headers.draft
    _, draft = room.loads(settings(), headers)
    device = Device("GPU0", DEVICE_RESERVE_BYTES + estimate(headers.draft, draft).total * 6 // 5)
    notes = Notes(quiet=True)
    found = room.placed(settings(), headers, [device], notes)
    assert found.draft.gpu_layers == "auto"
    assert isinstance(found.target.gpu_layers, int)
    assert "the draft first" in notes.said[0]


def test_a_large_device_takes_all(settings) -> None:
    headers = room.headers_of(settings())
    assert headers
    notes = Notes(quiet=True)
    assert room.placed(settings(), headers, [Device("GPU0", 10**11)], notes) == settings()
    assert notes.said == []


def test_layers_that_were_asked_for_stay(settings) -> None:
    wanted = settings(gpu_layers="1", draft_gpu_layers="0")
    headers = room.headers_of(wanted)
    assert headers
    device = Device("GPU0", DEVICE_RESERVE_BYTES + 3 * MB)
    assert room.placed(wanted, headers, [device], Notes(quiet=True)) == wanted


def test_quick_says_a_fitting_pair_fits_and_claims_no_speed(settings) -> None:
    found = quick_check(settings())
    document = CheckDocument.model_validate_json(to_json(quick_document(found)))
    assert found.fits
    assert document.costs is None
    assert document.predicted == []
    assert document.verdict.speedup is None
    assert document.verdict.use == "model"
    assert "memory" in {each.id for each in document.findings}
    assert "It fits" in quick_lines(found)[-1]


def test_quick_refuses_with_the_first_difference(tmp_path: Path) -> None:
    """A01: headers alone, with the id and both texts."""
    target = write(tmp_path / "target.gguf", Spec(blocks=3))
    words = texts(512)
    words[300] = "other"
    draft = write(tmp_path / "draft.gguf", Spec(blocks=1, tokens=tuple(words)))
    found = quick_check(build_settings(ModelOptions(), PairFiles(target, draft)))
    assert not found.fits
    assert "300" in found.refusal
    assert quick_document(found).verdict.use is None
    assert "It cannot run" in quick_lines(found)[-1]


def test_quick_refuses_what_does_not_fit_in_memory(settings) -> None:
    found = quick_check(settings(), free_bytes=1000)
    assert not found.fits
    assert "free" in found.refusal


def test_quick_warns_of_a_draft_that_is_larger(tmp_path: Path, tiny_pair) -> None:
    """A15."""
    small = write_llama(tmp_path / "small.gguf", n_layer=1)
    found = quick_check(build_settings(ModelOptions(), PairFiles(small, tiny_pair.target)))
    assert any("draft is larger than target" in each.detail for each in found.findings)


def test_quick_without_a_draft_looks_at_memory_alone(tiny_pair) -> None:
    found = quick_check(build_settings(ModelOptions(plain=True), PairFiles(tiny_pair.target)))
    assert [each.id for each in found.findings] == [quick.MEMORY]
    assert found.mode is None
