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
