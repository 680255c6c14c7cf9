"""POST and DELETE /api/v1/session: a browser keeps a token in a cookie that scripts cannot read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api.access.callers import CALLER, Role
from api.access.guard import COOKIE
from api.access.tokens import Tokens
from api.documents import HEADERS, Problem, answer, described

_DAY_S = 24 * 3600


class NewSession(BaseModel):
    """A token to be kept."""

    model_config = ConfigDict(extra="forbid")

    token: Annotated[str, Field(min_length=1, max_length=200)]


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Who this client is to the API.

    name     of the token; empty where the API has no tokens
    role     viewer reads; operator also acts on incidents; admin also in the name of others
    tenants  whose data it sees; empty: all
    """

    name: str
    role: Role
    tenants: tuple[str, ...] = ()


def router(tokens: Callable[[], Tokens] | None) -> APIRouter:
    """The routes of a session."""
    routes = APIRouter(prefix="/api/v1", tags=["session"])

    @routes.get(
        "/session", response_model=None, summary="Who this client is to the API",
        responses={**described(200, Session), **described(401, Problem)},
    )  # fmt: skip
    async def session() -> Response:
        caller = CALLER.get()
        if caller is None:
            return answer(Problem("a token is needed"), 401)
        return answer(Session(name=caller.name, role=caller.role, tenants=caller.tenants))

    @routes.post(
        "/session", response_model=None, summary="Keep a token in a cookie, for a browser",
        responses={**described(200, Session), **described(401, Problem)},
    )  # fmt: skip
    async def begin_session(request: Request, new: NewSession) -> Response:
        caller = tokens().caller(new.token) if tokens is not None else CALLER.get()
        if caller is None:
            return answer(Problem("this token is not known"), 401)
        response = answer(Session(name=caller.name, role=caller.role, tenants=caller.tenants))
        if tokens is not None:
            response.set_cookie(
                COOKIE, new.token, max_age=_DAY_S, path="/api", httponly=True, samesite="strict",
                secure=request.headers.get("origin", "").startswith("https:"),
            )  # fmt: skip
        return response

    @routes.delete("/session", status_code=204, summary="Forget the token in the cookie")
    async def end_session() -> Response:
        response = Response(status_code=204, headers=HEADERS)
        response.delete_cookie(COOKIE, path="/api", httponly=True, samesite="strict")
        return response

    return routes
