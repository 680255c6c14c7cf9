"""ASGI middleware of every route: security headers, and the check of the Host header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.documents import HEADERS, Problem, answer

#: Requested by kubelets and Prometheus under a pod's address, which no list of names contains.
MONITORING_PATHS: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]/?#@\s]+)(?::[0-9]+)?")
_WRONG_HOST: Final = (
    "this service does not answer under this host name; SKH_API_NAMES holds further names"
)


class SecurityHeaders:
    """Sets ``HEADERS`` on every response that does not set them itself, errors and 404s included.

    HEAD is routed like GET; the server omits the body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, sending)


class HostCheck:
    """Refuses foreign host names, so that no web page elsewhere can read incidents through a
    browser here (DNS rebinding). ``MONITORING_PATHS`` are exempt: they contain no incidents.

    allowed   host names without port; ``*.example.com``: any name below; ``*``: any name
    """

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self._app = app
        self._any = "*" in allowed
        self._names = {name.lower() for name in allowed}
        self._below = tuple(name[1:].lower() for name in allowed if name.startswith("*."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exempt = self._any or scope["type"] != "http" or scope["path"] in MONITORING_PATHS
        if exempt or self._allows(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
        else:
            await answer(Problem(_WRONG_HOST), 400)(scope, receive, send)

    def _allows(self, header: str) -> bool:
        found = _HOST.fullmatch(header.lower())
        return found is not None and (
            found[1] in self._names or (bool(self._below) and found[1].endswith(self._below))
        )
