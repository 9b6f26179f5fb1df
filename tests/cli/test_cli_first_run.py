"""`localspec chat` and nothing more."""

from dataclasses import replace

import pytest

from localspec.cli import firstrun, pairs_here
from localspec.cli.notes import Notes
from localspec.errors import HubError, NotHere
from localspec.measure.machine import this_machine
from localspec.pairs.catalogue import load_catalogue


@pytest.fixture
def pairs():
    return list(load_catalogue().pairs.values())


@pytest.fixture
def machine():
    return replace(this_machine(), available_bytes=16_000_000_000, threads=8)


@pytest.mark.parametrize("gigabytes", [2, 4, 8, 16, 32])
def test_the_proposal_fits_and_is_free_for_all(gigabytes: int, pairs, machine) -> None:
    there = replace(machine, available_bytes=gigabytes * 10**9)
    pair = firstrun.propose(pairs, there)
    if pair is None:
        assert gigabytes == 2
        return
    assert pair.memory_bytes < there.available_bytes
    assert not any(model.gated for model in pair.models)
    assert pair.drafter == "model"
    assert pair.name != "demo"


def test_fewer_cores_mean_a_smaller_proposal(pairs, machine) -> None:
    small, large = (firstrun.propose(pairs, replace(machine, threads=n)) for n in (2, 16))
    assert small
    assert large
    assert small.target.bytes < large.target.bytes


def test_what_is_here_comes_before_what_is_larger(pairs, machine, monkeypatch) -> None:
    monkeypatch.setattr(pairs_here, "is_here", lambda pair: pair.name == "qwen2.5-coder-1.5b")
    found = firstrun.propose(pairs, machine)
    assert found
    assert found.name == "qwen2.5-coder-1.5b"


def test_off_a_terminal_it_is_exit_code_5_with_the_commands(run) -> None:
    ran = run("chat", "-p", "x")
    assert (ran.code, ran.out) == (5, "")
    assert "localspec models pull " in ran.err
    assert "localspec chat demo" in ran.err


def test_no_is_no_and_nothing_is_fetched(monkeypatch) -> None:
    monkeypatch.setattr(pairs_here, "on_a_terminal", lambda: True)
    monkeypatch.setattr(pairs_here, "confirm", lambda _: False)
    with pytest.raises(NotHere, match="nothing was downloaded"):
        firstrun.first_pair(Notes(quiet=True), yes=False, offline=False)


def test_the_question_names_one_pair_with_size_and_licence(monkeypatch) -> None:
    monkeypatch.setattr(pairs_here, "on_a_terminal", lambda: True)
    asked: list[str] = []
    monkeypatch.setattr(pairs_here, "confirm", lambda q: asked.append(q) is None)
    monkeypatch.setattr(pairs_here, "fetch", lambda *_a, **_k: [])
    name = firstrun.first_pair(Notes(quiet=True), yes=False, offline=False)
    (question,) = asked
    assert question.startswith(name)
    assert "GB" in question
    assert "licence" in question


def test_when_nothing_can_be_reached_the_demo_is_offered(monkeypatch) -> None:
    def broken(*_a, **_k):
        raise HubError("the hub cannot be reached", "check the network")

    monkeypatch.setattr(pairs_here, "on_a_terminal", lambda: True)
    monkeypatch.setattr(pairs_here, "confirm", lambda _: True)
    monkeypatch.setattr(pairs_here, "fetch", broken)
    with pytest.raises(HubError) as caught:
        firstrun.first_pair(Notes(quiet=True), yes=False, offline=False)
    assert "localspec chat demo" in caught.value.hint


def test_when_nothing_fits_the_demo_is_offered(monkeypatch) -> None:
    tiny = replace(this_machine(), available_bytes=10**6)
    monkeypatch.setattr(firstrun, "this_machine", lambda: tiny)
    with pytest.raises(NotHere) as caught:
        firstrun.first_pair(Notes(quiet=True), yes=True, offline=False)
    assert "localspec chat demo" in caught.value.hint


@pytest.mark.parametrize("value", ["1", "true", "ON"])
def test_the_hubs_own_variable_means_offline(value: str, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    monkeypatch.setattr(pairs_here, "on_a_terminal", lambda: True)
    monkeypatch.setattr(pairs_here, "confirm", lambda _: pytest.fail("asked"))
    with pytest.raises(NotHere) as caught:
        firstrun.first_pair(Notes(quiet=True), yes=False, offline=False)
    assert "localspec models pull" in caught.value.hint
