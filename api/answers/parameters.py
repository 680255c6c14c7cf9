"""Names of query parameters: what an operation does not know, or knows once only, is an error.

Operations that take a model of parameters refuse others themselves; FastAPI ignores them where an
operation has none, and takes the last one of several values. A typing error would then select
nothing, or something else, without a word.
"""

from __future__ import annotations

import difflib
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.requests import Request


async def known(request: Request) -> None:
    """A dependency of operations: refuses parameters by their names; the OpenAPI document has
    them. Raises RequestValidationError."""
    known = _of_operation(request.app.openapi(), request)
    if known is None:
        return
    given = request.query_params
    errors = []
    for name in dict.fromkeys(given.keys()):
        if name not in known:
            errors.append(_error(name, _unknown(name, known), "extra_forbidden"))
        elif not known[name] and len(given.getlist(name)) > 1:
            errors.append(_error(name, "is given more than once, and takes one value", "repeated"))
    if errors:
        raise RequestValidationError(errors)


def _of_operation(document: dict[str, Any], request: Request) -> dict[str, bool] | None:
    """Name of each query parameter -> whether it may be repeated; None: not described."""
    route = request.scope.get("route")
    operations = document["paths"].get(getattr(route, "path_format", None))
    method = "get" if request.method == "HEAD" else request.method.lower()
    if operations is None or method not in operations:
        return None
    return {
        each["name"]: each["schema"].get("type") == "array"
        for each in operations[method].get("parameters", ())
        if each["in"] == "query"
    }


def _unknown(name: str, known: dict[str, bool]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"there is no such parameter; did you mean {near[0]}?"
    if known:
        return f"there is no such parameter; there are {', '.join(sorted(known))}"
    return "there is no such parameter; this operation takes none"


def _error(name: str, message: str, kind: str) -> dict[str, Any]:
    return {"loc": ("query", name), "msg": message, "type": kind}
