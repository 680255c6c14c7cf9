"""JSON Schemas: each describes its document, and the files in the folder are up to date."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest
from builders.schemas.documents import EXAMPLES

from schemas import json_schemas


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_document_is_read_as_it_was_written(name: str) -> None:
    document = EXAMPLES[name]
    assert msgspec.json.decode(msgspec.json.encode(document), type=type(document)) == document


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_document_meets_its_schema(name: str) -> None:
    raw = json.loads(msgspec.json.encode(EXAMPLES[name]))
    jsonschema.validate(raw, json_schemas.schema(name))


@pytest.mark.parametrize("name", json_schemas.DOCUMENTS)
def test_the_schema_in_the_folder_is_the_one_of_the_struct(name: str) -> None:
    file = f"{name}.schema.json"
    assert (json_schemas.FOLDER / file).read_text() == json_schemas.files()[file], (
        "run skeletonhunter topics --json-schemas schemas/json"
    )


@pytest.mark.parametrize("name", json_schemas.DOCUMENTS)
def test_a_schema_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schemas.schema(name))


@pytest.mark.parametrize("name", json_schemas.DOCUMENTS)
def test_the_example_in_a_schema_meets_it_and_is_read(name: str) -> None:
    schema = json_schemas.schema(name)
    (example,) = schema["examples"]
    jsonschema.validate(example, schema)
    kind = json_schemas.DOCUMENTS[name]
    assert msgspec.json.decode(json.dumps(example).encode(), type=kind)
    assert schema["$id"].endswith(f":{json_schemas.VERSION}")


def test_fields_have_descriptions_and_times_their_format() -> None:
    incident = json_schemas.schema("incident")["$defs"]["Incident"]["properties"]
    assert incident["opened_at"]["format"] == "date-time"
    assert {"type": "string", "format": "date-time"} in incident["closed_at"]["anyOf"]
    assert incident["issue_type"]["description"].startswith("null unless one type")
    assert incident["issue_type"]["description"].endswith("has all probabilities")
    assert "format" not in incident["fabric"]
