"""Who asks: each route gets its caller from here, so that none can be without a check."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Request

from controller.service.http.answers import Refused
from controller.service.site import Site
from controller.service.tokens import Tokens
from controller.state import Host

_SCHEME = "bearer "


class Guard:
    """Checks of the site's callers.

    tokens  called for each request, so that a file that has changed counts at once
    """

    def __init__(self, site: Site, tokens: Callable[[], Tokens]) -> None:
        self._site, self._tokens = site, tokens

    def agent(self, node_sn: str, request: Request) -> Host:
        """The host of the route, if the token is its own; raises Refused."""
        token = self._token(request)
        host = self._tokens().agent(node_sn, token)
        if host is None:
            raise Refused(
                403, f"this token is not that of host {node_sn[:100]!r}", "wrong_token"
            )  # fmt: skip
        self._ready()
        return host

    def operator(self, request: Request) -> str:
        """The operator's name; raises Refused."""
        name = self._tokens().operator(self._token(request))
        if name is None:
            raise Refused(403, "this token is no operator's", "wrong_token")
        self._ready()
        return name

    def _token(self, request: Request) -> str:
        header = request.headers.get("authorization", "")
        if not header.lower().startswith(_SCHEME):
            raise Refused(401, "a token is needed: Authorization: Bearer TOKEN", "no_token")
        return header[len(_SCHEME) :].strip()

    def _ready(self) -> None:
        if not self._site.restored:
            raise Refused(503, f"not ready: {self._site.not_ready()}")
