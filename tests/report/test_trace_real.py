"""Real answers of a real pair: the laws that were compared, and the sums that come out at p."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from localspec.core.events import Step
from localspec.core.explained import RecordingJudge, explain, split
from localspec.core.judge import make_judge
from localspec.core.rules import RuleName
from localspec.core.sampling import SamplingParams
from localspec.report.trace import Tracer
from localspec.report.trace_figures import shares
from localspec.runtime.demo_pair import demo_files
from localspec.runtime.pair import Runtime, open_runtime
from localspec.runtime.settings import RunSettings

WARM = SamplingParams(temperature=1.0, top_k=400, top_p=1.0, min_p=0.0)
QUESTIONS = ("Tell a short story about a lighthouse.", "Why is the sky blue?")
TOKENS = 120


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCALSPEC_CACHE", str(tmp_path_factory.mktemp("cache")))
        settings = RunSettings(
            demo_files(lambda _: None),
            drafters=("model",),
            gamma=4,
            rule=RuleName.TOKEN,
            sampling=WARM,
            seed=7,
            max_tokens=TOKENS,
            keep_laws=True,
        )
        with open_runtime(settings, lambda _: None) as opened:
            yield opened


@pytest.fixture(scope="module")
def steps(runtime: Runtime) -> list[tuple[Step, list[float]]]:
    """Every round of a few answers, with its draws."""
    found = []
    for question in QUESTIONS:
        assert runtime.template
        prompt = runtime.template.prompt_ids([{"role": "user", "content": question}])
        judge = RecordingJudge(make_judge(RuleName.TOKEN, runtime.seed, len(prompt)))
        for event in runtime.generate(np.array(prompt, np.int32), judge=judge):
            if isinstance(event, Step):
                found.append((event, list(judge.draws)))
    return found


def test_a_thousand_random_places_of_real_answers_come_out_at_p(steps) -> None:
    places = [
        (step.laws.target[i], step.laws.draft[i]) for step, _ in steps for i in range(step.judged)
    ]
    assert len(places) > 100
    rng = np.random.default_rng(1)
    worst = 0.0
    for place in rng.integers(0, len(places), 1000):
        p, q = places[place]
        accepted, replaced = split(p, q)
        worst = max(worst, float(np.abs(accepted + replaced - p.probs).max()))
    assert worst < 1e-9


def test_a_real_trace_tells_the_rounds_as_they_were(steps, runtime: Runtime) -> None:
    vocabulary = runtime.vocabulary
    tracer = Tracer(vocabulary.piece, RuleName.TOKEN, vocabulary.eog, vocabulary.size)
    fallen = 0
    for step, draws in steps:
        one = tracer.round(step, draws)
        reason = explain(step, RuleName.TOKEN, draws)
        assert one.accepted == step.accepted
        assert [g.accepted for g in one.drafted[: step.judged]] == [
            guess.draw < guess.chance for guess in reason.guesses
        ]
        if not step.cut:
            assert reason.source.sample(reason.draw) == step.tokens[-1]
        for law in one.laws:
            lines = shares(law)
            assert max(abs(line.accepted + line.replaced - line.p) for line in lines) < 1e-9
        fallen += one.replacement is not None
    assert fallen > 10


def test_the_packaged_page_files_are_all_there() -> None:
    import localspec.report

    folder = Path(localspec.report.__file__).parent / "page"
    kinds = {path.suffix for path in folder.iterdir()}
    assert kinds == {".j2", ".css", ".js", ".json"}
