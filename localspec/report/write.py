"""Documents as JSON text, and their schemas as files.

Knows serialising. Does not know any document.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

SCHEMAS = Path(__file__).parent / "schemas"


def to_json(document: BaseModel) -> str:
    """Give a document as one line of JSON, `schema` first."""
    return json.dumps(
        document.model_dump(mode="json", by_alias=True), ensure_ascii=False, allow_nan=False
    )


def schema_name(kind: type[BaseModel]) -> str:
    """Give a document's name, like `localspec/chat/1`."""
    return str(kind.model_fields["schema_"].default)


def schema_file(kind: type[BaseModel], folder: Path = SCHEMAS) -> Path:
    """Name the file of a document's schema: `chat.1.json` for `localspec/chat/1`."""
    _, name, version = schema_name(kind).split("/")
    return folder / f"{name}.{version}.json"


def schema_text(kind: type[BaseModel]) -> str:
    """Give a document's JSON Schema."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{schema_name(kind).replace('/', ':')}",
        **kind.model_json_schema(by_alias=True, mode="serialization"),
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def write_schemas(kinds: Sequence[type[BaseModel]], folder: Path = SCHEMAS) -> list[Path]:
    """Write the schema of every document."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [schema_file(kind, folder) for kind in kinds]
    for kind, path in zip(kinds, paths, strict=True):
        path.write_text(schema_text(kind), encoding="utf-8")
    return paths
