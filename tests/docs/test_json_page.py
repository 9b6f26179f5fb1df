"""The page of JSON documents names every document and every field that there is."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from localspec.report.kinds import DOCUMENTS
from localspec.report.write import schema_name

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
INTRODUCTION, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)
BY_NAME = {section.split("\n", 1)[0]: section for section in SECTIONS}


def _named(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def _name(document: type[BaseModel]) -> str:
    return str(document.model_fields["schema_"].default)


def _nested(document: type[BaseModel]) -> set[str]:
    schema: dict[str, Any] = document.model_json_schema()
    return {name for shape in schema.get("$defs", {}).values() for name in shape["properties"]}


def _all_named() -> set[str]:
    whole = _named(PAGE)
    ends = {f"{name}_{end}" for name in whole for end in ("low", "high")}  # said once for all
    return whole | (ends if {"_low", "_high"} <= whole else set())


def test_every_document_has_a_section_and_no_other_has() -> None:
    assert set(BY_NAME) == {_name(document) for document in DOCUMENTS}


@pytest.mark.parametrize("document", DOCUMENTS, ids=schema_name)
def test_every_field_of_a_document_is_in_its_section(document: type[BaseModel]) -> None:
    fields = set(document.model_fields) - {"schema_"}
    assert fields - _named(BY_NAME[_name(document)]) == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=schema_name)
def test_every_field_within_a_field_is_on_the_page(document: type[BaseModel]) -> None:
    assert _nested(document) - _all_named() == set()
