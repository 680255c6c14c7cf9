"""Responses as JSON documents, and the bodies of requests."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from fastapi import Request
from starlette.responses import Response

from schemas.documents.decoding import DocumentError, decode

Body = TypeVar("Body")
#: Data that is not kept by caches and never executed.
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Problem(msgspec.Struct, frozen=True):
    """Why a request has no result."""

    detail: str


class Refused(Exception):
    """A request that gets no result, with its status and reason.

    reason  label of skh_controller_refused_total; empty: it is not counted there
    """

    def __init__(self, status: int, detail: str, reason: str = "") -> None:
        super().__init__(detail)
        self.status, self.detail, self.reason = status, detail, reason


def answer(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """The document as JSON."""
    return Response(
        msgspec.json.encode(document),
        status,
        media_type="application/json",
        headers={**HEADERS, **(headers or {})},
    )


async def raw_body(request: Request, most_bytes: int) -> bytes:
    """The body; raises Refused when it is too long, before all of it is read."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most_bytes:
            raise Refused(413, f"the body has more than {most_bytes} B; send several", "too_long")
        parts.append(part)
    return b"".join(parts)


def document_of(raw: bytes, kind: type[Body]) -> Body:
    """The body as a document; raises Refused."""
    try:
        return decode(raw, kind)
    except DocumentError as why:
        raise Refused(422, str(why), "bad_request") from why
