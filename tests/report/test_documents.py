"""The shipped JSON Schemas and the documents they describe."""

import json

import pytest
from pydantic import BaseModel, ValidationError

from localspec.core.events import FinishReason, Origin, Prefill, Step
from localspec.core.tally import Tally
from localspec.report.answer import AnswerFacts, chat_document, event_document
from localspec.report.documents import ChatDocument, ErrorDocument
from localspec.report.kinds import DOCUMENTS
from localspec.report.predict import predict_document
from localspec.report.write import SCHEMAS, schema_file, schema_name, schema_text, to_json


def _answer() -> ChatDocument:
    tally = Tally()
    tally.add(Prefill(5, 0, 0.5))
    tally.add(Step((1,), (Origin.TARGET,), 5, baseline=True, verify_s=0.1))
    tally.add(
        Step(
            (2, 3, 4),
            (Origin.DRAFT, Origin.DRAFT, Origin.TARGET),
            6,
            drafter="model",
            drafted=4,
            judged=3,
            accepted=2,
            draft_s=0.05,
            verify_s=0.15,
        )
    )
    facts = AnswerFacts(
        "pair", "model", "merhaba ığş", FinishReason.STOP, 0.25, {"temp": 0.0, "stop": ["x"]}
    )
    return chat_document(facts, tally)


@pytest.mark.parametrize("kind", DOCUMENTS, ids=schema_name)
def test_the_shipped_schema_is_current(kind: type[BaseModel]) -> None:
    """`python -m localspec.report` writes them anew."""
    assert schema_file(kind).read_text(encoding="utf-8") == schema_text(kind)


def test_no_schema_is_left_over() -> None:
    assert {path.name for path in SCHEMAS.iterdir()} == {schema_file(k).name for k in DOCUMENTS}


@pytest.mark.parametrize("kind", DOCUMENTS, ids=schema_name)
def test_every_key_is_required_so_that_nobody_has_to_guess(kind: type[BaseModel]) -> None:
    schema = json.loads(schema_text(kind))
    assert set(schema["required"]) == set(schema["properties"])
    assert schema["additionalProperties"] is False


def test_an_answer_is_a_document_with_the_counters_of_its_tally() -> None:
    """E01, E02, E08: counters as defined, and all of them shown."""
    text = to_json(_answer())
    document = json.loads(text)
    assert next(iter(document)) == "schema"
    assert "merhaba ığş" in text
    assert document["counts"] == {
        "prompt": 5,
        "emitted": 4,
        "target_passes": 2,
        "drafted": 4,
        "judged": 3,
        "accepted": 2,
        "cut": 0,
    }
    assert document["acceptance_rate"] == pytest.approx(2 / 3)
    assert document["acceptance_by_position"] == [1.0, 1.0, 0.0]
    assert document["tokens_per_pass"] == 2.0
    assert document["origins"] == ["target", "draft", "draft", "target"]
    assert document["baseline"]["tokens_per_s"] == pytest.approx(10.0)
    assert document["speedup"] == {
        "value": pytest.approx(4 / 0.3 / 10),
        "low": None,
        "high": None,
    }
    assert document["timing"]["decode_s"] == pytest.approx(0.3)
    (account,) = document["accounts"]
    assert account["accepted"] == 2
    assert account["saved_s"] == pytest.approx(3 * 0.1 - account["seconds"])
    assert account["share_of_saving"] == pytest.approx(1.0)
    assert account["draft_temperature"] == 1.0


def test_documents_read_back_as_they_were_written() -> None:
    for document in (
        _answer(),
        predict_document(0.7, 0.1),
        ErrorDocument(error="no", hint="", exit_code=5),
        event_document(Step((2,), (Origin.TARGET,), 6), index=0, texts=["a"]),
    ):
        assert type(document).model_validate_json(to_json(document)) == document


def test_what_is_not_a_number_is_in_no_document() -> None:
    with pytest.raises(ValidationError):
        predict_document(float("nan"), 0.1)


def test_an_answer_without_a_measured_baseline_claims_no_speedup() -> None:
    tally = Tally()
    tally.add(
        Step(
            (2, 3),
            (Origin.DRAFT, Origin.TARGET),
            6,
            drafter="lookup",
            drafted=1,
            judged=1,
            accepted=1,
            verify_s=0.1,
        )
    )
    facts = AnswerFacts("pair", "lookup", "", FinishReason.LENGTH, 0.0, {})
    document = chat_document(facts, tally)
    assert (document.baseline, document.speedup) == (None, None)
