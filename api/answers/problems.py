"""Errors as documents of RFC 9457, application/problem+json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from api.documents import FieldError, Problem, answer
from api.queries.database import DatabaseError
from api.queries.patterns import PATH_ID, PRINTABLE

#: Errors of one request that are listed [count]; a list of thousands says no more.
_MOST_ERRORS: Final = 20
_WORDS: Final = {
    "missing": "is missing",
    "int_parsing": "must be a whole number",
    "bool_parsing": "must be true or false",
    "model_attributes_type": "the body must be an object",
}
#: Pattern of a text -> how people say it.
_PATTERNS: Final = {
    PATH_ID: "must be 16 hexadecimal digits, as path_id in answers (docs/sql.md has it of tables)",
    PRINTABLE: "must not have control characters",
}


def invalid(where: str, name: str, message: str) -> Problem:
    """The problem of one parameter, in the form of all invalid requests."""
    return Problem(f"{name}: {message}", [FieldError([where, name], message, "value_error")])


async def http_error(_: Request, why: Exception) -> Response:
    """An unknown route or method."""
    assert isinstance(why, HTTPException)  # noqa: S101 — Starlette's signature is wider
    response = answer(Problem(str(why.detail)), why.status_code)
    response.headers.update(why.headers or {})
    return response


async def invalid_request(_: Request, why: Exception) -> Response:
    """Parameters or a body that the route does not take; values of the client are not repeated."""
    assert isinstance(why, RequestValidationError)  # noqa: S101 — as above
    errors = [
        FieldError(list(each["loc"]), _said(each), str(each["type"]))
        for each in why.errors()[:_MOST_ERRORS]
    ]
    first = errors[0]
    place = ".".join(str(part) for part in first.loc[1:])
    if first.type == "json_invalid":
        place = ""  # a position, which the text has
    return answer(Problem(f"{place}: {first.msg}" if place else first.msg, errors), 422)


def _said(error: Mapping[str, Any]) -> str:
    """What is wrong, in words for the author of a request rather than of the model behind it."""
    kind, context = error["type"], error.get("ctx") or {}
    if kind == "extra_forbidden" and error["loc"][0] == "body":
        return "there is no such field"
    if kind == "json_invalid":
        return f"the body is not JSON: {context.get('error')} at character {error['loc'][-1]}"
    if kind == "string_pattern_mismatch" and context.get("pattern") in _PATTERNS:
        return _PATTERNS[context["pattern"]]
    if kind in _WORDS:
        return _WORDS[kind]
    return str(error["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")


async def unavailable(_: Request, why: Exception) -> Response:
    """The database gave no result."""
    assert isinstance(why, DatabaseError)  # noqa: S101 — as above
    response = answer(Problem(why.public), 503)
    response.headers["Retry-After"] = "1"
    return response


async def internal_error(_: Request, why: Exception) -> Response:
    """An internal error: the client learns that there is one, the server logs the details."""
    response = answer(Problem("internal error; the log of this service has the details"), 500)
    response.headers["Connection"] = "close"  # uvicorn closes it
    return response
