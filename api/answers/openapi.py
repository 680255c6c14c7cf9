"""The OpenAPI document: what all operations have in common is added here, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.documents import Problem, described, json_schemas

#: Status -> when every operation of /api may answer it.
_ANY: Final = {
    401: "A token is needed, or is not known (where the API has tokens)",
    403: "This client may not do this",
    422: "A parameter or field is invalid; errors says which",
    429: "Too many requests of this client; Retry-After says when to come again",
}
_BODY: Final = {
    400: "The body is not UTF-8", 413: "The body is too large", 415: "A body is application/json",
}  # fmt: skip
_TIMES: Final = ("at", "since", "valid_from", "window_start", "window_end")
#: FastAPI's own documents of errors, which are not sent.
_UNUSED: Final = ("HTTPValidationError", "ValidationError")
_SECURITY: Final = {
    "token": {
        "type": "http", "scheme": "bearer",
        "description": "Where the API has tokens (SKH_API_TOKENS)",
    },
    "session": {
        "type": "apiKey", "in": "cookie", "name": "skh_token",
        "description": "The same for browsers, see /api/v1/session",
    },
}  # fmt: skip


def document(app: FastAPI, further: Sequence[type[msgspec.Struct]]) -> dict[str, Any]:
    """The description of an application.

    further  documents beside those of ``api.documents``
    """
    made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    parts = made.setdefault("components", {})
    parts["securitySchemes"] = _SECURITY
    schemas = parts.setdefault("schemas", {})
    schemas.update(
        {name: _open_ended(_timed(schema)) for name, schema in json_schemas(further).items()}
    )
    for name in _UNUSED:
        schemas.pop(name, None)
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            answers = operation["responses"]
            answers.pop("422", None)
            if path.startswith("/api/"):
                operation["security"] = [{}, {"token": []}, {"session": []}]
                for status, text in (_ANY | (_BODY if method == "post" else {})).items():
                    (problem,) = described(status, Problem).values()
                    answers.setdefault(str(status), {**problem, "description": text})
    return made


def _open_ended(schema: Any) -> Any:
    """A schema without ``items: false`` behind ``prefixItems``, which generators of clients cannot
    read; ``maxItems`` says the same."""
    if isinstance(schema, list):
        return [_open_ended(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = schema.get("items") is False and "maxItems" in schema
    return {
        name: _open_ended(value)
        for name, value in schema.items()
        if not (closed and name == "items")
    }


def _timed(schema: dict[str, Any]) -> dict[str, Any]:
    """A document's schema in which texts that are times have the format of such."""
    for name, found in schema.get("properties", {}).items():
        if name in _TIMES or name.endswith("_at"):
            for one in (found, *found.get("anyOf", ())):
                if one.get("type") == "string":
                    one["format"] = "date-time"
    return schema
