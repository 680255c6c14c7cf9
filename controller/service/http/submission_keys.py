"""Keys of submissions: the same one again has no effect, and one with other content is refused.

A statement's key is ``NAME#DIGEST`` where its sender named one, else the digest of the content, so
that a repetition is known by the documents, after a restart too.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec
from fastapi import Request

from controller.service.http.answers import Refused
from schemas.documents.tasks.claims import Claim, Statement


def key_of(request: Request, named: str, content: msgspec.Struct) -> str:
    """The key of a request.

    named  in the body; the header ``Idempotency-Key`` comes first
    """
    digest = sha256(msgspec.json.encode(content)).hexdigest()
    named = request.headers.get("idempotency-key", "") or named
    return f"{named}#{digest}" if named else digest


def repeats(before: Statement | Claim | None, key: str) -> bool:
    """Whether a statement came by a request with this key; raises Refused where that request had
    the same name and other content."""
    if before is None or before.source != "rest":
        return False
    name, _, digest = key.rpartition("#")
    known, _, content = before.key.rpartition("#")
    if name and name == known and digest != content:
        raise Refused(
            409, f"key {name[:100]!r} was used for other content; use another", "other_content"
        )
    return before.key == key
