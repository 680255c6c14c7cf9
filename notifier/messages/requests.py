"""A request to a receiver, and the JSON in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP POST, or a GET where there is no body.

    path     appended to the channel's URL
    headers  beside the content type; no secret is in them, but a signature may be
    """

    body: bytes | None
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)


def encoded(document: Any) -> bytes:
    """A JSON document."""
    return msgspec.json.encode(document)
