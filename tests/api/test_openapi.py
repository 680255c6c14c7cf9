"""OpenAPI: every response conforms to the API's own description."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import schemathesis
from builders.schemas.incidents import CHILD, INCIDENT, NIC, RESOLVED
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks

from api.app import create_app
from schemas.documents.incident import encode
from store.client import Store
from streams.sink import rows as sink_rows


@pytest.fixture(scope="module")
def filled(engine: Store) -> Store:
    for incident in (INCIDENT, NIC, CHILD, RESOLVED):
        engine.insert("incidents", sink_rows.incident(encode(incident)))
    return engine


class EmptyStore:
    """The document does not depend on the database."""

    def rows(self, sql: str, parameters: object = None) -> list[dict[str, object]]:
        return []


# A stream has no end: tests/api/test_incident_stream.py is about it.
schema = schemathesis.openapi.from_dict(create_app(EmptyStore()).openapi()).exclude(
    path="/api/v1/stream"
)


@schema.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
def test_every_response_conforms_to_the_openapi_document(
    case: Any, filled: Store, server: httpx.Client
) -> None:
    case.call_and_validate(
        base_url=str(server.base_url),
        checks=[
            checks.not_a_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_schema_conformance,
        ],
    )


DOCUMENT = create_app(EmptyStore()).openapi()


def test_operations_have_short_names_of_their_own_for_generated_clients() -> None:
    ids = [
        operation["operationId"]
        for operations in DOCUMENT["paths"].values()
        for operation in operations.values()
    ]
    assert len(set(ids)) == len(ids)
    assert {"incidents", "incident", "act_on_incident", "paths", "components"} <= {*ids}


def test_every_operation_of_the_api_says_how_it_refuses() -> None:
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            if path.startswith("/api/"):
                assert {"401", "403", "422", "429"} <= operation["responses"].keys(), path
            for status, response in operation["responses"].items():
                if status >= "400" and path not in ("/readyz",):
                    assert [*response["content"]] == ["application/problem+json"], (path, status)


def test_times_are_described_as_such() -> None:
    properties = DOCUMENT["components"]["schemas"]["Incident"]["properties"]
    assert properties["opened_at"]["format"] == "date-time"
    assert {"type": "string", "format": "date-time"} in properties["closed_at"]["anyOf"]
