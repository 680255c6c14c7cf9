"""Errors as documents of RFC 9457, application/problem+json."""

from __future__ import annotations

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from api.documents import FieldError, Problem, answer
from api.queries.database import DatabaseError

#: Errors of one request that are listed [count]; a list of thousands says no more.
_MOST_ERRORS = 20


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
        FieldError(list(each["loc"]), str(each["msg"]), str(each["type"]))
        for each in why.errors()[:_MOST_ERRORS]
    ]
    first = errors[0]
    place = ".".join(str(part) for part in first.loc[1:]) or str(first.loc[0])
    return answer(Problem(f"{place}: {first.msg}", errors), 422)


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
