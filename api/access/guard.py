"""Middleware: every request of /api has a caller, within its rate, and changes come from our page
or a program, never from a foreign web page.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.access.callers import CALLER, Caller
from api.access.rate_limit import Rate, RateLimit
from api.access.tokens import Tokens
from api.documents import Problem, answer

#: The cookie in which a browser keeps its token; see ``api.access.session``.
COOKIE: Final = "skh_token"
SESSION_PATH: Final = "/api/v1/session"
#: Reads, whatever the method, and checks its own bodies; its statements see all tenants.
SQL_PATH: Final = "/api/v1/sql"
#: Largest body of a request [B]: a note of 4,000 characters, each in UTF-8 or escaped. Routes have
#: the same limit, for bodies that do not say their length.
BODY_BYTES: Final = 64 * 1024
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_BEARER: Final = "bearer "


class Refused(Exception):
    """A request that is not served."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.headers = status, headers or {}


class Guard:
    """Refuses, or sets ``CALLER`` and lets the request pass.

    tokens  called for each request, so that a file that has changed counts at once. None: anyone
            who reaches the port may read, and act from this machine only
    rate    of one client: a token, else an address; None: any
    clock   monotonic [s]
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Callable[[], Tokens] | None = None,
        rate: Rate | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._tokens, self._clock = app, tokens, clock
        self._limit = RateLimit(rate) if rate is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self._app(scope, receive, send)
            return
        try:
            caller = self._admitted(scope)
        except Refused as why:
            response = answer(Problem(str(why)), why.status)
            response.headers.update(why.headers)
            await response(scope, receive, send)
            return
        reset = CALLER.set(caller)
        try:
            await self._app(scope, receive, send)
        finally:
            CALLER.reset(reset)

    def _admitted(self, scope: Scope) -> Caller | None:
        """The caller, None while a session begins; raises Refused."""
        headers = Headers(scope=scope)
        changes = scope["method"] not in _SAFE and scope["path"] != SQL_PATH
        caller = self._caller(scope, headers)
        # A wrong token is counted too, by its address: tokens are not guessed at full speed.
        self._within_rate(caller, scope)
        if changes:
            check_origin(scope["method"], headers)
            if int(headers.get("content-length", 0)) > BODY_BYTES:  # h11 lets digits pass only
                raise Refused(413, f"a body has at most {BODY_BYTES} B")
        if scope["path"] == SESSION_PATH:
            return caller
        if caller is None:
            raise Refused(401, _UNKNOWN, {"WWW-Authenticate": "Bearer"})
        if changes and not caller.may("operator"):
            raise Refused(403, _MAY_NOT if self._tokens else _NOT_LOCAL)
        if scope["path"] == SQL_PATH and caller.tenants:
            raise Refused(403, "a token of some tenants has no SQL")
        return caller

    def _caller(self, scope: Scope, headers: Headers) -> Caller | None:
        if self._tokens is None:
            return Caller("", "operator" if _is_local(scope, headers) else "viewer")
        token = token_of(headers)
        return None if token is None else self._tokens().caller(token)

    def _within_rate(self, caller: Caller | None, scope: Scope) -> None:
        if self._limit is None:
            return
        address = (scope.get("client") or ("",))[0]
        client = f"token {caller.name}" if caller and caller.name else f"address {address}"
        if wait_s := self._limit.wait_s(client, self._clock()):
            raise Refused(
                429, "too many requests of this client", {"Retry-After": str(math.ceil(wait_s))}
            )


_UNKNOWN: Final = "a known token is needed: Authorization: Bearer TOKEN"
_MAY_NOT: Final = "this token may read only; actions need the role operator"
_NOT_LOCAL: Final = (
    "without tokens actions are taken from this machine only, under its own name (127.0.0.1, "
    "localhost); SKH_API_TOKENS permits them from elsewhere"
)


def token_of(headers: Headers) -> str | None:
    """The token of a request: of its header, else of its cookie; None where it has none."""
    header = headers.get("authorization", "")
    if header.lower().startswith(_BEARER):
        return header[len(_BEARER) :].strip()
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return found.value if found is not None else None


def check_origin(method: str, headers: Headers) -> None:
    """Raises Refused for a change that a foreign page may have sent through a browser here.

    Bodies are JSON: a form of a foreign page cannot have that type, and its script may not ask for
    it, nor for DELETE.
    """
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method != "DELETE" and kind != "application/json":
        raise Refused(415, "send application/json")
    origin = headers.get("origin")
    foreign = (
        origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    )
    if foreign or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "this comes from a page of another origin")


def _is_local(scope: Scope, headers: Headers) -> bool:
    """From this machine, and not passed on by a proxy of it that serves others: such a one is asked
    under another name.
    """
    address = (scope.get("client") or ("",))[0]
    try:
        near = ip_address(address).is_loopback
        name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return near and name in _LOOPBACK
