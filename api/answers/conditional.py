"""ETag and If-None-Match: a client that has the newest answer gets no body."""

from __future__ import annotations

from hashlib import blake2b

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from api.documents import HEADERS, encoded


def revalidated(request: Request, document: msgspec.Struct) -> Response:
    """200 with the document and its tag, or 304 where the client has that one.

    The tag is weak: the body may be compressed. A client may keep the body, and has to ask again
    before each use.
    """
    body = encoded(document)
    tag = f'W/"{blake2b(body, digest_size=12).hexdigest()}"'
    headers = {**HEADERS, "Cache-Control": "private, no-cache", "ETag": tag}
    known = {each.strip() for each in request.headers.get("if-none-match", "").split(",")}
    if known & {tag, tag.removeprefix("W/"), "*"}:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)
